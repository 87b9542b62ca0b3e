// Appendix A: multi-head self-attention, Eq. 5 to 8.
import { Matrix, inKernel, product, turned } from "./matrices.js";
import { softmax } from "./softmax.js";
import { untouched } from "./untouched.js";

/** Eq. 5: [q, k, v] = z U_qkv, as three products; of each a list with one matrix (N+1, D_h) a head. */
export function qkv(z, layer, heads) {
  const { U_q, U_k, U_v, b_q, b_k, b_v } = layer;
  return [[U_q, b_q], [U_k, b_k], [U_v, b_v]].map(([U, b]) => splitHeads(product(z, U, b), heads));
}

/** (N+1, D) -> one (N+1, D_h) a head: consecutive blocks of D_h columns belong to consecutive heads. */
function splitHeads(x, heads) {
  const D_h = x.columns / heads;
  return Array.from({ length: heads }, (_, h) => {
    const head = new Matrix(x.rows, D_h);
    for (let t = 0; t < x.rows; t++) head.row(t).set(x.row(t).subarray(h * D_h, (h + 1) * D_h));
    return head;
  });
}

/** Inside Eq. 6, of one head: q kᵀ / sqrt(D_h), one row a query, one column a key. */
const scores = (q, k) => product(q, turned(k, 1 / Math.sqrt(q.columns))); // k is divided, since it is smaller than q kᵀ

/** Eq. 6, of one head: A = softmax(q kᵀ / sqrt(D_h)). Softmax runs over the keys, so every row sums to 1. */
export function attentionWeights(q, k, edited = untouched) {
  const A = edited("scores", scores(q, k), { D_h: q.columns });
  if (!inKernel("softmax", A, -1e30)) for (let t = 0; t < A.rows; t++) softmax(A.row(t));
  return edited("A", A);
}

/** Eq. 7: SA(z) = A v. Each row is the average of the value rows, weighted by that row of A. */
export const selfAttention = (A, v) => product(A, v);

/** Eq. 8: MSA(z) = [SA_1(z); ...; SA_k(z)] U_msa, the heads side by side and mixed by one matrix. */
export function joinHeads(sa, U_msa, b_msa) {
  const [{ rows, columns }] = sa;
  const sideBySide = new Matrix(rows, sa.length * columns);
  sa.forEach((head, h) => {
    for (let t = 0; t < rows; t++) sideBySide.row(t).set(head.row(t), h * columns);
  });
  return product(sideBySide, U_msa, b_msa);
}
