// The matrices on the page: grids of cells, the given ones with a line to type in, step by step as Eq. 5 to 8 have them.
import { make } from "../kit/dom.js";
import { INKS, PARTS } from "./equations.js";
import { digitsOf, shortest, tabled } from "./numbers.js";
import { spoken, written } from "./words.js";

const names = (n, letter = "") => Array.from({ length: n }, (_, c) => `${letter}${c}`);
// Not a <table>: pages dress their tables, each in its own way.
const line = (...parts) => make("div", { role: "row", class: "vb-pc-line" }, ...parts);

/** Text with letters behind _ set lower and letters behind ^ set higher, so that U_qkv reads as it should. */
function formula(text) {
  const whole = make("span", { class: "vb-pc-formula" });
  for (const piece of text.split(/([_^]\w+)/)) {
    if (/^[_^]/.test(piece)) whole.append(make(piece[0] === "_" ? "sub" : "sup", {}, piece.slice(1)));
    else whole.append(piece);
  }
  return whole;
}

/** cells: {what, row, column, box, field: its input or null, target: what takes the focus}; grids: by the matrix's name. */
export class Matrices {
  constructor(id, start) {
    Object.assign(this, { id, cells: [], grids: {} });
    this.N = start.z.length;
    this.D = start.z[0].length;
    this.k = start.U_qkv.length;
    this.D_h = start.U_qkv[0][0].length / 3;
    this.given = this.step("Given", "the tokens z and the three matrices of the head, side by side", ...this.inputs());
    this.steps = this.equations();
  }

  /** Captions and numbers of a head; what a reader is typing stays as it is. */
  draw(numbers, head) {
    for (const [what, { caption, table, title }] of Object.entries(this.grids)) {
      caption.replaceChildren(formula(title(head)));
      const [now, before] = [numbers.matrix(what, head), numbers.before(what, head)];
      const digits = digitsOf(now.flat());
      const cells = this.cells.filter((cell) => cell.what === what);
      for (const cell of cells) drawCell(cell, now[cell.row][cell.column], before[cell.row][cell.column], { head, digits, open: numbers.isOpen(cell) });
      if (cells[0].field) table.style.setProperty("--length", Math.max(...cells.map(({ field }) => field.value.length)));
    }
  }

  at({ what, row, column }) {
    return this.cells.find((cell) => cell.what === what && cell.row === row && cell.column === column);
  }

  inputs() {
    const { N, D, D_h } = this;
    const columns = [..."qkv"].flatMap((part) => names(D_h, part));
    return [
      this.grid("z", () => "z", names(N, "t"), names(D), { editable: true }),
      this.grid("U_qkv", (h) => `U_qkv, head ${h}`, names(D), columns, { editable: true, inks: Object.values(INKS) }),
    ];
  }

  equations() {
    const { N, D, k, D_h } = this;
    const tokens = names(N, "t");
    const part = (name) => this.grid(name, (h) => `${name}_${h}`, tokens, names(D_h), { inks: [INKS[name]] });
    const heads = names(k).map((h) => `SA_${Number(h) + 1}(z)`).join("; ");
    return [
      this.step("Eq. 5", "[q, k, v] = z U_qkv", ...Object.keys(PARTS).map(part)),
      this.step("Eq. 6", `A = softmax(q k^T / √D_h), √D_h = ${written(Math.sqrt(D_h))}`,
        this.grid("scores", () => "q k^T / √D_h", tokens, tokens),
        this.grid("A", (h) => `A_${h}: every row adds up to 1`, tokens, tokens)),
      this.step("Eq. 7", "SA(z) = A v", this.grid("SA", (h) => `SA_${h}(z)`, tokens, names(D_h))),
      this.step("Eq. 8", `MSA(z) = [${heads}] U_msa`,
        this.grid("joined", () => "the heads side by side", tokens, names(k * D_h), { inks: Array(k).fill("") }),
        this.grid("U_msa", () => "U_msa", names(k * D_h), names(D), { editable: true }),
        this.grid("MSA", () => "MSA(z)", tokens, names(D))),
    ];
  }

  step(number, text, ...figures) {
    const equation = make("p", { class: "vb-pc-equation" }, make("b", {}, number), " ", formula(text));
    return make("section", {}, equation, make("div", { class: "vb-pc-row" }, ...figures));
  }

  /** title: of a head, as text for formula(); rows, columns: their names; inks: of equal shares of the columns. */
  grid(what, title, rows, columns, { editable = false, inks = [""] } = {}) {
    const share = columns.length / inks.length; // neighbouring columns of one ink belong together
    const dress = (column) => ({ "data-ink": inks[Math.floor(column / share)], class: column && column % share === 0 ? "vb-pc-next" : undefined });
    const heading = (words, column) => make("div", { role: "columnheader", ...dress(column) }, words);
    const head = line(make("div", { role: "columnheader", "aria-label": "row" }), ...columns.map(heading));
    const body = rows.map((words, row) =>
      line(make("div", { role: "rowheader" }, words), ...columns.map((_, column) => this.cell({ what, row, column }, dress(column), editable))));
    const caption = make("div", { class: "vb-pc-title", id: `${this.id}-${what}` });
    const table = make("div", { role: "grid", class: "vb-pc-grid", "aria-labelledby": caption.id }, head, ...body);
    this.grids[what] = { caption, table, title, rows: rows.length, columns: columns.length };
    const kind = `vb-pc-matrix ${editable ? "vb-pc-given" : ""}`;
    return make("div", { class: kind, "data-what": what }, caption, make("div", { class: "vb-pc-scroll" }, table));
  }

  cell(place, dressed, editable) {
    const box = make("div", { role: "gridcell", ...dressed });
    const field = editable ? make("input", { inputmode: "decimal", autocomplete: "off", spellcheck: false, maxlength: 12 }) : null;
    const cell = { ...place, box, field, target: field ?? box };
    if (field) box.append(field);
    cell.target.tabIndex = place.row || place.column ? -1 : 0;
    this.cells.push(cell);
    box.vbCell = cell;
    return box;
  }
}

function drawCell(cell, value, before, { head, digits, open }) {
  const { what, box, field } = cell;
  const text = field ? shortest(value) : tabled(value, digits);
  if (!field) box.textContent = text;
  else if (!open) field.value = text;
  cell.target.setAttribute("aria-label", spoken(cell, head) + (field ? ", can be changed" : `: ${text}`));
  box.classList.toggle("vb-pc-changed", Math.abs(value - before) > 1e-9);
  if (what === "A") box.style.setProperty("--share", `${100 * value}%`);
}
