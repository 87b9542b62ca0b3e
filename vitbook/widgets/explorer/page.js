// The pieces of the explorer's page, not yet filled: photograph, map to compare with, bare grid, bar, figures, strips, tools.
import { colourBar } from "../kit/bar.js";
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";
import { panel } from "../kit/grid.js";
import { Atlas } from "./atlas.js";

export class Page {
  constructor() {
    this.photo = panel("photo", "Click a patch to read from it; arrow keys move, c is [class]");
    this.other = panel("photo", "The map that you compare with");
    this.grid = panel("grid", "Point at a patch to see its weight; arrow keys move the pointer, Enter reads from it");
    this.panels = [this.photo, this.other, this.grid];
    this.other.frame.tabIndex = -1;
    this.other.star.remove(); // the query is chosen on the left, for both
    this.title = make("p", { class: "vbx-title" });
    this.stage = make("div", { class: "vbx-stage" }, ...this.panels.map(({ element }) => element));
    this.bar = colourBar();
    this.facts = make("dl", { class: "vbx-facts" });
    this.pointedFact = make("dd");
    this.heads = strip();
    this.layers = strip();
    this.atlas = new Atlas();
    this.compare = button("");
    this.link = button("Copy a link to this map");
    this.link.classList.add("vbx-link");
    this.openLayers = button("", { "aria-expanded": "false" });
    this.openChanges = button("Change the model", { "aria-expanded": "false" });
    this.savePicture = button("Save as PNG");
    this.saveNumbers = button("Save its numbers (CSV)");
    this.tools = make("div", { class: "vbx-tools" }, this.openLayers, this.openChanges, this.compare, this.savePicture, this.saveNumbers, this.link);
    this.pictures = make("div", { class: "vbx-pictures", role: "group", ariaLabel: "Pictures" });
    this.openYours = button("Your picture", { class: "vb-button vbx-own", "aria-expanded": "false" });
    this.changes = make("section", { class: "vbx-yours", hidden: true, ariaLabel: "Change the model" });
    this.strip = make("div", { class: "vbx-shelf" }, this.pictures, this.openYours);
    this.yours = make("section", { class: "vbx-yours", hidden: true, ariaLabel: "Your picture" });
    this.again = button("Try again", { hidden: true });
    this.table = make("details", { class: "vbx-table" }, make("summary", {}, "Every weight of this map as a table"));
    this.problem = make("p", { class: "vbx-problem", role: "alert", hidden: true });
    this.status = make("p", { class: "vbx-status", role: "status", hidden: true });
    this.live = make("p", { class: "vbx-live vb-unseen", "aria-live": "polite" });
    this.el = make(
      "div", { class: "vbx-view" }, this.strip, this.yours, this.problem, this.again, this.status, this.title, this.stage, this.bar.element, this.facts,
      this.heads.words, this.heads.element, this.layers.words, this.layers.element, this.atlas.element, this.tools, this.changes, this.table, this.live,
    );
  }

  say(text) {
    if (this.live.textContent !== text) this.live.textContent = text;
  }

  tell(element, text) {
    element.hidden = !text;
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A row of small maps, each a button, with a line of words above. */
function strip() {
  return {
    element: make("div", { class: "vbx-strip", role: "group", hidden: true }),
    words: make("p", { class: "vbx-stripwords", hidden: true }),
  };
}
