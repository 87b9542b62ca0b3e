// A photograph on which a patch is the lighter the more of it is read: vitbook/figures/attention.py, number for number.
import { CURVE, STAGE } from "./colours.js";

const [FADED, BRIGHTER, GLOW] = [0.6, 1.1, 24];

/** RGBA bytes of `photo` (ImageData) under the weights of its patches (rows x columns of them). */
export function lit(photo, weights, top, { rows, columns }) {
  const { width, height, data } = photo;
  const light = Float32Array.from(weights, (w) => (top > 0 ? (w / top) ** CURVE : 0));
  const out = new Uint8ClampedArray(data.length);
  const column = Int32Array.from({ length: width }, (_, x) => Math.floor((x * columns) / width));
  for (let y = 0, i = 0; y < height; y++) {
    const row = Math.floor((y * rows) / height) * columns;
    for (let x = 0; x < width; x++, i += 4) {
      const share = light[row + column[x]];
      const grey = 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
      for (let c = 0; c < 3; c++) {
        const dim = STAGE[c] + (grey - STAGE[c]) * FADED;
        out[i + c] = dim * (1 - share) + (data[i + c] * BRIGHTER + GLOW) * share;
      }
      out[i + 3] = 255;
    }
  }
  return out;
}
