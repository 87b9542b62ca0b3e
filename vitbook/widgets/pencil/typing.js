// Pointing at cells, typing in them, moving between them by keys.
import { stepped } from "../kit/grid.js";
import { read, shortest } from "./numbers.js";

const cellOf = (event) => event.target.closest?.("[role=gridcell]")?.vbCell;

export function listenToCells(pencil, el, signal) {
  const on = (type, act) => el.addEventListener(type, (event) => act(event, cellOf(event)), { signal });
  on("pointerover", (event, cell) => pencil.point(cell && event.pointerType !== "touch" ? cell : pencil.held));
  on("pointerleave", () => pencil.point(pencil.held));
  on("focusin", (_, cell) => cell && enter(pencil, cell));
  on("focusout", (_, cell) => cell?.field && leave(pencil, cell));
  on("input", (_, cell) => cell?.field && type(pencil, cell));
  on("keydown", (event, cell) => undoKeys(pencil, event) || (cell && keys(pencil, event, cell)));
}

/** The cell is the one stop of its matrix now, and its arithmetic describes it. */
function enter(pencil, cell) {
  for (const each of pencil.matrices.cells) {
    if (each.what === cell.what) each.target.tabIndex = each === cell ? 0 : -1;
    each.target.removeAttribute("aria-describedby");
  }
  cell.target.setAttribute("aria-describedby", pencil.words.id);
  pencil.numbers.open(cell);
  pencil.held = cell;
  pencil.point(cell);
  cell.field?.select();
}

/** What counts stands in the cell again. */
function leave(pencil, cell) {
  cell.field.value = shortest(pencil.value(cell));
  if (cell.field.getAttribute("aria-invalid") === "true") pencil.message.textContent = "";
  cell.field.removeAttribute("aria-invalid");
}

function type(pencil, cell) {
  const value = read(cell.field.value);
  if (pencil.numbers.edit?.cell !== cell) pencil.numbers.open(cell);
  if (value !== null) {
    pencil.message.textContent = "";
    pencil.put(cell, value);
  }
  pencil.mark(cell, value !== null);
}

/** Ctrl+Z, Ctrl+Y, Ctrl+Shift+Z; returns whether it was one of them. */
function undoKeys({ numbers }, event) {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || !["z", "y"].includes(key)) return false;
  event.preventDefault();
  event.stopPropagation();
  if (key === "y" || event.shiftKey) numbers.redo();
  else numbers.undo();
  document.activeElement?.select?.();
  return true;
}

function keys(pencil, event, cell) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation(); // JupyterLab has shortcuts of its own for single letters and arrows
  if (event.key === "Escape" && cell.field) return giveUp(pencil, cell);
  const next = moved(pencil.matrices, cell, event);
  if (!next) return;
  event.preventDefault();
  next.target.focus();
}

function giveUp(pencil, cell) {
  if (pencil.numbers.edit?.saved) pencil.numbers.undo();
  cell.field.value = shortest(pencil.value(cell));
  pencil.mark(cell, true);
  cell.field.select();
}

/** The cell that a key leads to, or null where the key belongs to the text of the cell. */
function moved(matrices, { what, row, column, field }, { key, shiftKey }) {
  if (field && ["ArrowLeft", "Home", "ArrowRight", "End"].includes(key)) {
    const { selectionStart: from, selectionEnd: to, value } = field;
    const all = from === 0 && to === value.length;
    const free = ["ArrowLeft", "Home"].includes(key) ? all || to === 0 : all || from === value.length;
    if (!free || (shiftKey && ["Home", "End"].includes(key))) return null;
  }
  const arrow = key === "Enter" ? (shiftKey ? "ArrowUp" : "ArrowDown") : key;
  const to = stepped(row, column, arrow, matrices.grids[what]);
  return to && matrices.at({ what, row: to[0], column: to[1] });
}
