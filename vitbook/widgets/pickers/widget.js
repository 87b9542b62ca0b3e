// A grid to choose a patch from and, beside it, what belongs to that patch.
import { make, onChange, onTheme, put } from "../kit/dom.js";
import { mark, onStep, panel, tokenAt } from "../kit/grid.js";
import { place } from "../kit/words.js";
import { PatchPicker } from "./patch.js";
import { PositionPicker } from "./position.js";

const QUIET = 600; // ms without a change until a screen reader is told, so that a held key does not flood the listener

class Picker {
  constructor(model, el) {
    this.model = model;
    this.stop = new AbortController();
    const { rows, columns } = model.get("sizes");
    this.sizes = { ...model.get("sizes"), N: rows * columns };
    this.subject = new { patch: PatchPicker, position: PositionPicker }[model.get("kind")](model, this.sizes);
    this.build(el);
    this.subject.ready(this.chooser).then(() => {
      this.draw();
      onChange(model, ["token"], () => this.draw(), this.stop.signal);
      onTheme(() => this.draw(), this.stop.signal);
    });
  }

  build(el) {
    this.chooser = panel(this.subject.kind, "Point at a patch, or use the arrow keys");
    this.shown = panel("grid", "");
    for (const part of [this.chooser, this.shown]) {
      part.element.firstChild.remove(); // no [class] here
      part.pointed.remove();
    }
    this.buildShown(this.shown);
    this.buildChooser(this.chooser);
    this.words = make("dl", { class: "vbx-facts" });
    this.live = make("p", { class: "vb-unseen", "aria-live": "polite" });
    const stage = make("div", { class: "vbx-stage" }, this.chooser.element, this.shown.element);
    this.view = make("div", { class: "vbx-view" }, stage, this.words, this.live);
    el.classList.add("vb-widget", "vbx-explorer");
    el.append(this.view);
  }

  /** A picture, nothing to operate. */
  buildShown({ frame }) {
    frame.removeAttribute("tabindex");
    frame.setAttribute("role", "img");
    frame.style.cursor = "default";
    frame.style.setProperty("--vb-aspect", this.subject.aspect);
  }

  buildChooser({ frame, canvas, seen, caption }) {
    const { rows, columns } = this.sizes;
    const { signal } = this.stop;
    canvas.remove();
    caption.textContent = this.subject.caption;
    seen.append(make("div", { class: "vbx-lines" }));
    seen.style.setProperty("--vb-cell", `${100 / columns}% ${100 / rows}%`);
    frame.style.setProperty("--vb-aspect", columns / rows);
    const at = (event) => this.choose(tokenAt(event, seen, this.sizes));
    frame.addEventListener("click", at, { signal });
    frame.addEventListener("pointermove", (event) => event.pointerType === "mouse" && at(event), { signal });
    frame.addEventListener("keydown", (event) => onStep(event, this.model.get("token"), this.sizes, (token) => this.choose(token)), { signal });
  }

  choose(token) {
    if (token && token !== this.model.get("token")) put(this.model, { token });
  }

  draw() {
    const { rows, columns, N } = this.sizes;
    const token = Math.min(Math.max(this.model.get("token"), 1), N);
    const spot = place(token, columns);
    const where = `row ${spot.row}, column ${spot.column}`;
    mark(this.chooser.asked, token, this.sizes);
    this.chooser.frame.ariaLabel = `Grid of ${rows} by ${columns} patches. Chosen: patch ${spot.patch}, ${where}.`;
    const chosen = ["Chosen", `patch ${spot.patch} → token ${token} → ${where}`];
    const pairs = [chosen, ...this.subject.draw(this.shown, token, spot)];
    this.words.replaceChildren(...pairs.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => (this.live.textContent = pairs.map((pair) => pair.join(": ")).join(". ")), QUIET);
    this.view.dataset.drawn = "yes";
  }

  close() {
    this.stop.abort();
    clearTimeout(this.speaking);
  }
}

export default {
  render({ model, el }) {
    const picker = new Picker(model, el);
    return () => picker.close();
  },
};
