// One query, step by step: drag it over the photograph and see how its scores become weights, and the weights a mean.
import { colourTables, largest, paint } from "../kit/colours.js";
import { button } from "../kit/controls.js";
import { bytesOf, isDark, make, onChange, onTheme, put, uid } from "../kit/dom.js";
import { mark, onStep, panel, show, tokenAt } from "../kit/grid.js";
import { lit } from "../kit/light.js";
import { Message } from "./message.js";
import { headings, lines } from "./reading.js";
import { oneQuery, ranked, unpacked } from "./steps.js";
import { divided, scoreWords, setting, softmaxWords, spot, summary, title } from "./words.js";

const QUIET = 600; // ms without a change until a screen reader is told
const STOPS = 20; // of the slider: factors that are all alike, so that the root stands in the middle

class OneQuery {
  constructor(model, el) {
    Object.assign(this, { model, el, data: model.get("data"), id: uid("vbq"), stop: new AbortController() });
    this.root = Math.sqrt(this.data.D_h);
    this.most = Math.max(this.data.D_h, 2);
    this.head = unpacked(bytesOf(model.get("numbers")), this.data);
    this.tables = new Uint8Array(bytesOf(model.get("tables")));
    this.message = new Message(this.head.v, this.data);
    this.build();
    const image = make("img", { onload: () => this.start(image), src: model.get("picture") });
  }

  /** The photograph is there. */
  start(image) {
    const { W, H, N, P, columns } = this.data;
    const pen = make("canvas", { width: W, height: H }).getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
    pen.drawImage(image, 0, 0);
    this.photo = pen.getImageData(0, 0, W, H);
    const pixels = (patch) => pen.getImageData((patch % columns) * P, Math.floor(patch / columns) * P, P, P).data;
    this.patches = Array.from({ length: N }, (_, patch) => pixels(patch));
    this.draw();
    onChange(this.model, ["query", "divisor"], () => this.draw(), this.stop.signal);
    onTheme(() => this.draw(), this.stop.signal);
  }

  // ---- what there is

  build() {
    this.title = make("p", { class: "vbx-title" });
    this.live = make("p", { class: "vb-unseen", "aria-live": "polite" });
    const stage = make("div", { class: "vbx-stage vbq-stage" }, this.buildPhoto(), this.buildScores());
    const end = make("div", { class: "vbq-end" }, this.buildTable(), this.message.element);
    this.el.classList.add("vb-widget", "vbx-explorer", "vbq");
    this.view = make("div", { class: "vbx-view" }, this.title, stage, this.buildSlider(), end, this.live);
    this.el.append(this.view);
  }

  buildPhoto() {
    this.lamp = panel("photo", "Drag the query, tap a patch, or use the arrow keys; c goes to [class]");
    const { frame, star, pointed, seen, note, element, caption } = this.lamp;
    const { signal } = this.stop;
    pointed.remove();
    this.classNote = note;
    star.addEventListener("click", () => this.choose(0), { signal });
    const at = (event) => this.choose(tokenAt(event, seen, this.data) ?? this.model.get("query"));
    frame.addEventListener("pointerdown", (event) => (frame.setPointerCapture(event.pointerId), at(event)), { signal });
    frame.addEventListener("pointermove", (event) => event.buttons && at(event), { signal });
    frame.addEventListener("keydown", (event) => onStep(event, this.model.get("query"), this.data, (query) => this.choose(query)), { signal });
    frame.style.setProperty("--vb-aspect", this.data.aspect);
    caption.textContent = "1. Drag the frame, or tap: this patch asks. The lighter a patch, the more of it is read.";
    return element;
  }

  buildScores() {
    this.grid = panel("grid", "");
    const { frame, pointed, star, element } = this.grid;
    for (const part of [pointed, star]) part.remove();
    frame.removeAttribute("tabindex");
    frame.setAttribute("role", "img");
    frame.style.cursor = "default";
    frame.style.setProperty("--vb-aspect", this.data.aspect);
    return element;
  }

  /** From "not divided" to D_h by equal factors, with the two settings that matter as buttons. */
  buildSlider() {
    const choose = () => this.divide(this.most ** (this.slider.value / STOPS));
    this.slider = make("input", { type: "range", min: 0, max: STOPS, step: "any", id: this.id, oninput: choose });
    this.setting = make("label", { for: this.id });
    const to = (words, divisor) => button(words, { onclick: () => this.divide(divisor) });
    this.marks = [to("no division", 1), to(`the root, ÷ ${divided(this.root)}`, this.root)];
    this.half = make("p", { class: "vbq-half" });
    return make("div", { class: "vbq-division" }, this.setting, this.slider, make("div", { class: "vbq-marks" }, ...this.marks), this.half);
  }

  buildTable() {
    this.headings = make("tr");
    this.lines = make("tbody");
    const caption = make("caption", {}, "4. Softmax. The lead is the divided score minus the largest one. Each e to the lead, divided by their sum, is a weight.");
    return make("table", { class: "vbq-table" }, caption, make("thead", {}, this.headings), this.lines);
  }

  // ---- choosing

  choose(query) {
    if (query !== this.model.get("query")) put(this.model, { query });
  }

  /** A setting near the root or near 1 is that setting. */
  divide(wanted) {
    const near = [1, this.root].find((stop) => Math.abs(Math.log(wanted / stop)) < 0.03 * Math.log(this.most));
    const divisor = Math.min(Math.max(near ?? wanted, 1), this.most);
    if (divisor !== this.model.get("divisor")) put(this.model, { divisor });
  }

  // ---- showing

  draw() {
    const [query, divisor] = [this.model.get("query"), this.model.get("divisor")];
    const found = oneQuery(this.head, query, divisor);
    const order = ranked(found.weights);
    this.drawGrids(query, found);
    this.drawSlider(divisor, found, order);
    this.headings.replaceChildren(...headings(divided(divisor)));
    this.lines.replaceChildren(...lines(found, order, query, this.patches, this.data));
    this.message.draw(found, this.patches, this.tables);
    this.title.textContent = title(this.data, query);
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => (this.live.textContent = summary(this.data, query, found, order, divisor)), QUIET);
    this.view.dataset.drawn = "yes";
  }

  drawGrids(query, found) {
    const { data, lamp, grid } = this;
    const [weights, scores] = [found.weights.subarray(1), found.scores.subarray(1)];
    show(lamp.canvas, lit(this.photo, weights, largest(weights), data), { rows: data.H, columns: data.W });
    const low = Math.min(...scores);
    const { weights: table } = colourTables(this.tables, isDark());
    show(grid.canvas, paint(scores.map((score) => score - low), Math.max(...scores) - low, table), data);
    for (const { asked } of [lamp, grid]) mark(asked, query, data);
    lamp.star.ariaLabel = lamp.star.title = "[class] asks";
    lamp.star.ariaPressed = String(query === 0);
    lamp.star.classList.toggle("vbx-chosen", query === 0);
    this.classNote.textContent = `[class] gets ${found.weights[0].toFixed(3)}`;
    lamp.frame.ariaLabel = `Photograph of ${data.rows} by ${data.columns} patches. Query: ${spot(query, data.columns)}. Arrow keys move it, c chooses [class].`;
    grid.caption.textContent = grid.frame.ariaLabel = scoreWords(found);
  }

  drawSlider(divisor, found, order) {
    this.slider.value = (STOPS * Math.log(divisor)) / Math.log(this.most);
    const words = setting(divisor, this.root);
    this.slider.setAttribute("aria-valuetext", words);
    this.setting.textContent = `3. The scores are ${words}`;
    this.marks.forEach((each, n) => (each.ariaPressed = String(divisor === [1, this.root][n])));
    this.half.textContent = softmaxWords(found, order);
  }

  close() {
    this.stop.abort();
    clearTimeout(this.speaking);
  }
}

export default {
  render({ model, el }) {
    const view = new OneQuery(model, el);
    return () => view.close();
  },
};
