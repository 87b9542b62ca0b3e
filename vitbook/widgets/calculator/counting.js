// The formulas of vitbook.studies.counting, evaluated in whole numbers of any length.
import { evaluate } from "../kit/formulas.js";

export const SIZES = [
  ["H", "picture height", "pixels"], ["W", "picture width", "pixels"], ["P", "side of a patch", "pixels"], ["C", "colour channels", ""],
  ["D", "width of a token", ""], ["L", "layers", ""], ["heads", "heads", ""], ["M", "width of the MLP", ""], ["K", "classes", "0: no class layer"],
];
export const FLAGS = [["qkv_bias", "biases on q, k, v"], ["pre_logits", "pre-logits layer"]];

/** What is wrong with the sizes, letter by letter, in the words of ViTConfig; empty where they fit. */
export function problems(size) {
  const found = {};
  for (const [letter] of SIZES) {
    const least = letter === "K" ? 0n : 1n;
    if (size[letter] === null || size[letter] < least) found[letter] = `${letter} must be a ${least ? "positive " : ""}whole number`;
  }
  for (const side of ["H", "W"])
    if (!found[side] && !found.P && size[side] % size.P) found[side] = `${side} = ${size[side]} is not a whole number of patches of ${size.P}`;
  if (!found.D && !found.heads && size.D % size.heads) found.D = `D = ${size.D} cannot be shared equally among ${size.heads} heads`;
  return found;
}

/** The letters of the formulas. */
export function letters(size, flags) {
  const N = (size.H / size.P) * (size.W / size.P);
  return { ...size, N, b: flags.qkv_bias ? 1n : 0n, r: flags.pre_logits ? 1n : 0n };
}

/** Part by part: each, times, total, share of the whole in per cent, to a thousandth. */
export function count(terms, values) {
  const parts = terms.map((term) => {
    const [each, times] = [evaluate(term.formula, values), evaluate(term.times, values)];
    return { ...term, each, times, total: each * times };
  });
  const total = parts.reduce((sum, part) => sum + part.total, 0n);
  for (const part of parts) part.share = total ? Number((part.total * 100000n) / total) / 1000 : 0;
  return { parts: parts.filter((part) => part.total), total };
}
