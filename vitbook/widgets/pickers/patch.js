// A patch of a photograph: its pixels, and the first numbers of its row of x_p.
import { make } from "../kit/dom.js";
import { mark, show } from "../kit/grid.js";
import { minus } from "../kit/words.js";

const FIRST = 4; // numbers of each channel that are written out

/** What a pixel's value 0..255 becomes in x: one number a channel. */
function normalised(rgb, { rescale, mean, std }) {
  return rgb.map((value, c) => (value * rescale - mean[c]) / std[c]);
}

export class PatchPicker {
  kind = "photo";
  aspect = 1; // of the patch that is shown
  caption = "What the model sees, and its patches";

  constructor(model, sizes) {
    Object.assign(this, { model, sizes });
  }

  /** A promise of the photograph's pixels. */
  async ready({ image }) {
    await new Promise((resolve) => Object.assign(image, { onload: resolve, src: this.model.get("picture") }));
    const canvas = make("canvas", { width: this.sizes.W, height: this.sizes.H });
    this.pixels = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
    this.pixels.drawImage(image, 0, 0);
  }

  /** Fills the panel `shown`; returns what to say, as [name, words]. */
  draw(shown, token, { patch, row, column }) {
    const { P, C, N } = this.sizes;
    const { data } = this.pixels.getImageData(column * P, row * P, P, P);
    show(shown.canvas, new Uint8ClampedArray(data), { rows: P, columns: P });
    mark(shown.asked, null, this.sizes);
    shown.caption.textContent = shown.frame.ariaLabel = `Patch ${patch}: ${P} × ${P} pixels`;
    const names = C === 3 ? ["red", "green", "blue"] : ["grey"];
    return [
      ["Its pixels", `x[:, ${row * P}:${(row + 1) * P}, ${column * P}:${(column + 1) * P}]`],
      ["Its row of x_p", `${P * P * C} numbers: row ${patch} of ${N}`],
      ...names.map((name, c) => [`${name}, from ${c * P * P}`, `${this.first(data, c)} …`]),
    ];
  }

  first(data, channel) {
    const pixel = (i) => normalised([...data.subarray(4 * i, 4 * i + 3)], this.model.get("normalise"))[channel];
    return Array.from({ length: FIRST }, (_, i) => minus(pixel(i).toFixed(3))).join("  ");
  }
}
