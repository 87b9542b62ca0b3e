// A bar of colours with ticks and a needle. Its looks are in bar.css.
import { make } from "./dom.js";
import { show } from "./grid.js";

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
