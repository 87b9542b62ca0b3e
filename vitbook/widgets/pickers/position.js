// A place of the grid: the cosine of its position vector with every other's.
import { colourTables, paintSigned } from "../kit/colours.js";
import { bytesOf, isDark } from "../kit/dom.js";
import { mark, show } from "../kit/grid.js";
import { describe, figure, minus } from "../kit/words.js";

const LEVELS = 127;

/** One row of the stored cosines: numbers from -top to top, the chosen place itself NaN. */
function cosines(codes, patch, N, top) {
  const row = Float64Array.from(codes.subarray(patch * N, (patch + 1) * N), (code) => (code / LEVELS - 1) * top);
  row[patch] = NaN;
  return row;
}

export class PositionPicker {
  kind = "grid";
  caption = "Choose a place";

  constructor(model, sizes) {
    Object.assign(this, { model, sizes, aspect: sizes.columns / sizes.rows, top: model.get("top") });
    this.codes = new Uint8Array(bytesOf(model.get("codes")));
    this.tables = new Uint8Array(bytesOf(model.get("tables")));
  }

  async ready() {}

  /** Fills the panel `shown`; returns what to say, as [name, words]. */
  draw(shown, token, { patch, row, column }) {
    const { top, sizes } = this;
    const { N, columns } = sizes;
    const others = cosines(this.codes, patch, N, top).map((c) => (Number.isNaN(c) ? 0 : c));
    show(shown.canvas, paintSigned(others, top, colourTables(this.tables, isDark()).signed), sizes);
    mark(shown.asked, token, sizes);
    const step = top / (2 * LEVELS);
    shown.caption.textContent =
      `Cosine with every other place, from ${figure(-top, step)} to ${figure(top, step)}; with itself it is 1 and left uncoloured`;
    shown.frame.ariaLabel = `Map of cosines of place ${patch} with every other place.`;
    const ranked = [...others.keys()].filter((n) => n !== patch).sort((i, j) => others[j] - others[i]).slice(0, 3);
    const mean = (keep) => meanOf([...others].filter((_, n) => n !== patch && keep(Math.floor(n / columns) === row, n % columns === column)));
    return [
      ["Most alike", ranked.map((n) => `${describe(n + 1, columns)}: ${figure(others[n], step)}`).join("; ")],
      ["On average", `its row ${mean((here) => here)}, its column ${mean((_, here) => here)}, all other places ${mean((r, c) => !r && !c)}`],
    ];
  }
}

const meanOf = (numbers) => (numbers.length ? minus((numbers.reduce((a, b) => a + b, 0) / numbers.length).toFixed(2)) : "none");
