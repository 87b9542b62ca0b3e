// The model at work beside the page, so that the page answers while it computes. A question is a message {id, what, ...data};
// its answer is {id, answer}, or {id, problem} with words for the reader.
import { bytesOfText } from "./bytes.js";
import { decode } from "./decoding.js";
import { editor } from "./edits.js";
import { chooseKernel } from "./matrices.js";
import { mean, putBack, rollouts } from "./maps.js";
import { geometry, normalise, prepare } from "./pixels.js";
import { top } from "./readout.js";
import { attention, run } from "./run.js";
import { forgetOthers, store, stored } from "./store.js";
import { Weights } from "./weights.js";

let manifest = null;
let weights = null;
const inputs = new Map(); // x of every picture that was given, by its key
const traces = new Map(); // the last runs, by picture
const KEPT = 8; // runs; of one of a ViT-S, q and k take 7 MB, z 4 MB

/** Which kernel this browser has, after room for all weights has been made. */
async function open(data) {
  manifest = data.manifest;
  const kernel = await chooseKernel(data.kernel);
  weights = new Weights(manifest);
  await forgetOthers(data.folder, manifest.fingerprint);
  return { kernel };
}

/** Whether chunk n could be taken: from `text` where it is given, else out of this browser's own store. */
async function take({ n, folder, text }) {
  const { sha256, bytes: length, tensors } = manifest.chunks[n - 1];
  const address = `${folder}${n}`;
  const bytes = text === undefined ? await stored(address) : bytesOfText(text);
  if (bytes?.length !== length || !(await isWhole(bytes, sha256))) return false;
  weights.take(bytes, tensors);
  if (text !== undefined) await store(address, bytes);
  return true;
}

/** Whether the bytes are those that were written. Some addresses (http:) let a page compute no hash: then the length decides. */
async function isWhole(bytes, sha256) {
  if (!globalThis.crypto?.subtle) return true;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}

/** A run on a picture file, or on pixels as the model sees them: how long it took, y, and the most probable classes.
 *  key: the name under which the picture is kept for questions to come. */
async function look({ key = "", file, levels, x }) {
  const { config, preprocessing } = manifest;
  const picture = file ? await decode(file) : null;
  const start = performance.now();
  const seen = typeof levels === "string" ? bytesOfText(levels) : levels;
  const ready = x ?? (file ? prepare(picture, preprocessing, config) : normalise({ channels: config.C, levels: seen }, preprocessing));
  const prepared = performance.now();
  forget({ key });
  inputs.set(key, ready);
  const { y, logits } = traceOf(key);
  const [preparing, running] = [prepared - start, performance.now() - prepared];
  const size = picture && { width: picture.width, height: picture.height, ...geometry(picture, preprocessing) };
  return { preparing, running, y: y.numbers, best: logits && top(logits), picture: size };
}

/** The run of a picture, with what a reader changes in it (edits.js): from the last few, or made now. */
function traceOf(key, edit = {}) {
  const name = `${key} ${JSON.stringify(edit)}`;
  const streamsOf = (picture) => traceOf(picture).z;
  const trace = traces.get(name) ?? kept(run(weights, inputs.get(key), editor(edit, streamsOf)), Object.keys(edit).length === 0);
  traces.delete(name);
  traces.set(name, trace); // to the end: used last, given up last
  if (traces.size > KEPT) traces.delete(traces.keys().next().value);
  return trace;
}

/** Of a run what questions to come are answered from; of an untouched one also z, to be pasted into others. */
const kept = ({ config, edited, q, k, y, logits, z }, untouched) => ({ config, edited, q, k, y, logits, z: untouched && z });

function forget({ key }) {
  inputs.delete(key);
  for (const name of [...traces.keys()]) if (name.startsWith(`${key} `)) traces.delete(name);
}

/** x of a picture file, without a run. */
const pixels = async ({ file }) => prepare(await decode(file), manifest.preprocessing, manifest.config);

/** A of a layer: its heads one after the other. */
function layer({ key = "", layer }) {
  const trace = traceOf(key);
  return stacked(Array.from({ length: trace.config.heads }, (_, h) => attention(trace, layer, h + 1)));
}

/** A layer as the explorer shows it: the mean over heads, then the heads; layer 0 is the rollouts up to every layer. */
function stack({ key, layer, edit = {} }) {
  const trace = traceOf(key, edit);
  const inPlace = (matrices) => stacked(edit.order ? matrices.map((A) => putBack(A, edit.order)) : matrices);
  if (layer === 0) return inPlace(rollouts(trace));
  const heads = Array.from({ length: trace.config.heads }, (_, h) => attention(trace, layer, h + 1));
  return inPlace([mean(heads), ...heads]);
}

/** What comes out of a changed run: y, and the most probable classes. */
function outcome({ key, edit }) {
  const { y, logits } = traceOf(key, edit);
  return { y: y.numbers, best: logits && top(logits, 3) };
}

/** Matrices of one size, number after number. */
function stacked(matrices) {
  const size = matrices[0].numbers.length;
  const all = new Float32Array(matrices.length * size);
  matrices.forEach(({ numbers }, n) => all.set(numbers, n * size));
  return all;
}

/** How far this browser is from Python on one picture: the largest difference in these rows of every A, and in y, relative. */
async function test({ pixels, y, rows, queries }) {
  const seen = bytesOfText(pixels);
  const { running } = await look({ levels: seen });
  const trace = traceOf("");
  const floats = (text) => new Float32Array(bytesOfText(text).buffer);
  const [there, expected] = [floats(y), floats(rows)];
  const apart = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);
  let [A, at] = [0, 0];
  for (let l = 1; l <= trace.config.L; l++) {
    for (let h = 1; h <= trace.config.heads; h++) {
      const squares = attention(trace, l, h);
      for (const query of queries) {
        A = Math.max(A, apart(squares.row(query), expected.subarray(at, (at += squares.columns))));
      }
    }
  }
  forget({ key: "" });
  return { A, y: apart(trace.y.numbers, there) / there.reduce((most, v) => Math.max(most, Math.abs(v)), 0), running };
}

const ANSWERS = { open, take, look, forget, pixels, layer, stack, outcome, test };

addEventListener("message", async ({ data: { id, what, ...data } }) => {
  try {
    const answer = await ANSWERS[what](data);
    postMessage({ id, answer }, ArrayBuffer.isView(answer) ? [answer.buffer] : []);
  } catch (error) {
    const memory = error instanceof RangeError;
    postMessage({ id, problem: memory ? "This browser gives the page too little memory for the model." : error.message });
  }
});
