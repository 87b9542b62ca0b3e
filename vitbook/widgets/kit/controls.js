// The controls that widgets share: a labelled field, a choice, a line, a button. Their looks are in controls.css.
import { make } from "./dom.js";

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
