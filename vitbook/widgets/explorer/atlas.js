// A square of small maps, a row a layer and a column a head: one stop of the keyboard, in which the arrow keys choose.
import { make } from "../kit/dom.js";
import { stepped } from "../kit/grid.js";

export class Atlas {
  constructor() {
    this.element = make("div", { class: "vbx-atlas", role: "group", ariaLabel: "Every layer and head", hidden: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.buttons = [];
  }

  /** As many buttons as there are layers and heads; pick(layer, map) is called with what is chosen, map 0 being the mean. */
  build({ L, heads }, pick) {
    this.pick = pick;
    if (this.buttons.length === L * (heads + 1)) return;
    Object.assign(this, { rows: L, columns: heads + 1, buttons: [] });
    const label = (words) => make("span", { "aria-hidden": "true" }, words);
    const map = (layer, n) => {
      const canvas = make("canvas", { class: "vbx-cells", "aria-hidden": "true" });
      const button = make("button", { type: "button", class: "vbx-thumb", onclick: () => this.pick(layer, n) }, canvas);
      this.buttons.push(button);
      return button;
    };
    const row = (l) => [label(`${l + 1}`), ...Array.from({ length: heads + 1 }, (_, n) => map(l + 1, n))];
    const heading = ["", "mean", ...Array.from({ length: heads }, (_, h) => `${h + 1}`)].map(label);
    this.element.style.setProperty("--vb-count", this.columns);
    this.element.replaceChildren(...heading, ...Array.from({ length: L }, (_, l) => row(l)).flat());
  }

  onKey(event) {
    const at = this.buttons.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = stepped(Math.floor(at / this.columns), at % this.columns, event.key, this);
    if (!to) return;
    event.preventDefault();
    const button = this.buttons[to[0] * this.columns + to[1]];
    button.focus();
    button.click();
  }
}
