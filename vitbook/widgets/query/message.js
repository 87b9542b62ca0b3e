// What comes out of a query: the mean of the values, as a strip of colours, and as a stand-in the same mean of pixels.
import { colourTables, largest, paintSigned } from "../kit/colours.js";
import { isDark, make } from "../kit/dom.js";
import { show } from "../kit/grid.js";
import { minus } from "../kit/words.js";
import { blended, meanOf } from "./steps.js";

const FIRST = 4; // numbers that are written out

const numbersOf = (numbers) => `${Array.from(numbers.slice(0, FIRST), (n) => minus(n.toFixed(2))).join("  ")}${numbers.length > FIRST ? " …" : ""}`;

function strip(words) {
  const [canvas, said] = [make("canvas", { class: "vbq-strip", "aria-hidden": "true" }), make("span", { class: "vbq-numbers" })];
  return { canvas, said, element: make("div", {}, make("b", {}, words), canvas, said) };
}

function square(words) {
  const canvas = make("canvas", { class: "vbq-blend", "aria-hidden": "true" });
  return { canvas, element: make("figure", {}, canvas, make("figcaption", {}, words)) };
}

export class Message {
  constructor(values, { D_h, P }) {
    this.plain = meanOf(values);
    this.size = { rows: P, columns: P };
    this.strips = [strip("mean of the values, by these weights"), strip("plain mean of all values")];
    this.blends = [square("by these weights"), square("plain mean")];
    this.element = make("div", { class: "vbq-message" },
      make("p", {}, `5. What comes out: the message, one list of ${D_h} numbers. Blue is below zero, orange above.`),
      ...this.strips.map((each) => each.element),
      make("p", {}, "A list of numbers is no picture. As a stand-in, here are the pixels of the patches in the same mean ([class] has none and is left out)."),
      make("div", { class: "vbq-blends" }, ...this.blends.map((each) => each.element)));
  }

  /** What `oneQuery` found, on one scale with the plain mean. */
  draw({ weights, message }, patches, tables) {
    const { signed } = colourTables(tables, isDark());
    const means = [message, this.plain];
    const top = Math.max(...means.map((mean) => largest(mean.map(Math.abs))));
    this.strips.forEach(({ canvas, said }, n) => {
      show(canvas, paintSigned(means[n], top, signed), { rows: 1, columns: means[n].length });
      said.textContent = numbersOf(means[n]);
    });
    [blended(patches, weights.subarray(1)), blended(patches)].forEach((pixels, n) => show(this.blends[n].canvas, pixels, this.size));
  }
}
