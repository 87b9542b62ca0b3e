// What the book's grid widgets share: pure functions (colours, words), then pieces of the page. web_parts.py puts this text
// before the widget's own script. Tokens count from 0 = [class], patch p is token p + 1.

// ---------------------------------------------------------------- numbers and colours

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
  weights.forEach((w, i) => put(rgba, i, table, top > 0 ? Math.round((w * 255) / top) : 0));
  return rgba;
}

/** Numbers -> RGBA bytes on a scale from -top to top. table: 255 colours, zero in the middle. */
export function paintSigned(numbers, top, table) {
  const rgba = new Uint8ClampedArray(4 * numbers.length);
  numbers.forEach((d, i) => put(rgba, i, table, 127 + (top > 0 ? Math.round((d * 127) / top) : 0)));
  return rgba;
}

function put(rgba, i, table, step) {
  rgba.set(table.subarray(3 * step, 3 * step + 3), 4 * i);
  rgba[4 * i + 3] = 255;
}

/** The colours of a theme out of colours.py's tables: weights and signed, light first. */
function colourTables(bytes, theme) {
  const [w, s] = [3 * 256, 3 * 255];
  const at = (start, length) => bytes.subarray(start, start + length);
  const tables = { light: { weights: at(0, w), signed: at(w, s) }, dark: { weights: at(w + s, w), signed: at(2 * w + s, s) } };
  return tables[theme];
}

// ---------------------------------------------------------------- words

export function place(token, columns) {
  const patch = token - 1;
  return { patch, row: Math.floor(patch / columns), column: patch % columns };
}

export function describe(token, columns) {
  if (token === 0) return "[class]";
  const { patch, row, column } = place(token, columns);
  return `patch ${patch} (row ${row}, column ${column})`;
}

/** A weight with no more digits than are true: step is the largest error of the stored number. */
export function figure(weight, step) {
  const digits = step > 0 ? Math.min(Math.max(Math.floor(-Math.log10(step)), 2), 9) : 4;
  const text = weight.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** Three significant digits of a weight that is stored as it is. */
export function exact(weight) {
  return weight > 0 ? weight.toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(weight)), 0), 12)) : "0";
}

// ---------------------------------------------------------------- pieces of the page

function h(tag, { class: name, ...props } = {}, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const bytesOf = (view) => view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
const isDark = () =>
  document.documentElement.dataset.theme === "dark" ||
  document.body.dataset.jpThemeLight === "false" ||
  document.body.classList.contains("vscode-dark");

/** Calls `act` whenever the reader changes between light and dark, until the signal ends it. */
function onTheme(act, signal) {
  const theme = new MutationObserver(act);
  for (const target of [document.documentElement, document.body]) {
    theme.observe(target, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
  }
  signal.addEventListener("abort", () => theme.disconnect());
}

/** A grid of maps' cells: a canvas of one pixel a patch, and frames that mark a patch. */
function panel(kind, hint) {
  const image = h("img", { alt: "", draggable: false });
  const canvas = h("canvas", { class: "vbx-cells", "aria-hidden": "true" });
  const asked = h("div", { class: "vbx-mark vbx-asked" });
  const pointed = h("div", { class: "vbx-mark vbx-pointed" });
  const seen = h("div", { class: "vbx-seen" }, canvas, asked, pointed);
  const frame = h("div", { class: `vbx-frame vbx-${kind}`, tabIndex: 0, role: "application", title: hint }, image, seen);
  const star = h("button", { class: "vbx-star", type: "button" }, "★");
  const note = h("span", { class: "vbx-note" });
  const caption = h("figcaption");
  const element = h("figure", { class: "vbx-panel" }, h("div", { class: "vbx-head" }, star, note), frame, caption);
  return { element, frame, image, seen, canvas, asked, pointed, star, note, caption };
}

function mark(element, token, sizes) {
  element.hidden = !token;
  if (!token) return;
  const { row, column } = place(token, sizes.columns);
  element.style.left = `${(100 * column) / sizes.columns}%`;
  element.style.top = `${(100 * row) / sizes.rows}%`;
  element.style.width = `${100 / sizes.columns}%`;
  element.style.height = `${100 / sizes.rows}%`;
}

function show(canvas, rgba, sizes) {
  if (canvas.width !== sizes.columns || canvas.height !== sizes.rows) {
    canvas.width = sizes.columns;
    canvas.height = sizes.rows;
  }
  canvas.getContext("2d").putImageData(new ImageData(rgba, sizes.columns, sizes.rows), 0, 0);
}

/** The token under a pointer, or null where the model saw nothing. */
function tokenAt(event, seen, sizes) {
  const box = seen.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * sizes.columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * sizes.rows);
  const inside = row >= 0 && column >= 0 && row < sizes.rows && column < sizes.columns;
  return inside ? row * sizes.columns + column + 1 : null;
}

/** Where an arrow key leads from a token; up from the top row is [class], and down from [class] the first patch. */
function step(token, key, { rows, columns, N }) {
  if (key === "c" || key === "0") return 0;
  if (token === 0) return ["ArrowDown", "ArrowRight", "Home"].includes(key) ? 1 : key === "End" ? N : null;
  const { row, column } = place(token, columns);
  const at = (r, c) => Math.min(Math.max(r, 0), rows - 1) * columns + Math.min(Math.max(c, 0), columns - 1) + 1;
  switch (key) {
    case "ArrowLeft": return at(row, column - 1);
    case "ArrowRight": return at(row, column + 1);
    case "ArrowUp": return row === 0 ? 0 : at(row - 1, column);
    case "ArrowDown": return at(row + 1, column);
    case "Home": return at(row, 0);
    case "End": return at(row, columns - 1);
    default: return null;
  }
}
