// Appendix A's four tokens with every given number open to change: Eq. 5 to 8 worked out again in the page, with no kernel.
import { button } from "../kit/controls.js";
import { make, onChange, put, uid } from "../kit/dom.js";
import { Matrices } from "./matrices.js";
import { GIVEN, LARGEST, Numbers, shortest } from "./numbers.js";
import { listenToCells } from "./typing.js";
import { explain, nameOf, ofHead, related } from "./words.js";

class Pencil {
  constructor(model, el) {
    Object.assign(this, { model, id: uid("vb-pencil"), stop: new AbortController() });
    this.numbers = new Numbers(model, (moved) => this.changed(moved));
    this.matrices = new Matrices(this.id, this.numbers.start);
    this.held = this.shown = { what: "A", row: 0, column: 0 }; // held: shown while nothing is pointed at
    this.build(el);
    listenToCells(this, el, this.stop.signal);
    onChange(model, GIVEN, () => this.numbers.receive() && this.draw(), this.stop.signal);
    onChange(model, ["head"], () => this.draw(), this.stop.signal);
    this.draw();
  }

  // ---- controls and words

  build(el) {
    const { numbers, matrices } = this;
    this.undo = this.button("Undo", "Undo the last change", () => numbers.undo());
    this.redo = this.button("Redo", "Make the undone change again", () => numbers.redo());
    this.reset = this.button("Reset", "Put the book's numbers back", () => numbers.reset());
    this.nudges = [
      this.button("−1", "One less in the chosen cell", () => this.nudge((x) => x - 1)),
      this.button("+1", "One more in the chosen cell", () => this.nudge((x) => x + 1)),
      this.button("±", "Change the sign in the chosen cell", () => this.nudge((x) => 0 - x)),
    ];
    this.headChoices = Array.from({ length: matrices.k }, (_, h) => this.headChoice(h + 1));
    this.message = make("p", { class: "vb-pc-message", role: "status" });
    this.words = make("div", {
      class: "vb-pc-words", id: `${this.id}-words`, tabIndex: 0, role: "group", "aria-label": "Arithmetic of the chosen number", style: `--rows:${matrices.N}`,
    });
    el.classList.add("vb-widget", "vb-pencil");
    el.replaceChildren(
      make("div", { class: "vb-pc-bar", role: "group", "aria-label": "Pencil example: controls" },
        make("span", { class: "vb-pc-heads", role: "radiogroup", "aria-label": "Head shown" }, ...this.headChoices),
        make("span", {}, this.undo, this.redo, this.reset), make("span", { role: "group", "aria-label": "Chosen cell" }, ...this.nudges)),
      this.message, matrices.given, ...matrices.steps, this.words);
  }

  button(words, title, act) {
    const stay = (event) => event.preventDefault(); // the cell keeps the focus
    return button(words, { title, "aria-label": title, onclick: act, onpointerdown: stay });
  }

  headChoice(head) {
    const radio = make("input", { type: "radio", name: `${this.id}-head`, value: head, id: `${this.id}-head-${head}` });
    radio.addEventListener("change", () => this.chooseHead(head));
    return make("label", { for: radio.id }, radio, ` head ${head}`);
  }

  get head() {
    return Math.min(Math.max(this.model.get("head"), 1), this.matrices.k);
  }

  chooseHead(head) {
    this.numbers.edit = null;
    put(this.model, { head });
    this.draw();
  }

  // ---- one cell

  value({ what, row, column }) {
    return this.numbers.matrix(what, this.head)[row][column];
  }

  addressed({ what, row, column }) {
    return { what, head: ofHead(what) ? this.head : undefined, row, column };
  }

  put(cell, value) {
    this.numbers.put(cell, this.head, value);
  }

  nudge(by) {
    const cell = this.matrices.at(this.held);
    const value = by(this.value(cell));
    if (Math.abs(value) > LARGEST) return;
    this.numbers.open(cell);
    this.put(cell, value);
    cell.field.value = shortest(value);
    this.mark(cell, true);
  }

  /** Whether what stands in a cell is a number; where it is none, why, and what counts instead. */
  mark(cell, valid) {
    cell.field.setAttribute("aria-invalid", String(!valid));
    if (valid) return;
    const typed = cell.field.value.trim();
    const beyond = Number.isFinite(Number(typed));
    const why = typed === "" ? "is empty" : beyond ? `holds ${typed}, beyond ${LARGEST}` : `holds “${typed}”, which is not a number`;
    this.message.textContent =
      `${nameOf(this.addressed(cell))} ${why}, so ${shortest(this.value(cell))} still counts. Numbers such as 2, −0.5 or 1/3 will do.`;
  }

  // ---- showing

  changed(moved) {
    this.draw();
    this.message.textContent = `${moved} of the ${this.matrices.N * this.matrices.D} numbers of MSA(z) changed.`;
  }

  draw() {
    const { head, numbers, matrices } = this;
    this.headChoices.forEach((label, h) => (label.querySelector("input").checked = h + 1 === head));
    matrices.draw(numbers, head);
    this.undo.disabled = !numbers.past.length;
    this.redo.disabled = !numbers.future.length;
    this.reset.disabled = numbers.isStart;
    this.point(this.shown);
  }

  /** Show a cell's way through the equations, what it is made from, and its arithmetic. */
  point(cell) {
    const { matrices, numbers } = this;
    this.shown = cell;
    const { way, from } = related(cell, matrices.D_h);
    const belongs = (list, { what, row, column }) => list.some(([name, r, c]) => name === what && (r ?? row) === row && (c ?? column) === column);
    for (const each of matrices.cells) {
      each.box.classList.toggle("vb-pc-way", belongs(way, each));
      each.box.classList.toggle("vb-pc-from", belongs(from, each));
      each.box.classList.toggle("vb-pc-this", each.what === cell.what && each.row === cell.row && each.column === cell.column);
    }
    const lines = explain(numbers.given, numbers.found, this.addressed(cell));
    this.words.replaceChildren(...lines.map((text) => make("span", {}, text)));
    for (const nudge of this.nudges) nudge.disabled = !matrices.at(this.held).field;
  }
}

export default {
  render({ model, el }) {
    const pencil = new Pencil(model, el);
    return () => pencil.stop.abort();
  },
};
