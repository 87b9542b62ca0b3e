// What is chosen: the model's traits, with names for what they mean. Positions in a list stand for names, as in view.py.
import { put } from "../kit/dom.js";

export const CHOICES = ["picture", "layer", "head", "query", "show", "direction", "scale"];
export const NAMES = { show: ["head", "mean", "rollout"], direction: ["reads", "read by"], scale: ["heads", "layer", "map"] };

const clamp = (value, low, high) => Math.min(Math.max(Math.round(value) || low, low), high);

export class Choices {
  constructor(model) {
    this.model = model;
    this.edit = {}; // what is changed in the model of this page: see engine/edits.js
    this.look = "changed"; // which maps are shown then: "changed", "untouched" or their "difference"
    this.own = []; // cards of the reader's own pictures, where no kernel keeps them
  }

  get(key) {
    return this.model.get(key);
  }

  set(changes) {
    put(this.model, changes);
  }

  get sizes() {
    const sizes = this.get("sizes");
    return { ...sizes, N: sizes.rows * sizes.columns };
  }

  /** The book's pictures, then the reader's own. */
  get cards() {
    return [...this.get("pictures"), ...this.own];
  }

  get card() {
    return this.cards[this.get("picture")];
  }

  /** Lists a picture of the reader's and shows it. */
  add(card) {
    this.own.push(card);
    this.set({ picture: this.cards.length - 1 });
  }

  /** Takes a picture of the reader's off the list; what it was compared with goes too. */
  remove(card) {
    const at = this.cards.indexOf(card);
    this.own = this.own.filter((each) => each !== card);
    const { picture } = this.now;
    const changes = this.get("against").picture >= at ? { against: {} } : {};
    this.set({ ...changes, picture: picture > at ? picture - 1 : picture === at ? Math.min(at, this.cards.length - 1) : picture });
  }

  get now() {
    const keys = ["picture", "layer", "head", "query", "show", "scale"];
    const edit = this.changed && this.look !== "untouched" ? this.edit : null;
    return { ...Object.fromEntries(keys.map((key) => [key, this.get(key)])), reverse: this.get("direction") === 1, edit };
  }

  /** Whether anything in the model is changed. */
  get changed() {
    return Object.keys(this.edit).length > 0;
  }

  /** The pinned choice with today's query and direction, or null; of a difference to the untouched model, that. */
  get pinned() {
    if (this.changed && this.look === "difference") return { ...this.now, edit: null };
    const against = this.get("against");
    return "layer" in against ? { ...this.now, ...against } : null;
  }

  /** What is shown: the choice, and the pinned one where there is one. */
  get all() {
    return [this.now, this.pinned].filter(Boolean);
  }

  /** Keep this map to compare with, or stop comparing. */
  pin() {
    const { picture, layer, head, show } = this.now;
    this.set({ against: this.pinned ? {} : { picture, layer, head, show } });
  }

  /** No choice is ever out of range, whatever the checkpoint, the link or the kernel asked for. */
  fit() {
    const { L, heads, N } = this.sizes;
    const last = this.cards.length - 1;
    const limits = { picture: [0, last], layer: [1, L], head: [1, heads], query: [0, N], show: [0, 2], direction: [0, 1], scale: [0, 2] };
    const changes = {};
    for (const [key, [low, high]] of Object.entries(limits)) {
      const value = clamp(this.get(key), low, high);
      if (value !== this.get(key)) changes[key] = value;
    }
    const { picture, layer, head } = this.get("against");
    if (picture > last || layer > L || head > heads) changes.against = {};
    if (Object.keys(changes).length) this.set(changes);
  }
}
