// The model in the page: load it, give it a picture, and look at its attention.
import { ModelInPage } from "../engine/model.js";
import { colourTables, largest, paint, peak } from "../kit/colours.js";
import { field, select } from "../kit/controls.js";
import { bytesOf, isDark, make, onChange, onTheme, put } from "../kit/dom.js";
import { mark, onStep, panel, show, tokenAt } from "../kit/grid.js";
import { lit } from "../kit/light.js";
import { describe, exact } from "../kit/words.js";
import { loadingBox } from "./loading.js";
import { pictureBox, pixelsAsSeen, shown } from "./pictures.js";

const counted = (n) => Array.from({ length: n }, (_, i) => [i + 1, i + 1]);

class InPage {
  constructor(model, el) {
    Object.assign(this, { model, sizes: model.get("sizes"), stop: new AbortController(), layers: new Map(), turn: 0 });
    this.view = make("div", { class: "vbx-view" });
    el.classList.add("vb-widget", "vbx-explorer", "vbp-model");
    el.append(this.view);
    const root = document.documentElement.dataset.content_root;
    if (root === undefined) return this.say("In the built book the model runs here, on your own picture. In a notebook, AttentionExplorer takes one.");
    if (!model.get("weight")) return this.say("The weights of this build's checkpoint are too large to travel with a page.");
    this.start(`${root}_static/model/`);
  }

  say(words) {
    this.view.append(make("p", { class: "vbp-words" }, words));
  }

  start(folder) {
    const [script, fingerprint] = [this.model.get("worker"), this.model.get("fingerprint")];
    this.engine = new ModelInPage({ script, fingerprint, folder: `${folder}${fingerprint}/` });
    const load = (how) => this.engine.load(how);
    this.view.append(loadingBox({ bytes: this.model.get("weight"), load, ready: () => this.ready() }));
  }

  /** The weights are there: the self-test, which leaves its picture to be looked at, and then the controls. */
  async ready() {
    const test = await this.engine.test();
    if (!test) throw new Error("The self-test is missing from this copy of the book; build it again.");
    this.build();
    this.tested.textContent = verdict(test);
    this.photo = pixelsAsSeen(test.seen, test.width, test.height);
    this.aspect = test.aspect;
    this.caption.textContent = test.title;
    onChange(this.model, ["layer", "head", "query"], () => this.draw(), this.stop.signal);
    onTheme(() => this.draw(), this.stop.signal);
    await this.draw();
  }

  build() {
    const { L, heads } = this.sizes;
    const choice = (name, words, count) => {
      const list = select(counted(count), { onchange: () => put(this.model, { [name]: Number(list.value) }) });
      this[name] = list;
      return field(`${name}-${this.model.get("fingerprint")}-${Math.random().toString(36).slice(2, 7)}`, words, list);
    };
    this.lamp = this.grid("photo");
    this.bare = this.grid("grid");
    this.caption = this.lamp.caption;
    this.title = make("p", { class: "vbx-title", "aria-live": "polite" });
    this.facts = make("dl", { class: "vbx-facts" });
    this.status = make("p", { class: "vbp-words", "aria-live": "polite" });
    this.tested = make("p", { class: "vbp-words vbp-tested" });
    const bar = make("div", { class: "vbp-bar" }, choice("layer", "Layer", L), choice("head", "Head", heads));
    const stage = make("div", { class: "vbx-stage" }, this.lamp.element, this.bare.element);
    this.view.append(pictureBox((file) => this.take(file), this.stop.signal), this.status, bar, this.title, stage, this.facts, this.tested);
  }

  /** A grid to point at: the query is chosen in either. */
  grid(kind) {
    const made = panel(kind, "Point at a patch, or use the arrow keys; c goes to [class]");
    const { signal } = this.stop;
    made.pointed.remove();
    made.note.textContent = kind === "photo" ? "[class]" : "";
    made.star.hidden = kind !== "photo";
    made.star.ariaLabel = "Choose [class]";
    made.star.addEventListener("click", () => put(this.model, { query: 0 }), { signal });
    made.frame.addEventListener("click", (event) => this.choose(tokenAt(event, made.seen, this.sizes)), { signal });
    made.frame.addEventListener("keydown", (event) => onStep(event, this.model.get("query"), this.sizes, (query) => put(this.model, { query })), { signal });
    return made;
  }

  choose(query) {
    if (query) put(this.model, { query });
  }

  /** A picture of the reader's. */
  async take(file) {
    const turn = ++this.turn;
    this.status.textContent = "Running the model on your picture …";
    try {
      const { picture, preparing, running } = await this.engine.ask("look", { file });
      const photo = await shown(file, ({ width, height }) => seenPart(picture, width, height));
      if (turn !== this.turn) return;
      Object.assign(this, { photo, aspect: photo.width / photo.height });
      this.layers.clear();
      this.caption.textContent = file.name || "Your picture";
      this.status.textContent = `Resized in ${seconds(preparing)}, run in ${seconds(running)}. It has not left this page.`;
      await this.draw();
    } catch (error) {
      this.status.textContent = error.message;
    }
  }

  /** A promise of a layer's weights: all heads, one after the other. */
  layerOf(n) {
    if (!this.layers.has(n)) this.layers.set(n, this.engine.ask("layer", { layer: n }));
    return this.layers.get(n);
  }

  async draw() {
    const [layer, head, query] = ["layer", "head", "query"].map((name) => this.model.get(name));
    const { rows, columns, N } = this.sizes;
    const now = (this.drawing = `${this.turn} ${layer} ${head} ${query}`);
    const A = await this.layerOf(layer);
    if (this.drawing !== now || this.stop.signal.aborted) return;
    const at = ((head - 1) * (N + 1) + query) * (N + 1);
    const [own, weights] = [A[at], A.subarray(at + 1, at + N + 1)];
    const top = largest(weights);
    const { weights: table } = colourTables(new Uint8Array(bytesOf(this.model.get("tables"))), isDark());
    show(this.lamp.canvas, lit(this.photo, weights, top, this.sizes), { rows: this.photo.height, columns: this.photo.width });
    show(this.bare.canvas, paint(weights, top, table), { rows, columns });
    this.bare.caption.textContent = `The weights alone; the strongest colour is ${exact(top)}.`;
    for (const { frame, asked, star } of [this.lamp, this.bare]) {
      frame.style.setProperty("--vb-aspect", this.aspect);
      mark(asked, query, this.sizes);
      star.classList.toggle("vbx-chosen", query === 0);
      star.setAttribute("aria-pressed", query === 0);
    }
    this.tell(layer, head, query, own, weights);
  }

  tell(layer, head, query, own, weights) {
    const { columns } = this.sizes;
    const most = peak(weights);
    [this.layer.value, this.head.value] = [layer, head];
    this.title.textContent = `Layer ${layer}, head ${head}: what ${describe(query, columns)} reads`;
    const pairs = [["Most read patch", `${describe(most + 1, columns)}, ${exact(weights[most])}`], ["Weight on [class]", exact(own)]];
    this.facts.replaceChildren(...pairs.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
    for (const { frame } of [this.lamp, this.bare]) frame.ariaLabel = `${this.title.textContent}. Most read: ${pairs[0][1]}.`;
    this.view.dataset.drawn = `${layer} ${head} ${query} ${this.turn}`;
  }

  close() {
    this.stop.abort();
    this.engine?.close();
  }
}

const CLOSE = 1e-4; // as far as rounding alone may carry a weight

/** What the self-test found, in words. */
function verdict({ A, running, title }) {
  const compared = `On “${title}” it took ${seconds(running)}, and the weights of attention that were compared`;
  if (A <= CLOSE) return `Checked in your browser. ${compared} are those that Python computed, to ${A.toFixed(7)}.`;
  return `Do not trust what you see here. ${compared} differ from those that Python computed by up to ${A.toFixed(4)}.`;
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** What of a picture the model sees, in its own pixels: left, top, wide, high. */
function seenPart({ size: [w, h], left, top, crop: [high, wide] }, width, height) {
  return [(left / w) * width, (top / h) * height, (wide / w) * width, (high / h) * height];
}

export default {
  render({ model, el }) {
    const view = new InPage(model, el);
    return () => view.close();
  },
};
