// The tokens that a query reads most, as a table, each line with the token's pixels and its numbers.
import { make } from "../kit/dom.js";
import { show } from "../kit/grid.js";
import { grouped, minus, place } from "../kit/words.js";

const MOST = 8; // tokens with a line of their own

const short = (value) => (value < 0.0005 ? "< 0.001" : value.toFixed(3));

const cell = (text) => make("td", {}, text);

const told = (token, query, columns) => {
  const { row, column } = place(token, columns);
  const where = token === 0 ? "[class]" : `(${row},\u00a0${column})`;
  return token === query ? `${where} itself` : where;
};

function picture(token, patches, P) {
  if (token === 0) return make("span", { class: "vbq-star", "aria-hidden": "true" }, "★");
  const canvas = make("canvas", { class: "vbq-patch", "aria-hidden": "true" });
  show(canvas, patches[token - 1], { rows: P, columns: P });
  return canvas;
}

function weightCell(weight, top) {
  const bar = make("span", { class: "vbq-bar", "aria-hidden": "true", style: `width:${(100 * weight) / top}%` });
  return make("td", { class: "vbq-weight" }, short(weight), bar);
}

/** The lines of the table for what `oneQuery` found. */
export function lines({ scores, divided, powers, weights, total }, order, query, patches, { columns, P, N }) {
  const most = order.slice(0, Math.min(MOST, N));
  const rest = order.slice(most.length);
  const top = weights[order[0]];
  const line = (token) =>
    make("tr", {},
      make("th", { scope: "row" }, make("span", {}, picture(token, patches, P), told(token, query, columns))),
      cell(minus(scores[token].toFixed(1))), cell(minus(divided[token].toFixed(2))), cell(short(powers[token])), weightCell(weights[token], top));
  const sum = (numbers) => rest.reduce((all, token) => all + numbers[token], 0);
  const summed = (words, power, weight) => make("tr", {}, make("th", { scope: "row" }, words), cell(""), cell(""), cell(power), cell(weight));
  return [
    ...most.map(line),
    summed(`${grouped(rest.length)} others`, short(sum(powers)), short(sum(weights))),
    summed(`all ${grouped(N + 1)}`, short(total), "1"),
  ];
}

/** by: what the scores are divided by, in words. */
export const headings = (by) => ["token", "q · k", `÷ ${by}`, "e to the lead", "weight"].map((words) => make("th", { scope: "col" }, words));
