// Every weight of the map that is shown, as a table, built when the reader opens it.
import { make } from "../kit/dom.js";
import { figure } from "../kit/words.js";
import { title } from "./words.js";

const range = (count, each) => Array.from({ length: count }, (_, n) => each(n));

export function drawTable({ table }, { choice, sizes, map }) {
  if (!table.open) return;
  const body = table.querySelector("tbody") ?? build(table, sizes);
  const error = map.step ? `Stored numbers are off by at most ${map.step.toExponential(0)}.` : "";
  table.querySelector("caption").textContent =
    `${title(choice, sizes)}. Rows and columns of the grid, counted from 0. [class]: ${map.toClass.toFixed(4)}. ${error}`;
  map.patches.forEach((weight, i) => {
    body.rows[Math.floor(i / sizes.columns)].cells[(i % sizes.columns) + 1].textContent = figure(weight, map.step || 5e-6);
  });
}

/** Forget it: the grid may have another size now. */
export const clearTable = ({ table }) => table.replaceChildren(table.firstChild);

function build(table, { rows, columns }) {
  const head = make("tr", {}, make("td"), ...range(columns, (c) => make("th", { scope: "col" }, `${c}`)));
  const body = make("tbody", {}, ...range(rows, (r) => make("tr", {}, make("th", { scope: "row" }, `${r}`), ...range(columns, () => make("td")))));
  const grid = make("table", {}, make("caption"), make("thead", {}, head), body);
  table.append(make("div", { class: "vbx-scroll", tabIndex: 0, role: "region", "aria-label": "Table of weights" }, grid));
  return body;
}
