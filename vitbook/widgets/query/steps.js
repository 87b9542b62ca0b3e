// Eq. 6 and 7 for one query of one head, from its packed q, k and v.
import { softmax } from "../engine/softmax.js";

const LEVELS = 32767;

/** The int16 numbers of Python's `pack` -> {q, k, v}, each a list of rows of D_h numbers. */
export function unpacked(buffer, { N, D_h, tops }) {
  const stored = new Int16Array(buffer);
  const letter = (n) =>
    Array.from({ length: N + 1 }, (_, token) => {
      const from = (n * (N + 1) + token) * D_h;
      return Float64Array.from(stored.subarray(from, from + D_h), (step) => (step / LEVELS) * tops[n]);
    });
  return { q: letter(0), k: letter(1), v: letter(2) };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** One query against all keys: its scores, divided, their lead over the largest, e to that, the weights, and the mean of v. */
export function oneQuery({ q, k, v }, query, divisor) {
  const scores = Float64Array.from(k, (key) => dot(q[query], key));
  const divided = scores.map((score) => score / divisor);
  const top = Math.max(...divided);
  const powers = divided.map((score) => Math.exp(score - top));
  const weights = divided.slice();
  softmax(weights);
  return { scores, divided, powers, weights, total: powers.reduce((a, b) => a + b, 0), message: meanOf(v, weights) };
}

/** The mean of rows, each counted by its weight; without weights, the plain mean. */
export function meanOf(rows, weights) {
  const out = new Float64Array(rows[0].length);
  rows.forEach((row, n) => row.forEach((number, i) => (out[i] += number * (weights ? weights[n] : 1 / rows.length))));
  return out;
}

/** Tokens from the largest weight down. */
export const ranked = (weights) => [...weights.keys()].sort((i, j) => weights[j] - weights[i]);

/** How many of the largest weights make up half of the sum. */
export function halfOf(weights, order) {
  let sum = 0;
  return 1 + order.findIndex((token) => (sum += weights[token]) >= 0.5);
}

/** The patches' pixels (each P x P x 4 bytes) averaged by their weights, which are first made to add up to 1; opaque. */
export function blended(patches, weights) {
  const sum = weights ? weights.reduce((a, b) => a + b, 0) : patches.length;
  const out = new Float64Array(patches[0].length);
  patches.forEach((pixels, n) => {
    const share = sum > 0 ? (weights ? weights[n] : 1) / sum : 0;
    for (let i = 0; i < out.length; i++) out[i] += share * pixels[i];
  });
  return Uint8ClampedArray.from(out, (value, i) => (i % 4 === 3 ? 255 : value));
}
