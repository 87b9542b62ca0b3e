// Rows of z from another picture's run, in the place of this run's: the controls, and the words for what was pasted.
import { select } from "../kit/controls.js";
import { make } from "../kit/dom.js";
import { describe } from "../kit/words.js";

const rowsOf = (what, { columns }) => (what === "patches" ? "all patches" : describe(what, columns));

/** What a description [picture, layer, token or "patches"] of edits.js says, in words. */
export const pasteWords = ([from, layer, what], { cards, sizes }) =>
  `${rowsOf(what, sizes)} after layer ${layer} from ${cards.find(({ key }) => key === from).title}`;

/** Without what was pasted from a picture that is gone. */
export function withoutPicture({ paste, ...rest }, key) {
  const left = (paste ?? []).filter(([from]) => from !== key);
  return left.length ? { ...rest, paste: left } : rest;
}

export class Pastes {
  constructor(view, changed) {
    this.view = view;
    this.element = make("div", { class: "vbx-tools" });
    this.donor = select([], { ariaLabel: "The picture to paste from", onchange: changed });
  }

  /** A choice of pictures, and a button for the token at hand and for all patches; nothing where there is no other picture.
   *  change: makes a button of [name, item, words]. */
  controls(change) {
    const { choices: { card, cards, sizes, now: { layer, query } }, source: { engine } } = this.view;
    const others = cards.filter(({ key }) => key !== card.key && engine.knows(key));
    if (!others.length) return [];
    const chosen = others.find(({ key }) => key === this.donor.value) ?? others[0];
    this.donor.replaceChildren(...others.map(({ key, title }) => make("option", { value: key, selected: key === chosen.key }, title)));
    const ways = [query, "patches"].map((what) => change(["paste", [chosen.key, layer, what], `${rowsOf(what, sizes)} after layer ${layer}`]));
    return [make("span", { class: "vbx-quiet" }, "Paste from"), this.donor, ...ways];
  }
}
