// What is read off a run: vitbook/maps.py in JavaScript.
import { Matrix, product } from "./matrices.js";
import { attention } from "./run.js";

/** The mean of matrices of one size. */
export function mean(matrices) {
  const [{ rows, columns }] = matrices;
  const out = new Matrix(rows, columns);
  for (const { numbers } of matrices) for (let i = 0; i < numbers.length; i++) out.numbers[i] += numbers[i] / matrices.length;
  return out;
}

/** Attention rollout after each layer (Abnar and Zuidema, 2020): R_l = (A_l + I)/2 R_{l-1}, A_l averaged over heads. */
export function rollouts(trace) {
  const { L, heads } = trace.config;
  const out = [];
  for (let l = 1; l <= L; l++) {
    const half = mean(Array.from({ length: heads }, (_, h) => attention(trace, l, h + 1)));
    for (let i = 0; i < half.numbers.length; i++) half.numbers[i] /= 2;
    for (let t = 0; t < half.rows; t++) half.row(t)[t] += 0.5;
    out.push(l === 1 ? half : product(half, out.at(-1)));
  }
  return out;
}

/** A of a run whose patches stood in another order, order[p] at place p: row and column of every patch where it is in the picture. */
export function putBack(A, order) {
  const token = [0, ...order.map((patch) => patch + 1)]; // which token of the picture stands at a place
  const out = new Matrix(A.rows, A.columns);
  for (let i = 0; i < A.rows; i++) for (let j = 0; j < A.columns; j++) out.row(token[i])[token[j]] = A.row(i)[j];
  return out;
}
