// A grid to choose a patch from and, beside it, what belongs to that patch. It needs grid_parts.js.

/** One row of the stored cosines: numbers from -top to top, the chosen place itself NaN. */
export function cosines(codes, patch, N, top) {
  const row = Float64Array.from(codes.subarray(patch * N, (patch + 1) * N), (code) => (code / 127 - 1) * top);
  row[patch] = NaN;
  return row;
}

/** What a pixel's value 0..255 becomes in x: one number a channel. */
export function normalised(rgb, { rescale, mean, std }) {
  return rgb.map((value, c) => (value * rescale - mean[c]) / std[c]);
}

const signed = (number, digits = 3) => number.toFixed(digits).replace("-", "−");

class Picker {
  constructor(model, el) {
    this.model = model;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.kind = model.get("kind");
    const sizes = model.get("sizes");
    this.sizes = { ...sizes, N: sizes.rows * sizes.columns };
    el.classList.add("vbx-explorer");
    this.build(el);
    const redraw = () => this.draw();
    model.on("change:token", redraw);
    signal.addEventListener("abort", () => model.off("change:token", redraw));
    onTheme(redraw, signal);
    if (this.kind === "position") return redraw();
    this.chooser.image.onload = () => {
      const canvas = h("canvas", { width: this.sizes.W, height: this.sizes.H });
      this.pixels = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
      this.pixels.drawImage(this.chooser.image, 0, 0);
      redraw();
    };
    this.chooser.image.src = model.get("picture");
  }

  build(el) {
    const hint = "Point at a patch, or use the arrow keys";
    this.chooser = panel(this.kind === "patch" ? "photo" : "grid", hint);
    this.shown = panel("grid", "");
    this.shown.frame.removeAttribute("tabindex");
    this.shown.frame.setAttribute("role", "img");
    this.shown.frame.style.cursor = "default";
    for (const part of [this.chooser, this.shown]) {
      part.element.firstChild.remove(); // no [class] here
      part.pointed.remove();
    }
    const aspect = this.sizes.columns / this.sizes.rows;
    this.chooser.frame.style.setProperty("--vb-aspect", aspect);
    this.shown.frame.style.setProperty("--vb-aspect", this.kind === "patch" ? 1 : aspect);
    this.chooser.canvas.remove();
    this.chooser.seen.append(h("div", { class: "vbx-lines" }));
    this.chooser.seen.style.setProperty("--vb-cell", `${100 / this.sizes.columns}% ${100 / this.sizes.rows}%`);
    this.words = h("dl", { class: "vbx-facts" });
    this.live = h("p", { class: "vbx-live", "aria-live": "polite" });
    const stage = h("div", { class: "vbx-stage" }, this.chooser.element, this.shown.element);
    this.view = h("div", { class: "vbx-view" }, stage, this.words, this.live);
    el.append(this.view);
    const choose = (token) => {
      if (!token || token === this.model.get("token")) return;
      this.model.set("token", token);
      this.model.save_changes();
    };
    const { signal } = this.stop;
    const at = (event) => choose(tokenAt(event, this.chooser.seen, this.sizes));
    this.chooser.frame.addEventListener("click", at, { signal });
    this.chooser.frame.addEventListener("pointermove", (e) => e.pointerType === "mouse" && at(e), { signal });
    this.chooser.frame.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const to = step(this.model.get("token"), event.key, this.sizes);
      if (to === null) return;
      event.preventDefault();
      choose(to);
    }, { signal });
  }

  draw() {
    const token = Math.min(Math.max(this.model.get("token"), 1), this.sizes.N);
    mark(this.chooser.asked, token, this.sizes);
    const spot = place(token, this.sizes.columns);
    const facts = this.kind === "patch" ? this.drawPatch(spot) : this.drawPosition(token, spot);
    const where = `row ${spot.row}, column ${spot.column}`;
    this.chooser.frame.ariaLabel = `Grid of ${this.sizes.rows} by ${this.sizes.columns} patches. Chosen: patch ${spot.patch}, ${where}.`;
    const pairs = [["Chosen", `patch ${spot.patch} → token ${token} → ${where}`], ...facts];
    this.words.replaceChildren(...pairs.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
    clearTimeout(this.speaking); // said once the choice rests, so that a held key does not flood the listener
    this.speaking = setTimeout(() => (this.live.textContent = pairs.map((pair) => pair.join(": ")).join(". ")), 600);
    this.view.dataset.drawn = "yes";
  }

  drawPatch({ patch, row, column }) {
    const { P, C } = this.sizes;
    const data = this.pixels.getImageData(column * P, row * P, P, P).data;
    show(this.shown.canvas, new Uint8ClampedArray(data), { rows: P, columns: P });
    mark(this.shown.asked, null, this.sizes);
    this.chooser.caption.textContent = "What the model sees, and its patches";
    this.shown.caption.textContent = `Patch ${patch}: ${P} × ${P} pixels`;
    this.shown.frame.ariaLabel = this.shown.caption.textContent;
    const first = (channel) => Array.from({ length: 4 }, (_, i) => {
      const numbers = normalised([...data.subarray(4 * i, 4 * i + 3)], this.model.get("normalise"));
      return signed(numbers[channel]);
    });
    const names = C === 3 ? ["red", "green", "blue"] : ["grey"];
    return [
      ["Its pixels", `x[:, ${row * P}:${(row + 1) * P}, ${column * P}:${(column + 1) * P}]`],
      ["Its row of x_p", `${P * P * C} numbers: row ${patch} of ${this.sizes.N}`],
      ...names.map((name, c) => [`${name}, from ${c * P * P}`, `${first(c).join("  ")} …`]),
    ];
  }

  drawPosition(token, { patch, row, column }) {
    const { N, columns } = this.sizes;
    const top = this.model.get("top");
    const row_ = cosines(new Uint8Array(bytesOf(this.model.get("codes"))), patch, N, top);
    const others = row_.map((c) => (Number.isNaN(c) ? 0 : c));
    const tables = colourTables(new Uint8Array(bytesOf(this.model.get("tables"))), isDark() ? "dark" : "light");
    show(this.shown.canvas, paintSigned(others, top, tables.signed), this.sizes);
    mark(this.shown.asked, token, this.sizes);
    const step = top / 254;
    const ranked = [...others.keys()].filter((n) => n !== patch).sort((i, j) => others[j] - others[i]).slice(0, 3);
    const mean = (keep) => {
      const kept = [...others].filter((_, n) => n !== patch && keep(n));
      return kept.length ? signed(kept.reduce((a, b) => a + b, 0) / kept.length, 2) : "none";
    };
    this.chooser.caption.textContent = "Choose a place";
    this.shown.caption.textContent =
      `Cosine with every other place, from ${figure(-top, step)} to ${figure(top, step)}; with itself it is 1 and left uncoloured`;
    this.shown.frame.ariaLabel = `Map of cosines of place ${patch} with every other place.`;
    return [
      ["Most alike", ranked.map((n) => `${describe(n + 1, columns)}: ${figure(others[n], step)}`).join("; ")],
      ["On average", `its row ${mean((n) => Math.floor(n / columns) === row)}, its column ${mean((n) => n % columns === column)}, ` +
        `all other places ${mean((n) => Math.floor(n / columns) !== row && n % columns !== column)}`],
    ];
  }
}

export default {
  render({ model, el }) {
    const picker = new Picker(model, el);
    return () => (picker.stop.abort(), clearTimeout(picker.speaking));
  },
};
