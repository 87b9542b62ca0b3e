// Section 3.1: from patches to the sequence z_0.
import { Matrix, product } from "./matrices.js";

/** The x_p E of Eq. 1: every patch times the same matrix, plus the bias that the equation leaves out. */
export const projectPatches = (patches, E, b_E) => product(patches, E, b_E);

/** Eq. 1: z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos. [class] becomes row 0, patch p becomes row p + 1. */
export function embed(x_class, embeddings, E_pos) {
  const z = new Matrix(embeddings.rows + 1, embeddings.columns);
  z.row(0).set(x_class);
  z.numbers.set(embeddings.numbers, z.columns);
  for (let i = 0; i < z.numbers.length; i++) z.numbers[i] += E_pos[i];
  return z;
}
