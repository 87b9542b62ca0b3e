// What the pattern widget says of a query, of its mask and of the cost.
import { make } from "../kit/dom.js";
import { grouped } from "../kit/words.js";
import { MOST_IN_MASK } from "./pictures.js";

const percent = (share) => `${(100 * share).toFixed(share < 0.01 ? 3 : 1)}%`;

/** 1234567 -> "1.23 million". */
export function large(n) {
  for (const [size, name] of [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]]) {
    if (n >= size) return `${(n / size).toPrecision(3)} ${name}`;
  }
  return grouped(n);
}

export const photoWords = ({ H, W, query }, seen) =>
  `The query at row ${Math.floor(query / W)}, column ${query % W} reads ${grouped(seen)} of ${grouped(H * W)} tokens.`;

export const maskWords = (N) =>
  N > MOST_IN_MASK
    ? `The whole mask has ${large(N * N)} entries; it is drawn up to ${grouped(MOST_IN_MASK)} tokens.`
    : `The whole mask, ${grouped(N)} × ${grouped(N)}: queries run down, keys run right. The line is our query.`;

/** A line with a bar: so many pairs of the N * N, and what they cost at width D. */
export function cost(words, pairs, N, D) {
  const share = pairs / N ** 2;
  const bar = make("span", { class: "bar" }, make("i", { style: `width:${100 * share}%` }));
  return make("div", {}, make("span", {}, words), bar, make("b", {}, grouped(pairs)),
    make("span", {}, `pairs, ${percent(share)}`), make("span", {}, `${large(2 * pairs * D)} multiply-adds a layer`));
}
