// Section 3.1: cutting a picture into patches. Patch p (from 0, row by row) becomes token p + 1, and token 0 is [class].
import { Matrix } from "./matrices.js";

/** x -> x_p: N = HW/P² patches, row by row, each flattened to P²C numbers in the order channel, row, column.
 *  x: C planes of H rows of W numbers, one after the other. */
export function cut(x, { C, H, W, P }) {
  const [rows, columns] = [H / P, W / P];
  const patches = new Matrix(rows * columns, P * P * C);
  let at = 0;
  for (let p = 0; p < rows * columns; p++) {
    const [top, left] = [Math.floor(p / columns) * P, (p % columns) * P];
    for (let c = 0; c < C; c++) {
      for (let y = top; y < top + P; y++) {
        for (let i = left; i < left + P; i++) patches.numbers[at++] = x[(c * H + y) * W + i];
      }
    }
  }
  return patches;
}
