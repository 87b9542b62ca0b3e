// What a reader can change in the model by hand, and what then becomes of y. The changes themselves are in engine/edits.js.
import { bytesOfText } from "../engine/bytes.js";
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";
import { describe } from "../kit/words.js";
import { Gate } from "./loading.js";
import { Pastes, pasteWords } from "./pastes.js";

/** Changes that are there or not: what they are called, and the description that edits.js takes. */
const WHOLE = {
  positions: ["Take the positions away", "no positions", false],
  norm: ["LayerNorm after the sum", "LayerNorm after the sum", "after"],
  residual: ["No residual", "no residual", false],
  axis: ["Softmax over the wrong axis", "softmax over the queries", "queries"],
  root: ["No root under the scores", "scores not divided", false],
};
const LISTS = ["hide", "heads", "msa", "mlp", "paste"]; // changes of which there may be several
const MISTAKES = ["norm", "residual", "axis", "root"];

/** Changes of one token, one head, one half of a layer, for what is shown now: [name, item, words for the button, words for the list]. */
function parts({ layer, head, query }, { columns }) {
  return [
    ["hide", query, `Hide ${describe(query, columns)}`, `${describe(query, columns)} hidden`],
    ["heads", [layer, head], `Switch off head ${head} of layer ${layer}`, `head ${head} of layer ${layer} off`],
    ["msa", layer, `Switch off the attention of layer ${layer}`, `attention of layer ${layer} off`],
    ["mlp", layer, `Switch off the MLP of layer ${layer}`, `MLP of layer ${layer} off`],
  ];
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The description with one item more, or, where it is there already, without it. */
function toggled(edit, name, item) {
  const { [name]: old, ...rest } = edit;
  if (!LISTS.includes(name)) return old === undefined ? { ...edit, [name]: item } : rest;
  const items = (old ?? []).filter((each) => !same(each, item));
  if (items.length === (old ?? []).length) items.push(item);
  return items.length ? { ...rest, [name]: items } : rest;
}

/** Patches in a new order: order[p] is the patch that goes to place p. */
function shuffled(N) {
  const order = Array.from({ length: N }, (_, p) => p);
  for (let p = N - 1; p > 0; p--) {
    const other = Math.floor(Math.random() * (p + 1));
    [order[p], order[other]] = [order[other], order[p]];
  }
  return order;
}

export class Changes {
  constructor(view) {
    Object.assign(this, { view, open: false });
    const { page, choices } = view;
    this.only = choices.get("change");
    this.gate = new Gate(view, "To change the model it has to run here, in your browser.", () => this.update());
    this.buttons = make("div", { class: "vbx-tools" });
    this.mistakes = make("div", { class: "vbx-tools" });
    this.pastes = new Pastes(view, () => this.update());
    this.list = make("ul", { class: "vbx-changed", ariaLabel: "What is changed" });
    this.order = make("canvas", { class: "vbx-order", role: "img", ariaLabel: "The picture with its patches in the order in which the model gets them" });
    this.look = make("div", { class: "vbx-tools", role: "group", ariaLabel: "Which maps are shown" });
    this.facts = make("dl", { class: "vbx-facts" });
    this.controls = make("div", { class: "vbx-ways" }, this.buttons, this.pastes.element, this.mistakes, this.list, this.order, this.look, this.facts);
    page.changes.append(this.gate.element, this.controls);
    page.openChanges.hidden = !view.source.engine;
    page.openChanges.addEventListener("click", () => this.toggle());
    if (!this.only.length || !view.source.engine) return;
    page.strip.after(page.changes); // what this explorer is about comes first
    this.toggle(true);
  }

  toggle(open = !this.open) {
    this.open = open;
    this.view.page.changes.hidden = !open;
    this.view.page.openChanges.ariaExpanded = String(open);
    this.update();
    if (open) this.gate.open();
  }

  set(edit) {
    const { choices } = this.view;
    choices.edit = edit;
    if (!choices.changed) choices.look = "changed";
    this.update();
    this.view.drawSoon();
  }

  /** Everything in the panel anew; called whenever something is chosen in the explorer. */
  update() {
    this.controls.hidden = !this.gate.isOpen;
    if (!this.open || !this.gate.isOpen) return;
    const { choices } = this.view;
    const { edit, sizes, now } = choices;
    const wanted = (name) => !this.only.length || this.only.includes(name);
    const has = (name, item) => (LISTS.includes(name) ? (edit[name] ?? []).some((each) => same(each, item)) : edit[name] !== undefined);
    const change = ([name, item, words]) =>
      button(words, { ariaPressed: String(has(name, item)), disabled: name === "hide" && item === 0, onclick: () => this.set(toggled(edit, name, item)) });
    const whole = (name) => change([name, WHOLE[name][2], WHOLE[name][0]]);
    const shuffle = [change(["order", edit.order ?? this.first(), "Shuffle the patches"])];
    if (edit.order) shuffle.push(button("Shuffle again", { onclick: () => this.set({ ...edit, order: shuffled(sizes.N) }) }));
    const ofParts = parts(now, sizes).filter(([name]) => wanted(name)).map(change);
    refill(this.buttons, [...ofParts, ...(wanted("order") ? shuffle : []), ...(wanted("positions") ? [whole("positions")] : [])]);
    refill(this.pastes.element, wanted("paste") ? this.pastes.controls(change) : []);
    const mistakes = MISTAKES.filter(wanted).map(whole);
    refill(this.mistakes, mistakes.length ? [make("span", { class: "vbx-quiet" }, "Mistakes:"), ...mistakes] : []);
    refill(this.list, this.items().map(([words, without]) => make("li", {}, words, " ", button("×", { ariaLabel: `Undo: ${words}`, onclick: () => this.set(without) }))));
    if (choices.changed) this.list.append(make("li", {}, button("Reset", { onclick: () => this.set({}) })));
    const look = (name, words) => button(words, { ariaPressed: String(choices.look === name), onclick: () => this.show(name) });
    refill(this.look, choices.changed ? [make("span", { class: "vbx-quiet" }, "Maps:"), look("changed", "changed"), look("untouched", "untouched"), look("difference", "changed − untouched")] : []);
    this.drawOrder();
    this.tell();
  }

  /** The order that comes with the explorer, else one at random. */
  first() {
    const given = this.view.choices.get("order");
    return given.length ? given : shuffled(this.view.choices.sizes.N);
  }

  show(look) {
    this.view.choices.look = look;
    this.update();
    this.view.drawSoon();
  }

  /** Every change that is made: its words, and the description without it. */
  items() {
    const { edit, sizes } = this.view.choices;
    return Object.entries(edit).flatMap(([name, value]) => {
      if (name === "order") return [["patches shuffled", toggled(edit, name)]];
      if (WHOLE[name]) return [[WHOLE[name][1], toggled(edit, name)]];
      const words = (item) => {
        if (name === "paste") return pasteWords(item, this.view.choices);
        const [layer, head] = [item].flat();
        return parts({ layer, head, query: item }, sizes).find(([each]) => each === name)[3];
      };
      return value.map((item) => [words(item), toggled(edit, name, item)]);
    });
  }

  /** The picture as the model gets it, patch by patch in the new order. */
  drawOrder() {
    const { choices: { edit, sizes, card }, page: { photo } } = this.view;
    this.order.hidden = !edit.order || !photo.image.naturalWidth;
    if (this.order.hidden) return;
    const { rows, columns } = sizes;
    const [left, top, right, bottom] = card.box;
    const { naturalWidth: w, naturalHeight: h } = photo.image;
    const [wide, high] = [((right - left) * w) / columns, ((bottom - top) * h) / rows];
    const side = Math.floor(280 / columns);
    Object.assign(this.order, { width: columns * side, height: rows * side });
    const pen = this.order.getContext("2d");
    edit.order.forEach((from, p) => {
      const [x, y] = [(from % columns) * wide + left * w, Math.floor(from / columns) * high + top * h];
      pen.drawImage(photo.image, x, y, wide, high, (p % columns) * side, Math.floor(p / columns) * side, side, side);
    });
  }

  /** What becomes of y: how far it has turned, and what it is near to, or is taken for. */
  async tell() {
    const { choices: { edit, card, cards, changed }, source: { engine } } = this.view;
    if (!changed) {
      this.telling = null;
      return void this.facts.replaceChildren();
    }
    const now = JSON.stringify([card.key, edit]);
    if (!engine.knows(card.key) || this.telling === now) return;
    this.telling = now;
    const { order, ...inPlace } = edit;
    const asked = [{}, edit, ...(order && Object.keys(inPlace).length ? [inPlace] : [])];
    const donors = cards.filter(({ key }) => (edit.paste ?? []).some(([from]) => from === key));
    const outcome = (key, change) => engine.about("outcome", key, { edit: change });
    const [runs, theirs] = await Promise.all([
      Promise.all(asked.map((each) => outcome(card.key, each))),
      Promise.all(donors.map(({ key }) => outcome(key, {}))),
    ]);
    if (this.telling !== now) return;
    const [before, after, unshuffled] = runs;
    const name = (run) => (run.best ? classes(run.best, engine.manifest.labels) : this.nearest(run.y, card.key));
    const pairs = [
      ["y", `its cosine with the untouched y: ${cosine(before.y, after.y).toFixed(4)}`],
      ...donors.map(({ title }, n) => ["", `with the y of ${title}: ${cosine(theirs[n].y, after.y).toFixed(4)}; untouched it was ${cosine(theirs[n].y, before.y).toFixed(4)}`]),
      ...(unshuffled ? [["", `with y of the same model, patches in their places: ${cosine(unshuffled.y, after.y).toFixed(4)}`]] : []),
      [before.best ? "Classes" : "Nearest pictures", make("span", {}, `untouched: ${name(before)}`, make("br"), `changed: ${name(after)}`)],
    ];
    this.facts.replaceChildren(...pairs.map(([term, words]) => make("div", {}, make("dt", {}, term), make("dd", {}, words))));
    this.view.page.changes.dataset.told = now;
  }

  /** The two pictures of the book whose y points most nearly where this one does. */
  nearest(y, key) {
    const { choices, source: { engine } } = this.view;
    const others = choices.get("pictures").filter((card) => card.key !== key && engine.pictures[card.key]);
    const alike = others.map((card) => [cosine(y, new Float32Array(bytesOfText(engine.pictures[card.key].y).buffer)), card.title]);
    return alike.sort(([a], [b]) => b - a).slice(0, 2).map(([c, title]) => `${title} (${c.toFixed(3)})`).join(", ");
  }
}

/** New children; the focus stays on the control in the same place. */
function refill(element, children) {
  const all = () => [...element.querySelectorAll("button, select")];
  const at = all().indexOf(document.activeElement);
  element.replaceChildren(...children);
  element.hidden = !children.length;
  if (at >= 0) all()[at]?.focus();
}

function cosine(a, b) {
  const dot = (u, v) => u.reduce((total, x, i) => total + x * v[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

const classes = (best, labels) => best.map(([k, p]) => `${labels?.[k] ?? `class ${k}`} (${(100 * p).toFixed(1)}%)`).join(", ");
