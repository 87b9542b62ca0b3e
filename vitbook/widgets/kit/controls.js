// The controls that widgets share: a labelled field, a choice, a button, a bar of colours. Their looks are in controls.css.
import { make } from "./dom.js";
import { show } from "./grid.js";

/** A control with its label above and, where one is given, a note below. label: words, or elements. */
export function field(id, label, control, note = "") {
  control.id = id;
  return make("div", { class: "vb-field" }, make("label", { for: id }, ...[label].flat()), control, note);
}

/** A choice among [value, words]. */
export const select = (options, attributes = {}) =>
  make("select", { class: "vb-control", ...attributes }, ...options.map(([value, words]) => make("option", { value }, words)));

/** A line to type in. */
export const input = (attributes = {}) =>
  make("input", { class: "vb-control", autocomplete: "off", spellcheck: false, ...attributes });

export const button = (words, attributes = {}) => make("button", { type: "button", class: "vb-button", ...attributes }, words);

/** A bar of colours: `element`, `draw(rgba, ticks, words)` with ticks [share, words, "low" | "mid" | "high"], `point(share or null)`. */
export function colourBar() {
  const canvas = make("canvas", { class: "vbx-ramp", width: 256, height: 1, "aria-hidden": "true" });
  const ticks = make("div", { class: "vbx-ticks", "aria-hidden": "true" });
  const words = make("p", { class: "vbx-barwords" });
  const needle = make("span", { class: "vbx-needle", hidden: true });
  const element = make("div", { class: "vbx-bar" }, make("div", { class: "vbx-ramps" }, canvas, ticks), words);
  return {
    element,
    words,
    draw(rgba, marks, text) {
      show(canvas, rgba, { columns: rgba.length / 4, rows: 1 });
      const tick = ([share, said, kind]) => make("span", { class: `vbx-tick vbx-${kind}`, style: `left:${100 * share}%` }, said);
      ticks.replaceChildren(...marks.map(tick), needle);
      words.textContent = text;
    },
    point(share) {
      needle.hidden = share === null;
      if (share !== null) needle.style.left = `${100 * share}%`;
    },
  };
}
