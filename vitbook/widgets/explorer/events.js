// What a reader does to the explorer, and what the model tells: every listener of the view, ended by its signal.
import { onChange, onTheme } from "../kit/dom.js";
import { onStep, tokenAt } from "../kit/grid.js";
import { copyLink, followLink } from "./links.js";
import { savePicture, saveNumbers } from "./saving.js";

const REDRAW = ["picture", "layer", "head", "query", "show", "direction", "scale", "against", "opacity", "smooth"];
const REFIT = ["sizes", "pictures", "fingerprint", "status", "problem"];

export function listen(view) {
  const { choices, page, source, stop: { signal } } = view;
  const on = (target, type, act) => target.addEventListener(type, act, { signal });
  const redraw = () => view.drawSoon();
  onChange(choices.model, REDRAW, redraw, signal);
  onChange(choices.model, REFIT, () => (view.fit(), redraw()), signal);
  onTheme(redraw, signal);
  onPhoto(view, on);
  onGrid(view, on);
  for (const { frame, seen } of page.panels) {
    on(frame, "pointermove", (e) => e.pointerType !== "touch" && view.point(tokenAt(e, seen, choices.sizes)));
    on(frame, "pointerleave", (e) => e.pointerType !== "touch" && view.point(null));
  }
  on(page.compare, "click", () => choices.pin());
  on(page.link, "click", () => copyLink(choices).then((words) => page.say(words)));
  on(page.openLayers, "click", () => view.toggleLayers());
  on(page.saveNumbers, "click", () => saveNumbers(view.shown));
  on(page.savePicture, "click", () => savePicture(page, view.shown).then((words) => page.say(words)));
  on(page.again, "click", redraw);
  on(page.table, "toggle", redraw);
  if (source.folder !== null) on(window, "hashchange", () => follow(view, location.hash));
  // A link of this page, clicked: also the one that the address bar holds already, and in JupyterLab.
  on(document, "click", (e) => follow(view, e.target.closest?.("a[href^='#']")?.hash ?? ""));
  // What a reader is about to need: the layer's other queries, once the explorer is touched and not before.
  for (const type of ["pointerenter", "focusin"]) on(page.el, type, () => view.fetchLayer());
}

/** Choose what a link names, if it means this explorer, and bring it into sight. */
export function follow({ choices, page }, hash) {
  if (!followLink(hash, choices)) return;
  requestAnimationFrame(() => page.el.closest(".vbx-explorer")?.scrollIntoView({ block: "start" }));
}

/** On the photograph a click or a key chooses the query. */
function onPhoto({ choices, page: { photo } }, on) {
  const choose = (token) => token !== null && choices.set({ query: token });
  on(photo.frame, "click", (e) => choose(tokenAt(e, photo.seen, choices.sizes)));
  on(photo.frame, "keydown", (e) => onStep(e, choices.get("query"), choices.sizes, choose));
  on(photo.star, "click", () => choose(0));
}

/** On the bare grid a click or a key points, and Enter chooses what is pointed at. */
function onGrid(view, on) {
  const { choices, page: { grid } } = view;
  on(grid.frame, "click", (e) => view.point(tokenAt(e, grid.seen, choices.sizes)));
  on(grid.star, "click", () => view.point(0));
  on(grid.frame, "keydown", (e) => {
    if (e.key === "Escape") return view.point(null);
    if (e.key !== "Enter" && e.key !== " ") return onStep(e, view.pointed ?? choices.get("query"), choices.sizes, (t) => view.point(t));
    e.preventDefault();
    if (view.pointed !== null) choices.set({ query: view.pointed });
  });
}
