// Weights and signed numbers as colours, by the tables of vitbook/figures/colours.py.

export function largest(numbers) {
  let top = 0;
  for (const n of numbers) if (n > top) top = n;
  return top;
}

/** Index of the number that is largest in size. */
export function peak(numbers) {
  let at = 0;
  for (let i = 1; i < numbers.length; i++) if (Math.abs(numbers[i]) > Math.abs(numbers[at])) at = i;
  return at;
}

/** Weights -> RGBA bytes on a scale from 0 to top. table: 256 colours, three bytes each. */
export function paint(weights, top, table) {
  const rgba = new Uint8ClampedArray(4 * weights.length);
  weights.forEach((w, i) => dye(rgba, i, table, top > 0 ? Math.round((w * 255) / top) : 0));
  return rgba;
}

/** Numbers -> RGBA bytes on a scale from -top to top. table: 255 colours, zero in the middle. */
export function paintSigned(numbers, top, table) {
  const rgba = new Uint8ClampedArray(4 * numbers.length);
  numbers.forEach((d, i) => dye(rgba, i, table, 127 + (top > 0 ? Math.round((d * 127) / top) : 0)));
  return rgba;
}

export const STAGE = [12, 14, 20]; // a photograph stands on a dark stage in both themes
export const CURVE = 0.6; // light = (weight / largest weight) ** CURVE

/** Weights -> RGBA bytes of a veil to lie on a photograph: the more of a patch is read, the less of the dark lies on it. */
export function veil(weights, top) {
  const rgba = new Uint8ClampedArray(4 * weights.length);
  weights.forEach((w, i) => {
    rgba.set(STAGE, 4 * i);
    rgba[4 * i + 3] = Math.round(255 * (1 - (top > 0 ? Math.min(w / top, 1) ** CURVE : 0)));
  });
  return rgba;
}

function dye(rgba, i, table, step) {
  rgba.set(table.subarray(3 * step, 3 * step + 3), 4 * i);
  rgba[4 * i + 3] = 255;
}

/** All colours of a table, as a colour bar shows them: RGBA bytes. */
export const ramp = ({ weights, signed }, isSigned) =>
  isSigned
    ? paintSigned(Float64Array.from({ length: 255 }, (_, i) => i - 127), 127, signed)
    : paint(Float64Array.from({ length: 256 }, (_, i) => i), 255, weights);

/** The colours of a theme out of kit.colour_tables: weights and signed, light first. */
export function colourTables(bytes, dark) {
  const [w, s] = [3 * 256, 3 * 255];
  const from = dark ? w + s : 0;
  return { weights: bytes.subarray(from, from + w), signed: bytes.subarray(from + w, from + w + s) };
}
