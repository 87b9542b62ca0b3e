// What a reader may change in a run, as functions of the values on the way. A run hands every value to `edited` under its name,
// and goes on with what comes back; without a change that is the value itself.
import { layerNorm } from "./encoder.js";
import { Matrix, turned } from "./matrices.js";

const CLOSED = -1e30; // a score whose exponential is nothing

/** A description -> the function `edited` of a run. edit: {hide: tokens of patches that no token reads, order: patch order[p] stands at place p,
 *  positions: false, heads: [layer, head] pairs that are off, msa, mlp: layers whose half is off, norm: "after", residual: false,
 *  axis: "queries", root: false, paste: [picture, layer, token or "patches"] triples: those rows of z_l come from that picture's
 *  untouched run}; what is left out stays as the paper has it. streamsOf: a picture -> z_0 to z_L of its untouched run. */
export function editor(edit, streamsOf) {
  const names = Object.keys(CHANGES).filter((name) => edit[name] !== undefined);
  const changes = names.map((name) => CHANGES[name](edit[name], edit, streamsOf));
  const back = [...changes].reverse(); // what was done to the scores last is undone first
  const touched = (now, change, name, about) => (change[name] ? change[name](now, about) : now);
  return (name, value, about = {}) => (name === "A" ? back : changes).reduce((now, change) => touched(now, change, name, about), value);
}

const nothing = ({ rows, columns }) => new Matrix(rows, columns);
const off = (layers) => (value, { l }) => (layers.includes(l) ? nothing(value) : value);

/** For every change the values that it touches. */
const CHANGES = {
  order: (order) => ({ x_p: (x_p) => reordered(x_p, order) }),
  positions: () => ({ E_pos: (E_pos) => new Float32Array(E_pos.length) }),
  root: () => ({ scores: (s, { D_h }) => scaled(s, Math.sqrt(D_h)) }),
  hide: (patches, { order }) => {
    const tokens = patches.map((token) => standing(token, order));
    return { scores: (s) => closed(s, tokens, CLOSED), A: (A) => closed(A, tokens, 0) };
  },
  axis: () => ({ scores: (s) => turned(s), A: (A) => turned(A) }), // a softmax over the rows of the turned matrix
  heads: (pairs) => ({ SA: (sa, { l, h }) => (pairs.some(([layer, head]) => layer === l && head === h) ? nothing(sa) : sa) }),
  msa: (layers) => ({ MSA: off(layers) }),
  mlp: (layers) => ({ MLP: off(layers) }),
  residual: () => ({ skip: nothing }),
  norm: () => ({ LN: (normed, { x }) => x, sum: layerNorm }),
  paste: (pastes, { order }, streamsOf) => ({
    z: (z, { l }) => pastes.filter(([, layer]) => layer === l).reduce((now, [from, , what]) => pasted(now, streamsOf(from)[l], what, order), z),
  }),
};

/** Where the token of a patch stands among shuffled ones. */
const standing = (token, order) => (order && token > 0 ? order.indexOf(token - 1) + 1 : token);

/** z with the rows of one token, or of all patches, from another run. */
function pasted(z, other, what, order) {
  const tokens = what === "patches" ? Array.from({ length: z.rows - 1 }, (_, p) => p + 1) : [what];
  for (const token of tokens) z.row(standing(token, order)).set(other.row(token));
  return z;
}

function reordered(x_p, order) {
  const out = nothing(x_p);
  order.forEach((from, p) => out.row(p).set(x_p.row(from)));
  return out;
}

function scaled(matrix, factor) {
  for (let i = 0; i < matrix.numbers.length; i++) matrix.numbers[i] *= factor;
  return matrix;
}

function closed(matrix, tokens, number) {
  for (let t = 0; t < matrix.rows; t++) for (const token of tokens) matrix.row(t)[token] = number;
  return matrix;
}
