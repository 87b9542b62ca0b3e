// A grid to point at: a canvas of one pixel a cell over a photograph or bare, frames that mark a cell, arrow keys that move.
import { make } from "./dom.js";
import { place } from "./words.js";

/** The pieces of one grid. kind: "photo" or "grid". */
export function panel(kind, hint) {
  const image = make("img", { alt: "", draggable: false });
  const canvas = make("canvas", { class: "vbx-cells", "aria-hidden": "true" });
  const asked = make("div", { class: "vbx-mark vbx-asked" });
  const pointed = make("div", { class: "vbx-mark vbx-pointed" });
  const seen = make("div", { class: "vbx-seen" }, canvas, asked, pointed);
  const frame = make("div", { class: `vbx-frame vbx-${kind}`, tabIndex: 0, role: "application", title: hint }, image, seen);
  const star = make("button", { class: "vbx-star", type: "button" }, "★");
  const note = make("span", { class: "vbx-note" });
  const caption = make("figcaption");
  const element = make("figure", { class: "vbx-panel" }, make("div", { class: "vbx-head" }, star, note), frame, caption);
  return { element, frame, image, seen, canvas, asked, pointed, star, note, caption };
}

export function mark(element, token, sizes) {
  element.hidden = !token;
  if (!token) return;
  const { row, column } = place(token, sizes.columns);
  element.style.left = `${(100 * column) / sizes.columns}%`;
  element.style.top = `${(100 * row) / sizes.rows}%`;
  element.style.width = `${100 / sizes.columns}%`;
  element.style.height = `${100 / sizes.rows}%`;
}

export function show(canvas, rgba, { rows, columns }) {
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  canvas.getContext("2d").putImageData(new ImageData(rgba, columns, rows), 0, 0);
}

/** The token under a pointer, or null where the model saw nothing. */
export function tokenAt(event, seen, { rows, columns }) {
  const box = seen.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
  const inside = row >= 0 && column >= 0 && row < rows && column < columns;
  return inside ? row * columns + column + 1 : null;
}

export const inside = (n, count) => Math.min(Math.max(Math.round(n) || 0, 0), count - 1);

/** Where a key leads from a cell, as [row, column], never over the border; null for other keys. */
export function stepped(row, column, key, { rows, columns }) {
  const way = {
    ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -columns], End: [0, columns],
  }[key];
  return way ? [inside(row + way[0], rows), inside(column + way[1], columns)] : null;
}

/** Where a key leads from a token; up from the top row is [class], and down from [class] the first patch. */
export function step(token, key, sizes) {
  if (key === "c" || key === "0") return 0;
  if (token === 0) return ["ArrowDown", "ArrowRight", "Home"].includes(key) ? 1 : key === "End" ? sizes.N : null;
  const { row, column } = place(token, sizes.columns);
  if (key === "ArrowUp" && row === 0) return 0;
  const to = stepped(row, column, key, sizes);
  return to && to[0] * sizes.columns + to[1] + 1;
}

/** Calls `act` with the token that a key leads to; combinations belong to the browser. */
export function onStep(event, token, sizes, act) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const to = step(token, event.key, sizes);
  if (to === null) return;
  event.preventDefault();
  act(to);
}
