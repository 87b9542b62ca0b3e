// Section 2's attention patterns, chosen in the page: which tokens one query reads, the whole mask, and what it costs.
import { field, input, select } from "../kit/controls.js";
import { make, onChange, onTheme, uid } from "../kit/dom.js";
import { inside, stepped } from "../kit/grid.js";
import { idOf, Parameters } from "./parameters.js";
import { drawPhoto, gridIn, Mask } from "./pictures.js";
import { lettersOf, pairsOf, reader } from "./rules.js";
import { cost, maskWords, photoWords } from "./words.js";

const SIDE = 600; // px of both pictures

class Patterns {
  constructor(model, el) {
    Object.assign(this, { model, el, id: uid("vb-pw"), stop: new AbortController(), mask: new Mask() });
    Object.assign(this, model.get("data")); // patterns, grids, D, picture
    this.now = null; // what is chosen, worked out: {pattern, letters, reads, row, H, W, query}
    this.build();
    this.listen();
    this.image = make("img", { onload: () => this.draw(), src: this.picture });
    this.update();
  }

  build() {
    this.patternChoice = select(this.patterns.map((p) => [p.name, p.title]));
    this.gridChoice = select(this.grids.map(([H, W, words], k) => [k, `${H} × ${W}: ${words}`]));
    [this.rowInput, this.columnInput] = [0, 1].map(() => input({ type: "number", min: 0 }));
    this.parameters = new Parameters(this.id, (chosen) => this.put({ chosen: { ...this.model.get("chosen"), ...chosen } }));
    this.about = make("p");
    this.complaint = make("p", { class: "vb-pw-complaint", role: "alert" });
    this.photo = make("canvas", { width: SIDE, height: SIDE, tabIndex: 0, role: "application" });
    this.whole = make("canvas", { width: SIDE, height: SIDE, role: "img" });
    this.photoWords = make("figcaption");
    this.maskWords = make("figcaption");
    this.costs = make("div", { class: "vb-pw-costs", "aria-live": "polite" });
    const choices = [["pattern", this.patternChoice], ["tokens", this.gridChoice], ["query in row", this.rowInput], ["column", this.columnInput]];
    const views = [[this.photo, this.photoWords], [this.whole, this.maskWords]].map((both) => make("figure", {}, ...both));
    this.el.classList.add("vb-widget", "vb-pattern-widget");
    this.el.append(
      make("div", { class: "vb-pw-controls" }, ...choices.map(([words, control]) => field(idOf(this.id, words), words, control))),
      this.about, this.parameters.element, this.complaint, make("div", { class: "vb-pw-views" }, ...views), this.costs,
    );
  }

  listen() {
    const { photo, rowInput, columnInput, model, stop: { signal } } = this;
    this.patternChoice.addEventListener("change", () => this.put({ pattern: this.patternChoice.value, chosen: {} }));
    this.gridChoice.addEventListener("change", () => this.chooseGrid(+this.gridChoice.value));
    for (const each of [rowInput, columnInput]) {
      each.addEventListener("change", () => this.move(rowInput.valueAsNumber, columnInput.valueAsNumber));
    }
    photo.addEventListener("keydown", (event) => this.key(event));
    photo.addEventListener("pointerdown", (event) => (photo.setPointerCapture(event.pointerId), this.point(event)));
    photo.addEventListener("pointermove", (event) => event.buttons && this.point(event));
    onChange(model, ["pattern", "grid", "query", "chosen"], () => this.update(), signal);
    onTheme(() => this.draw(), signal);
  }

  // ---- choosing

  get size() {
    const [H, W] = this.grids[this.model.get("grid")];
    return { H, W };
  }

  /** Python hears of what can be; while a parameter is none, of nothing. */
  put(changes) {
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.update();
    if (!this.complaint.textContent) this.model.save_changes();
  }

  /** Another grid; the query stays at the same place of the picture. */
  chooseGrid(grid) {
    const old = this.size;
    const [H, W] = this.grids[grid];
    const query = this.model.get("query");
    const row = Math.floor(((Math.floor(query / old.W) + 0.5) / old.H) * H);
    const column = Math.floor((((query % old.W) + 0.5) / old.W) * W);
    this.put({ grid, query: row * W + column, chosen: {} });
  }

  move(row, column) {
    const { H, W } = this.size;
    this.put({ query: inside(row, H) * W + inside(column, W) });
  }

  key(event) {
    const { H, W } = this.size;
    const to = event.key.startsWith("Arrow") && stepped(+this.rowInput.value, +this.columnInput.value, event.key, { rows: H, columns: W });
    if (!to) return;
    event.preventDefault();
    event.stopPropagation();
    this.move(...to);
  }

  point(event) {
    const box = this.photo.getBoundingClientRect();
    const { cell, left, top } = gridIn(box, this.now);
    this.move(Math.floor((event.clientY - box.top - top) / cell), Math.floor((event.clientX - box.left - left) / cell));
  }

  // ---- showing

  update() {
    const { H, W } = this.size;
    const pattern = this.patterns.find((p) => p.name === this.model.get("pattern"));
    const query = Math.min(this.model.get("query"), H * W - 1);
    this.patternChoice.value = pattern.name;
    this.gridChoice.value = this.model.get("grid");
    [this.rowInput.max, this.columnInput.max] = [H - 1, W - 1];
    [this.rowInput.value, this.columnInput.value] = [Math.floor(query / W), query % W];
    this.about.textContent = pattern.description;
    this.parameters.draw(pattern, { H, W, N: H * W }, this.model.get("chosen"));
    try {
      const letters = lettersOf(pattern, H, W, this.model.get("chosen"));
      const reads = reader(pattern, letters);
      this.now = { pattern, letters, H, W, query, reads, row: reads(query) };
      this.complaint.textContent = "";
    } catch (error) {
      this.complaint.textContent = `${error.message}.`;
      return;
    }
    this.tell();
    this.draw();
  }

  tell() {
    const { H, W, query, row, pattern, letters } = this.now;
    const [N, pairs] = [H * W, pairsOf(pattern, letters)];
    const seen = row.reduce((sum, each) => sum + each, 0);
    this.photoWords.textContent = photoWords(this.now, seen);
    this.maskWords.textContent = maskWords(N);
    this.photo.ariaLabel = `${this.photoWords.textContent} Arrow keys move the query.`;
    this.whole.ariaLabel = this.maskWords.textContent;
    this.costs.replaceChildren(cost("this pattern", pairs, N, this.D), cost("full attention", N * N, N, this.D));
    Object.assign(this.el.dataset, { pairs, seen, query, tokens: N });
  }

  draw() {
    if (!this.now) return;
    const page = getComputedStyle(this.el);
    const ink = (name) => page.getPropertyValue(`--vb-${name}`).trim();
    drawPhoto(this.photo, this.image, this.now, ink);
    this.mask.draw(this.whole, this.now, ink);
  }
}

export default {
  render({ model, el }) {
    const widget = new Patterns(model, el);
    return () => widget.stop.abort();
  },
};
