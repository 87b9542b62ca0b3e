// The model at work beside the page, so that the page answers while it computes. A question is a message {id, what, ...data};
// its answer is {id, answer}, or {id, problem} with words for the reader.
import { decode } from "./decoding.js";
import { chooseKernel } from "./matrices.js";
import { geometry, normalise, prepare } from "./pixels.js";
import { top } from "./readout.js";
import { attention, run } from "./run.js";
import { forgetOthers, store, stored } from "./store.js";
import { Weights, bytesOfText } from "./weights.js";

let manifest = null;
let weights = null;
let trace = null; // of the last picture

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

/** A run on a picture file, or on pixels as the model sees them: how long it took, y, and the most probable classes. */
async function look({ file, levels, x }) {
  const { config, preprocessing } = manifest;
  const picture = file ? await decode(file) : null;
  const start = performance.now();
  const ready = x ?? (file ? prepare(picture, preprocessing, config) : normalise({ channels: config.C, levels }, preprocessing));
  const prepared = performance.now();
  trace = run(weights, ready);
  const [preparing, running] = [prepared - start, performance.now() - prepared];
  const { y, logits } = trace;
  return { preparing, running, y: y.numbers, best: logits && top(logits), picture: picture && geometry(picture, preprocessing) };
}

/** x of a picture file, without a run. */
const pixels = async ({ file }) => prepare(await decode(file), manifest.preprocessing, manifest.config);

/** A of a layer: its heads one after the other. */
function layer({ layer }) {
  const size = (trace.config.rows * trace.config.columns + 1) ** 2;
  const stack = new Float32Array(trace.config.heads * size);
  for (let h = 0; h < trace.config.heads; h++) stack.set(attention(trace, layer, h + 1).numbers, h * size);
  return stack;
}

/** How far this browser is from Python on one picture: the largest difference in these rows of every A, and in y, relative. */
async function test({ pixels, y, rows, queries }) {
  const seen = bytesOfText(pixels);
  const { running } = await look({ levels: seen });
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
  return { A, y: apart(trace.y.numbers, there) / there.reduce((most, v) => Math.max(most, Math.abs(v)), 0), running, seen };
}

const ANSWERS = { open, take, look, pixels, layer, test };

addEventListener("message", async ({ data: { id, what, ...data } }) => {
  try {
    const answer = await ANSWERS[what](data);
    postMessage({ id, answer }, ArrayBuffer.isView(answer) ? [answer.buffer] : []);
  } catch (error) {
    const memory = error instanceof RangeError;
    postMessage({ id, problem: memory ? "This browser gives the page too little memory for the model." : error.message });
  }
});
