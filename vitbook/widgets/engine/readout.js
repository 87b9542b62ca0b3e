// Eq. 4 and the head: from the last layer to one vector, and from that vector to class scores.
import { softmax } from "./softmax.js";
import { layerNorm } from "./encoder.js";
import { Matrix, product } from "./matrices.js";

/** Eq. 4: y = LN(z_L^0). Row 0, the [class] token after the last layer, normalised once more, is the picture. */
export function represent(z_L, gamma, beta, eps) {
  return layerNorm(new Matrix(1, z_L.columns, z_L.row(0)), { gamma, beta, eps });
}

/** The head at fine-tuning (Section 3.1): logits = y W_head + b_head. */
export const classify = (y, W_head, b_head) => product(y, W_head, b_head);

/** The k most probable classes as [index from 0, softmax probability], best first. */
export function top(logits, k = 5) {
  const p = logits.numbers.slice();
  softmax(p);
  return [...p.entries()].sort((a, b) => b[1] - a[1]).slice(0, k);
}
