// The attention explorer's view: pure functions first (numbers, colours, words), then where maps come from, then the page.
// Layers and heads count from 1, tokens from 0 = [class], patch p is token p + 1.  The byte layout is packing.py's.

// ---------------------------------------------------------------- numbers

const LEVELS = 255;

/** A layer's maps as packing.py stores them: `maps` squares over N + 1 tokens, the mean over heads first (or L rollouts). */
export class Stack {
  constructor(buffer, maps, N) {
    const tokens = N + 1;
    const expected = 4 * maps * (4 * tokens + N) + maps * tokens * N;
    if (buffer.byteLength !== expected) throw new Error(`expected ${expected} bytes, got ${buffer.byteLength}`);
    let at = 0;
    const table = (length) => {
      const part = new Float32Array(buffer, at, length);
      at += 4 * length;
      return part;
    };
    Object.assign(this, { maps, N, tokens, bytes: buffer.byteLength });
    this.rowSums = table(maps * tokens);
    this.columnSums = table(maps * tokens);
    this.toClass = table(maps * tokens);
    this.rowTops = table(maps * tokens);
    this.columnTops = table(maps * N);
    this.codes = new Uint8Array(buffer, at);
  }

  /** What `query` reads: {patches (N numbers), toClass, sum, top, step}. step: the largest error of a stored weight. */
  row(map, query) {
    const at = map * this.tokens + query;
    const top = this.rowTops[at];
    const patches = new Float64Array(this.N);
    for (let j = 0; j < this.N; j++) {
      const unit = query === 0 ? top : Math.min(top, this.columnTops[map * this.N + j]);
      patches[j] = (this.codes[at * this.N + j] / LEVELS) * unit;
    }
    return { patches, toClass: this.toClass[at], sum: this.rowSums[at], top, step: top / (2 * LEVELS) };
  }

  /** Who reads `token`: the same fields, patch i's number being what patch i gives `token`, toClass what [class] gives. */
  column(map, token) {
    const patches = new Float64Array(this.N);
    const sum = this.columnSums[map * this.tokens + token];
    if (token === 0) {
      for (let i = 0; i < this.N; i++) patches[i] = this.toClass[map * this.tokens + i + 1];
      return { patches, toClass: this.toClass[map * this.tokens], sum, top: largest(patches), step: 0 };
    }
    const top = this.columnTops[map * this.N + token - 1];
    const weight = (i, unit) => (this.codes[(map * this.tokens + i) * this.N + token - 1] / LEVELS) * unit;
    for (let i = 0; i < this.N; i++) {
      patches[i] = weight(i + 1, Math.min(this.rowTops[map * this.tokens + i + 1], top));
    }
    const toClass = weight(0, this.rowTops[map * this.tokens]);
    return { patches, toClass, sum, top, step: top / (2 * LEVELS) };
  }

  read(map, token, reverse) {
    return reverse ? this.column(map, token) : this.row(map, token);
  }

  /** The largest weight on a patch in one map, for one token or (token undefined) for any. */
  top(map, reverse, token) {
    const tops = reverse ? this.columnTops : this.rowTops;
    const width = reverse ? this.N : this.tokens;
    if (reverse && token === 0) return this.column(map, 0).top;
    if (token !== undefined) return tops[map * width + token - (reverse ? 1 : 0)];
    return largest(tops.subarray(map * width, (map + 1) * width));
  }
}

/** Only one query's rows of a layer, as `rows_bytes` writes them: the page's first map, there before anything is loaded. */
export class Rows {
  constructor(buffer, maps, N, query) {
    Object.assign(this, { maps, N, query });
    this.rowSums = new Float32Array(buffer, 0, maps);
    this.toClass = new Float32Array(buffer, 4 * maps, maps);
    this.rowTops = new Float32Array(buffer, 8 * maps, maps);
    this.codes = new Uint8Array(buffer, 12 * maps);
  }

  holds(query, reverse, everyQuery) {
    return query === this.query && !reverse && !everyQuery;
  }

  read(map) {
    const top = this.rowTops[map];
    const patches = Float64Array.from(this.codes.subarray(map * this.N, (map + 1) * this.N), (c) => (c / LEVELS) * top);
    return { patches, toClass: this.toClass[map], sum: this.rowSums[map], top, step: top / (2 * LEVELS) };
  }

  top(map) {
    return this.rowTops[map];
  }
}

export function largest(numbers) {
  let top = 0;
  for (const n of numbers) if (n > top) top = n;
  return top;
}

/** a - b, field by field; moved: the share of all weight that would have to move to turn one into the other. */
export function difference(a, b) {
  const patches = a.patches.map((w, i) => w - b.patches[i]);
  const toClass = a.toClass - b.toClass;
  const moved = (patches.reduce((total, d) => total + Math.abs(d), 0) + Math.abs(toClass)) / 2;
  return { patches, toClass, sum: a.sum - b.sum, top: largest(patches.map(Math.abs)), step: a.step + b.step, moved };
}

/** Index of the number that is largest in size. */
export function peak(numbers) {
  let at = 0;
  for (let i = 1; i < numbers.length; i++) if (Math.abs(numbers[i]) > Math.abs(numbers[at])) at = i;
  return at;
}

export const clamp = (value, low, high) => Math.min(Math.max(Math.round(value) || low, low), high);

/** Which square of which stack shows a choice; layer 0 is the stack of rollouts. show: 0 a head, 1 the mean, 2 rollout. */
export function square({ show, layer, head }) {
  if (show === 2) return { layer: 0, map: layer - 1 };
  return { layer, map: show === 1 ? 0 : head };
}

// ---------------------------------------------------------------- colours

/** Weights -> RGBA bytes on a scale from 0 to top. table: 256 colours, three bytes each. */
export function paint(weights, top, table) {
  const rgba = new Uint8ClampedArray(4 * weights.length);
  weights.forEach((w, i) => put(rgba, i, table, top > 0 ? Math.round((w * 255) / top) : 0));
  return rgba;
}

/** Numbers -> RGBA bytes on a scale from -top to top. table: 255 colours, zero in the middle. */
export function paintSigned(numbers, top, table) {
  const rgba = new Uint8ClampedArray(4 * numbers.length);
  numbers.forEach((d, i) => put(rgba, i, table, 127 + (top > 0 ? Math.round((d * 127) / top) : 0)));
  return rgba;
}

function put(rgba, i, table, step) {
  rgba.set(table.subarray(3 * step, 3 * step + 3), 4 * i);
  rgba[4 * i + 3] = 255;
}

// ---------------------------------------------------------------- words

export function place(token, columns) {
  const patch = token - 1;
  return { patch, row: Math.floor(patch / columns), column: patch % columns };
}

export function describe(token, columns) {
  if (token === 0) return "[class]";
  const { patch, row, column } = place(token, columns);
  return `patch ${patch} (row ${row}, column ${column})`;
}

/** A weight with no more digits than are true: step is the largest error of the stored number. */
export function figure(weight, step) {
  const digits = step > 0 ? Math.min(Math.max(Math.floor(-Math.log10(step)), 2), 9) : 4;
  return weight.toFixed(digits).replace("-", "−");
}

export function scaleWords({ scale, show, reverse }, sizes) {
  const peers = show === 2 ? `the rollouts of all ${sizes.L} layers` : `all ${sizes.heads} heads of this layer`;
  const single = show === 2 ? sizes.L === 1 : sizes.heads === 1;
  if (scale === 2) return "this map’s own scale: not comparable with other maps";
  if (scale === 1) return `one scale for ${single ? "" : `${peers} and `}every ${reverse ? "token read" : "query"}`;
  return single ? "the scale of this map" : `one scale for ${peers}`;
}

/** "#picture=chelsea&layer=10&head=5&query=cls" -> what it asks for, or null where it isn't about an explorer. */
export function parseLink(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const known = ["picture", "layer", "head", "query", "show", "direction", "scale"];
  if (!known.some((key) => asked.has(key))) return null;
  const out = { explorer: asked.get("explorer") ?? "" };
  for (const key of known) if (asked.has(key)) out[key] = asked.get(key);
  if (/^(cls|class|\[class\])$/i.test(out.query ?? "")) out.query = "0";
  return out;
}

const SHOWS = ["head", "mean", "rollout"];
const DIRECTIONS = ["reads", "read by"];
const SCALES = ["heads", "layer", "map"];

// ---------------------------------------------------------------- where maps come from

const CACHE_BYTES = 64e6;

/** One for all explorers of a page: a promise for each stack, and the decoded ones in the order in which they were used. */
function sharedAtlas() {
  window.vitbookAtlas ??= {
    stacks: new Map(), // key -> {promise, stack}
    parts: new Map(), // key -> the base64 parts that arrived
    take(key, part, count, text) {
      const parts = this.parts.get(key) ?? this.parts.set(key, { count, texts: [] }).get(key);
      parts.count = count;
      parts.texts[part] = text;
    },
  };
  return window.vitbookAtlas;
}

/** The folder of static files, seen from this page, or null where no built book is around (JupyterLab). */
function staticFolder() {
  const root = document.documentElement.dataset.content_root;
  return root === undefined ? null : `${root}_static/attn/`;
}

function loadScript(url) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: url, async: true });
    script.onload = () => resolve(script.remove());
    script.onerror = () => {
      script.remove();
      reject(new Error(`${url.split("/").slice(-3).join("/")} is not among the book’s files. Build the book again: make book.`));
    };
    document.head.append(script);
  });
}

async function fromScripts(folder, key) {
  const atlas = sharedAtlas();
  await loadScript(`${folder}${key}.js`);
  const parts = atlas.parts.get(key);
  if (!parts) throw new Error(`${key}.js was loaded but holds no maps; it is damaged. Build the book again: make book.`);
  await Promise.all(Array.from({ length: parts.count - 1 }, (_, i) => loadScript(`${folder}${key}-${i + 1}.js`)));
  atlas.parts.delete(key);
  const packed = Uint8Array.from(atob(parts.texts.join("")), (c) => c.charCodeAt(0));
  return unzip(packed);
}

function unzip(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Asks the kernel for bytes under a name; one listener and one open question a name. */
function kernelLine(model, signal) {
  const waiting = new Map();
  const hear = (message, buffers) => {
    const question = waiting.get(message.for);
    if (!question) return;
    waiting.delete(message.for);
    if (message.error) question.reject(new Error(message.error));
    else question.resolve(buffers[0]);
  };
  model.on("msg:custom", hear);
  signal.addEventListener("abort", () => model.off("msg:custom", hear));
  return (want) =>
    new Promise((resolve, reject) => {
      waiting.set(want, { resolve, reject });
      model.send({ want });
    });
}

function evict(stacks) {
  let held = 0;
  for (const { stack } of stacks.values()) held += stack?.bytes ?? 0;
  for (const [key, { stack }] of stacks) {
    if (held <= CACHE_BYTES) return;
    if (stack) {
      stacks.delete(key);
      held -= stack.bytes;
    }
  }
}

/** {ready(key): the stack or null, load(key, maps, N): promise, picture(card): promise of an address for <img>} */
function source(model, signal) {
  const folder = staticFolder();
  const stacks = folder === null ? new Map() : sharedAtlas().stacks; // a kernel's answers die with the view that asked
  const ask = kernelLine(model, signal);
  const photos = new Map();
  return {
    folder,
    ready(key) {
      const entry = stacks.get(key);
      if (!entry?.stack) return null;
      stacks.delete(key); // to the end of the queue: used last, evicted last
      stacks.set(key, entry);
      return entry.stack;
    },
    load(key, maps, N) {
      let entry = stacks.get(key);
      if (!entry) {
        entry = { stack: null };
        const bytes = folder === null ? ask(key).then((b) => unzip(b)) : fromScripts(folder, key);
        entry.promise = bytes.then(
          (buffer) => {
            entry.stack = new Stack(buffer, maps, N);
            evict(stacks);
            return entry.stack;
          },
          (error) => {
            stacks.delete(key); // the next wish tries again
            throw error;
          },
        );
        stacks.set(key, entry);
      }
      return entry.promise;
    },
    photo(fingerprint, key) {
      const wish = `${fingerprint}/${key}/picture.webp`;
      if (folder !== null) return Promise.resolve(folder + wish);
      if (!photos.has(wish)) {
        const url = ask(wish).then((b) => URL.createObjectURL(new Blob([b], { type: "image/webp" })));
        url.catch(() => photos.delete(wish));
        photos.set(wish, url);
      }
      return photos.get(wish);
    },
    close() {
      for (const url of photos.values()) url.then(URL.revokeObjectURL, () => {});
    },
  };
}

// ---------------------------------------------------------------- the page

function h(tag, { class: name, ...props } = {}, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const bytesOf = (view) => view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
const isDark = () =>
  document.documentElement.dataset.theme === "dark" ||
  document.body.dataset.jpThemeLight === "false" ||
  document.body.classList.contains("vscode-dark");

/** A grid of maps' cells: a canvas of one pixel a patch, and frames that mark a patch. */
function panel(kind, hint) {
  const image = h("img", { alt: "", draggable: false });
  const canvas = h("canvas", { class: "vbx-cells", "aria-hidden": "true" });
  const asked = h("div", { class: "vbx-mark vbx-asked" });
  const pointed = h("div", { class: "vbx-mark vbx-pointed" });
  const seen = h("div", { class: "vbx-seen" }, canvas, asked, pointed);
  const frame = h("div", { class: `vbx-frame vbx-${kind}`, tabIndex: 0, role: "application", title: hint }, image, seen);
  const star = h("button", { class: "vbx-star", type: "button" }, "★");
  const note = h("span", { class: "vbx-note" });
  const caption = h("figcaption");
  const element = h("figure", { class: "vbx-panel" }, h("div", { class: "vbx-head" }, star, note), frame, caption);
  return { element, frame, image, seen, canvas, asked, pointed, star, note, caption };
}

function mark(element, token, sizes) {
  element.hidden = !token;
  if (!token) return;
  const { row, column } = place(token, sizes.columns);
  element.style.left = `${(100 * column) / sizes.columns}%`;
  element.style.top = `${(100 * row) / sizes.rows}%`;
  element.style.width = `${100 / sizes.columns}%`;
  element.style.height = `${100 / sizes.rows}%`;
}

function show(canvas, rgba, sizes) {
  if (canvas.width !== sizes.columns || canvas.height !== sizes.rows) {
    canvas.width = sizes.columns;
    canvas.height = sizes.rows;
  }
  canvas.getContext("2d").putImageData(new ImageData(rgba, sizes.columns, sizes.rows), 0, 0);
}

/** The token under a pointer, or null where the model saw nothing. */
function tokenAt(event, seen, sizes) {
  const box = seen.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * sizes.columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * sizes.rows);
  const inside = row >= 0 && column >= 0 && row < sizes.rows && column < sizes.columns;
  return inside ? row * sizes.columns + column + 1 : null;
}

/** Where an arrow key leads from a token; up from the top row is [class], and down from [class] the first patch. */
function step(token, key, { rows, columns, N }) {
  if (key === "c" || key === "0") return 0;
  if (token === 0) return ["ArrowDown", "ArrowRight", "Home"].includes(key) ? 1 : key === "End" ? N : null;
  const { row, column } = place(token, columns);
  const at = (r, c) => Math.min(Math.max(r, 0), rows - 1) * columns + Math.min(Math.max(c, 0), columns - 1) + 1;
  switch (key) {
    case "ArrowLeft": return at(row, column - 1);
    case "ArrowRight": return at(row, column + 1);
    case "ArrowUp": return row === 0 ? 0 : at(row - 1, column);
    case "ArrowDown": return at(row + 1, column);
    case "Home": return at(row, 0);
    case "End": return at(row, columns - 1);
    default: return null;
  }
}

class View {
  constructor(model, el) {
    this.model = model;
    this.stop = new AbortController();
    this.source = source(model, this.stop.signal);
    this.pointed = null; // token under the pointer or the reading cursor; belongs to this view, not to the model
    this.layersOpen = false;
    this.drawn = false;
    this.build(el);
    this.listen();
    this.fit();
    this.followLink();
    this.draw();
    this.dressControls();
  }

  get(key) {
    return this.model.get(key);
  }

  set(changes) {
    for (const [key, value] of Object.entries(changes)) this.model.set(key, value);
    this.model.save_changes();
  }

  get sizes() {
    const sizes = this.get("sizes");
    return { ...sizes, N: sizes.rows * sizes.columns };
  }

  get choice() {
    const keys = ["picture", "layer", "head", "query", "show", "scale"];
    return { ...Object.fromEntries(keys.map((key) => [key, this.get(key)])), reverse: this.get("direction") === 1 };
  }

  /** The pinned choice with today's query and direction, or null. */
  get pinned() {
    const against = this.get("against");
    return "layer" in against ? { ...this.choice, ...against } : null;
  }

  // ---- building

  build(el) {
    this.photo = panel("photo", "Click a patch to read from it; arrow keys move, c is [class]");
    this.other = panel("photo", "The map that you compare with");
    this.grid = panel("grid", "Point at a patch to see its weight; arrow keys move the pointer, Enter reads from it");
    this.other.frame.tabIndex = -1;
    this.other.star.remove(); // the query is chosen on the left, for both
    this.title = h("p", { class: "vbx-title" });
    this.stage = h("div", { class: "vbx-stage" }, this.photo.element, this.other.element, this.grid.element);
    this.barCanvas = h("canvas", { class: "vbx-ramp", width: 256, height: 1, "aria-hidden": "true" });
    this.barTicks = h("div", { class: "vbx-ticks", "aria-hidden": "true" });
    this.barWords = h("p", { class: "vbx-barwords" });
    this.bar = h("div", { class: "vbx-bar" }, h("div", { class: "vbx-ramps" }, this.barCanvas, this.barTicks), this.barWords);
    this.share = h("span", { class: "vbx-share", "aria-hidden": "true" }, h("span"));
    this.facts = h("dl", { class: "vbx-facts" });
    this.heads = h("div", { class: "vbx-strip", role: "group" });
    this.layers = h("div", { class: "vbx-strip", role: "group", hidden: true });
    this.headsWords = h("p", { class: "vbx-stripwords" });
    this.layersWords = h("p", { class: "vbx-stripwords", hidden: true });
    this.compare = h("button", { type: "button", class: "vbx-button" });
    this.link = h("button", { type: "button", class: "vbx-button vbx-link", onclick: () => this.copyLink() }, "Copy a link to this map");
    this.openLayers = h("button", { type: "button", class: "vbx-button", "aria-expanded": "false" });
    this.tools = h("div", { class: "vbx-tools" }, this.openLayers, this.compare, this.link);
    this.table = h("details", { class: "vbx-table" }, h("summary", {}, "Every weight of this map as a table"));
    this.problem = h("p", { class: "vbx-problem", role: "alert", hidden: true });
    this.status = h("p", { class: "vbx-status", role: "status", hidden: true });
    this.live = h("p", { class: "vbx-live", "aria-live": "polite" });
    this.el = h(
      "div", { class: "vbx-view" }, this.problem, this.status, this.title, this.stage, this.bar, this.facts, this.headsWords,
      this.heads, this.layersWords, this.layers, this.tools, this.table, this.live,
    );
    el.append(this.el);
  }

  listen() {
    const { signal } = this.stop;
    const on = (target, type, act) => target.addEventListener(type, act, { signal });
    const redraw = () => this.drawSoon();
    for (const key of ["picture", "layer", "head", "query", "show", "direction", "scale", "against", "opacity", "smooth"]) {
      this.model.on(`change:${key}`, redraw);
      signal.addEventListener("abort", () => this.model.off(`change:${key}`, redraw));
    }
    const refit = () => (this.fit(), this.drawSoon());
    for (const key of ["sizes", "pictures", "fingerprint", "status", "problem"]) {
      this.model.on(`change:${key}`, refit);
      signal.addEventListener("abort", () => this.model.off(`change:${key}`, refit));
    }

    const choose = (token) => token !== null && this.set({ query: token });
    const point = (token) => this.point(token);
    on(this.photo.frame, "click", (e) => choose(tokenAt(e, this.photo.seen, this.sizes)));
    on(this.photo.frame, "keydown", (e) => this.key(e, this.get("query"), choose));
    on(this.photo.star, "click", () => choose(0));
    on(this.grid.frame, "click", (e) => point(tokenAt(e, this.grid.seen, this.sizes)));
    on(this.grid.frame, "keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") return e.preventDefault(), this.pointed !== null && choose(this.pointed);
      if (e.key === "Escape") return point(null);
      this.key(e, this.pointed ?? this.get("query"), point);
    });
    on(this.grid.star, "click", () => point(0));
    for (const { frame, seen } of [this.photo, this.other, this.grid]) {
      on(frame, "pointermove", (e) => e.pointerType !== "touch" && point(tokenAt(e, seen, this.sizes)));
      on(frame, "pointerleave", (e) => e.pointerType !== "touch" && point(null));
    }
    on(this.compare, "click", () => this.pin());
    on(this.openLayers, "click", () => {
      this.layersOpen = !this.layersOpen;
      this.draw();
    });
    on(this.table, "toggle", redraw);
    on(window, "hashchange", () => this.followLink());
    // What a reader is about to need: the layer's other queries, once the explorer is touched and not before.
    for (const type of ["pointerenter", "focusin"]) on(this.el, type, () => this.fetchLayer());
    const theme = new MutationObserver(redraw);
    for (const target of [document.documentElement, document.body]) {
      theme.observe(target, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
    }
    signal.addEventListener("abort", () => theme.disconnect());
  }

  key(event, from, act) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = step(from, event.key, this.sizes);
    if (to === null) return;
    event.preventDefault();
    act(to);
  }

  /** No choice is ever out of range, whatever the checkpoint, the link or the kernel asked for. */
  fit() {
    const { L, heads, N } = this.sizes;
    const limits = {
      picture: [0, this.get("pictures").length - 1], layer: [1, L], head: [1, heads], query: [0, N],
      show: [0, 2], direction: [0, 1], scale: [0, 2],
    };
    const changes = {};
    for (const [key, [low, high]] of Object.entries(limits)) {
      const value = clamp(this.get(key), low, high);
      if (value !== this.get(key)) changes[key] = value;
    }
    const { picture, layer, head } = this.get("against");
    if (picture >= this.get("pictures").length || layer > L || head > heads) changes.against = {};
    if (Object.keys(changes).length) this.set(changes);
    this.table.replaceChildren(this.table.firstChild);
  }

  followLink() {
    const asked = this.source.folder === null ? null : parseLink(location.hash);
    if (!asked || asked.explorer !== this.get("name")) return;
    const index = { show: SHOWS, direction: DIRECTIONS, scale: SCALES };
    const changes = {};
    const name = this.get("pictures").findIndex((card) => card.name === asked.picture);
    if (name >= 0) changes.picture = name;
    for (const key of ["layer", "head", "query"]) if (/^\d+$/.test(asked[key] ?? "")) changes[key] = Number(asked[key]);
    for (const [key, names] of Object.entries(index)) if (names.includes(asked[key])) changes[key] = names.indexOf(asked[key]);
    this.set(changes);
    this.fit();
    const scroll = () => this.el.closest(".vbx-explorer")?.scrollIntoView({ block: "start" });
    requestAnimationFrame(scroll);
  }

  async copyLink() {
    const { picture, layer, head, query, show, scale, reverse } = this.choice;
    const words = { picture: this.get("pictures")[picture].name, layer, head, query: query === 0 ? "cls" : query };
    if (show) words.show = SHOWS[show];
    if (reverse) words.direction = DIRECTIONS[1];
    if (scale) words.scale = SCALES[scale];
    if (this.get("name")) words.explorer = this.get("name");
    const url = `${location.href.replace(/#.*/, "")}#${new URLSearchParams(words)}`;
    history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      this.say("The link is on the clipboard and in the address bar.");
    } catch {
      this.say("The link is in the address bar.");
    }
  }

  pin() {
    const { picture, layer, head, show } = this.choice;
    this.set({ against: this.pinned ? {} : { picture, layer, head, show } });
  }

  // ---- drawing

  stackKey(choice) {
    return `${this.get("fingerprint")}/${this.get("pictures")[choice.picture].key}/${square(choice).layer}`;
  }

  load(choice) {
    const { L, heads, N } = this.sizes;
    return this.source.load(this.stackKey(choice), square(choice).layer === 0 ? L : heads + 1, N);
  }

  /** The stack of a choice if its numbers are here; the page's own rows will do where they hold what is asked. */
  have(choice) {
    const stack = this.source.ready(this.stackKey(choice));
    if (stack) return stack;
    const first = this.get("first");
    if (first.key !== this.stackKey(choice)) return null;
    this.rows ??= new Rows(bytesOf(this.get("first_rows")), this.sizes.heads + 1, this.sizes.N, first.query);
    return this.rows.holds(choice.query, choice.reverse, choice.scale === 1) ? this.rows : null;
  }

  fetchLayer() {
    if (!this.source.ready(this.stackKey(this.choice))) this.load(this.choice).catch(() => {});
  }

  /** One drawing for all changes of a moment, before the browser paints. */
  drawSoon() {
    if (this.queued) return;
    this.queued = true;
    queueMicrotask(() => {
      this.queued = false;
      if (!this.stop.signal.aborted) this.draw();
    });
  }

  /** Draw now if every number is here, else ask for what is not and draw when it arrives. */
  draw() {
    const wanted = [this.choice, this.pinned].filter(Boolean);
    const missing = wanted.filter((choice) => !this.have(choice));
    if (missing.length === 0) this.failure = null;
    this.showPictures();
    this.tellState(missing.length > 0);
    if (missing.length === 0) return this.drawMaps(...wanted);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const again = () => turn === this.turn && !this.stop.signal.aborted && this.draw();
    Promise.all(missing.map((choice) => this.load(choice))).then(again, (error) => {
      if (turn !== this.turn) return;
      this.failure = error.message;
      this.tellState(false);
    });
  }

  tellState(waiting) {
    this.el.classList.toggle("vbx-waiting", waiting);
    clearTimeout(this.late);
    const tell = (element, text) => {
      element.hidden = !text;
      if (element.textContent !== text) element.textContent = text;
    };
    tell(this.problem, this.get("problem") || (waiting ? "" : this.failure) || "");
    tell(this.status, this.get("status"));
    if (!waiting) return;
    const patience = [[400, "The map is on its way …"]];
    if (this.source.folder === null) {
      patience.push([10000, "The kernel has not answered yet. It may be busy; if it was restarted, run this cell again."]);
    }
    const [[soon, words], later] = patience;
    this.late = setTimeout(() => {
      tell(this.status, words);
      if (later) this.late = setTimeout(() => tell(this.status, later[1]), later[0]);
    }, soon);
  }

  drawMaps(choice, pinned) {
    const { sizes } = this;
    const theme = isDark() ? "dark" : "light";
    if (this.theme !== theme) this.tables = colourTables(new Uint8Array(bytesOf(this.get("tables"))), theme);
    this.theme = theme;
    const stack = this.have(choice);
    const map = stack.read(square(choice).map, choice.query, choice.reverse);
    const against = pinned && this.have(pinned).read(square(pinned).map, pinned.query, pinned.reverse);
    const top = Math.max(this.top(choice, map), against ? this.top(pinned, against) : 0);
    this.map = against ? difference(map, against) : map;

    show(this.photo.canvas, paint(map.patches, top, this.tables.overlay), sizes);
    this.other.element.hidden = !against;
    if (against) show(this.other.canvas, paint(against.patches, top, this.tables.overlay), sizes);
    const cells = against
      ? paintSigned(this.map.patches, this.map.top, this.tables.signed)
      : paint(map.patches, top, this.tables.weights);
    show(this.grid.canvas, cells, sizes);
    this.el.classList.toggle("vbx-comparing", Boolean(against));
    this.el.classList.toggle("vbx-smooth", this.get("smooth"));
    this.el.style.setProperty("--vb-opacity", this.get("opacity"));

    for (const { asked } of [this.photo, this.other, this.grid]) mark(asked, choice.query, sizes);
    this.photo.star.classList.toggle("vbx-chosen", choice.query === 0);
    this.scale = { top: against ? this.map.top : top, signed: Boolean(against) };
    this.drawWords(choice, pinned, map, against);
    this.drawBar(choice);
    this.drawHeads(choice, stack, top);
    this.drawLayers(choice);
    this.drawTable();
    this.drawPointed();
    this.announce();
    if (!this.drawn) this.firstDraw();
  }

  /** The top of the colour scale: shared by the heads of a layer (or by the rollouts), unless the reader asks otherwise. */
  top(choice, map) {
    if (choice.scale === 2) return map.top;
    const stack = this.have(choice);
    const peers = choice.show === 2 ? [...Array(stack.maps).keys()] : [...Array(stack.maps - 1).keys()].map((h) => h + 1);
    const token = choice.scale === 1 ? undefined : choice.query;
    return Math.max(map.top, ...peers.map((peer) => stack.top(peer, choice.reverse, token)));
  }

  showPictures() {
    const set = ({ image, seen, frame, element }, index) => {
      const card = this.get("pictures")[index];
      const [left, top, right, bottom] = card.box;
      Object.assign(seen.style, {
        left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * (right - left)}%`, height: `${100 * (bottom - top)}%`,
      });
      frame.style.setProperty("--vb-aspect", card.width / card.height);
      element.classList.toggle("vbx-cropped", left > 0 || top > 0 || right < 1 || bottom < 1);
      image.alt = card.alt;
      this.source.photo(this.get("fingerprint"), card.key).then(
        (url) => image.getAttribute("src") !== url && (image.src = url),
        (error) => ((this.failure = error.message), this.tellState(false)),
      );
    };
    set(this.photo, this.get("picture"));
    const { pinned } = this;
    if (pinned) set(this.other, pinned.picture);
    const grid = this.sizes.columns / this.sizes.rows;
    this.grid.frame.style.setProperty("--vb-aspect", grid);
    const cards = [this.choice, pinned].filter(Boolean).map(({ picture }) => this.get("pictures")[picture]);
    // As wide as their shapes ask, so that all panels are about equally high.
    const shares = [...cards.map(({ width, height }) => width / height), grid].map((a) => Math.min(Math.max(a, 0.7), 1.7));
    this.stage.style.setProperty("--vb-columns", shares.map((share) => `minmax(0, ${share}fr)`).join(" "));
  }

  mapName({ show, layer, head }) {
    if (show === 2) return `Rollout up to layer ${layer}`;
    return show === 1 ? `Layer ${layer}, mean of ${this.sizes.heads} heads` : `Layer ${layer}, head ${head}`;
  }

  drawWords(choice, pinned, map, against) {
    const { sizes } = this;
    const token = describe(choice.query, sizes.columns);
    const title = this.get("pictures")[choice.picture].title;
    const does = choice.reverse ? `who reads ${token}` : `what ${token} reads`;
    this.title.textContent = `${this.mapName(choice)}: ${does}`;
    this.photo.note.textContent = choice.query === 0 ? "[class] asks" : token;
    if (choice.reverse) this.photo.note.textContent = `${token} is read`;
    this.photo.caption.textContent = against ? `A: ${title}, ${this.mapName(choice).toLowerCase()}` : title;
    this.photo.star.title = this.photo.star.ariaLabel = "Read from [class], token 0";
    this.photo.star.ariaPressed = String(choice.query === 0);
    this.photo.frame.ariaLabel =
      `${title}. ${choice.reverse ? "Token that is read" : "Query"}: ${token}. Arrow keys choose another patch, c chooses [class].`;
    if (against) {
      this.other.note.textContent = "compared with";
      this.other.caption.textContent = `B: ${this.get("pictures")[pinned.picture].title}, ${this.mapName(pinned).toLowerCase()}`;
      this.other.frame.ariaLabel = this.other.caption.textContent;
    }
    const of = choice.reverse ? "from" : "to";
    const weight = figure(this.map.toClass, against || (choice.reverse && choice.query) ? this.map.step : 0);
    this.grid.note.replaceChildren(h("b", {}, weight), against ? "" : ` ${of} [class]`);
    this.grid.star.title = this.grid.star.ariaLabel = "Point at [class]";
    this.grid.caption.textContent = against ? "A − B, patch by patch" : `The ${sizes.rows} × ${sizes.columns} weights, bare`;
    this.grid.frame.ariaLabel = `${sizes.rows} by ${sizes.columns} weights. Arrow keys point at a patch, Enter reads from it.`;
    this.compare.textContent = pinned ? "Stop comparing" : "Compare: keep this map and choose another";
    this.compare.ariaPressed = String(Boolean(pinned));

    const { toClass, patches, step: error } = this.map;
    const most = peak(patches);
    const even = 1 / (sizes.N + 1);
    const patchSum = this.map.sum - toClass;
    const facts = [];
    if (against) {
      facts.push(["Largest difference", `${figure(patches[most], error)} at ${describe(most + 1, sizes.columns)}`]);
      facts.push(["Difference on [class]", figure(toClass, Math.max(error, 5e-5))]);
      if (!choice.reverse) facts.push(["Weight that moves", `${(100 * this.map.moved).toFixed(1)} % of each row`]);
    } else {
      facts.push([choice.reverse ? "Read most by" : "Reads most", `${describe(most + 1, sizes.columns)}, ${figure(patches[most], error)}`]);
      const sum = `${sizes.N} patches ${patchSum.toFixed(4)} = ${this.map.sum.toFixed(6)}`;
      const end = choice.reverse ? " (columns need not sum to 1)" : this.share;
      this.share.firstChild.style.width = `${100 * Math.min(toClass / (this.map.sum || 1), 1)}%`;
      facts.push([choice.reverse ? "Column sum" : "Row sum", h("b", {}, `[class] ${toClass.toFixed(4)}`), ` + ${sum}`, end]);
      if (!choice.reverse) facts.push(["Spread evenly", `1/${sizes.N + 1} = ${even.toFixed(4)} each`]);
    }
    this.pointedFact = h("dd", {});
    const pairs = facts.map(([name, ...words]) => [h("dt", {}, name), h("dd", {}, ...words)]);
    pairs.push([h("dt", {}, "Pointed at"), this.pointedFact]);
    this.facts.replaceChildren(...pairs.map((pair) => h("div", {}, ...pair)));
  }

  drawBar(choice) {
    const { top, signed } = this.scale;
    const rgba = signed
      ? paintSigned(Float64Array.from({ length: 255 }, (_, i) => i - 127), 127, this.tables.signed)
      : paint(Float64Array.from({ length: 256 }, (_, i) => i), 255, this.tables.weights);
    show(this.barCanvas, rgba, { columns: rgba.length / 4, rows: 1 });
    const even = 1 / (this.sizes.N + 1);
    const tick = (share, text, kind) => h("span", { class: `vbx-tick vbx-${kind}`, style: `left:${100 * share}%` }, text);
    const ends = signed
      ? [tick(0, figure(-top, this.map.step), "low"), tick(0.5, "0", "mid"), tick(1, figure(top, this.map.step), "high")]
      : [tick(0, "0", "low"), tick(1, figure(top, this.map.step || top / 510), "high")];
    const share = even / top;
    if (!signed && !choice.reverse && share > 0.1 && share < 0.78) ends.push(tick(share, "even", "mid"));
    this.needle = h("span", { class: "vbx-needle", hidden: true });
    this.barTicks.replaceChildren(...ends, this.needle);
    const words = scaleWords(choice, this.sizes);
    const smooth = this.get("smooth") ? "; smoothed, the colours between patch centres are invented" : "";
    this.barWords.textContent = signed
      ? `difference of weights, A minus B; the largest size sets both ends${smooth}`
      : `weight on one patch; ${words}${smooth}`;
    this.barWords.classList.toggle("vbx-own-scale", choice.scale === 2 && !signed);
  }

  strip(element, count, build) {
    element.style.setProperty("--vb-count", Math.ceil(count / Math.ceil(count / 8)));
    while (element.children.length > count) element.lastChild.remove();
    while (element.children.length < count) {
      element.append(build(h("canvas", { class: "vbx-cells", "aria-hidden": "true" }), element.children.length));
    }
  }

  drawHeads(choice, stack, top) {
    const { sizes } = this;
    const hidden = choice.show === 2 || sizes.heads === 1;
    this.heads.hidden = this.headsWords.hidden = hidden;
    if (hidden) return;
    this.headsWords.textContent =
      `The heads of layer ${choice.layer}, ` + (choice.scale === 2 ? "each on its own scale" : "on one scale");
    this.heads.ariaLabel = `Heads of layer ${choice.layer}`;
    const pick = (n) => this.set(n === 0 ? { show: 1 } : { show: 0, head: n });
    this.strip(this.heads, sizes.heads + 1, (canvas, n) =>
      h("button", { type: "button", class: "vbx-thumb", onclick: () => pick(n) }, canvas, h("span", {}, n === 0 ? "mean" : `${n}`)));
    for (let n = 0; n <= sizes.heads; n++) {
      const map = stack.read(n, choice.query, choice.reverse);
      const button = this.heads.children[n];
      const own = choice.scale === 2 ? map.top : this.scale.signed ? Math.max(top, map.top) : top;
      show(button.firstChild, paint(map.patches, own, this.tables.weights), sizes);
      button.ariaPressed = String(choice.show === 1 ? n === 0 : n === choice.head);
      const most = peak(map.patches);
      const name = n === 0 ? "Mean of all heads" : `Head ${n}`;
      button.ariaLabel = button.title =
        `${name}: largest weight ${figure(map.top, map.step)} at ${describe(most + 1, sizes.columns)}, ` +
        `[class] ${map.toClass.toFixed(3)}`;
    }
  }

  drawLayers(choice) {
    const { sizes } = this;
    const what = choice.show === 2 ? "the rollout" : choice.show === 1 ? "the mean" : `head ${choice.head}`;
    this.openLayers.hidden = sizes.L === 1;
    this.openLayers.textContent = this.layersOpen ? "Hide the layers" : `All ${sizes.L} layers of ${what} at a glance`;
    this.openLayers.ariaExpanded = String(this.layersOpen);
    this.layers.hidden = this.layersWords.hidden = !this.layersOpen || sizes.L === 1;
    if (this.layers.hidden) return;
    const choices = Array.from({ length: sizes.L }, (_, l) => ({ ...choice, layer: l + 1 }));
    const here = choices.map((c) => this.source.ready(this.stackKey(c)));
    const missing = choices.filter((_, l) => !here[l]);
    if (missing.length) {
      this.layersWords.textContent = `${sizes.L - missing.length} of ${sizes.L} layers are here …`;
      const again = () => this.layersOpen && !this.stop.signal.aborted && this.draw();
      this.load(missing[0]).then(again, (error) => (this.layersWords.textContent = error.message));
      return;
    }
    const maps = choices.map((c, l) => here[l].read(square(c).map, c.query, c.reverse));
    const top = Math.max(...maps.map((map) => map.top));
    this.layersWords.textContent =
      `The layers of ${what}, ` + (choice.scale === 2 ? "each on its own scale" : `on one scale from 0 to ${figure(top, top / 510)}`);
    this.layers.ariaLabel = `Layers of ${what}`;
    this.strip(this.layers, sizes.L, (canvas, n) =>
      h("button", { type: "button", class: "vbx-thumb", onclick: () => this.set({ layer: n + 1 }) }, canvas, h("span", {}, `${n + 1}`)));
    maps.forEach((map, l) => {
      const button = this.layers.children[l];
      show(button.firstChild, paint(map.patches, choice.scale === 2 ? map.top : top, this.tables.weights), sizes);
      button.ariaPressed = String(choice.layer === l + 1);
      button.ariaLabel = button.title = `Layer ${l + 1}: largest weight ${figure(map.top, map.step)}, [class] ${map.toClass.toFixed(3)}`;
    });
  }

  drawTable() {
    if (!this.table.open) return;
    const { rows, columns } = this.sizes;
    let body = this.table.querySelector("tbody");
    if (!body) {
      const head = h("tr", {}, h("td"), ...Array.from({ length: columns }, (_, c) => h("th", { scope: "col" }, `${c}`)));
      body = h("tbody");
      for (let r = 0; r < rows; r++) {
        body.append(h("tr", {}, h("th", { scope: "row" }, `${r}`), ...Array.from({ length: columns }, () => h("td"))));
      }
      this.tableWords = h("caption");
      const table = h("table", {}, this.tableWords, h("thead", {}, head), body);
      this.table.append(h("div", { class: "vbx-scroll", tabIndex: 0, role: "region", "aria-label": "Table of weights" }, table));
    }
    const { patches, toClass, step: error } = this.map;
    this.tableWords.textContent =
      `${this.title.textContent}. Rows and columns of the grid, counted from 0. [class]: ${toClass.toFixed(4)}. ` +
      (error ? `Stored numbers are off by at most ${error.toExponential(0)}.` : "");
    patches.forEach((w, i) => (body.rows[Math.floor(i / columns)].cells[(i % columns) + 1].textContent = figure(w, error || 5e-6)));
  }

  // ---- pointing

  point(token) {
    if (token === this.pointed) return;
    this.pointed = token;
    if (!this.map) return;
    this.drawPointed();
    if (document.activeElement === this.grid.frame) this.announce();
  }

  drawPointed() {
    const { pointed, sizes, map } = this;
    for (const panel of [this.photo, this.other, this.grid]) mark(panel.pointed, pointed, sizes);
    this.grid.star.classList.toggle("vbx-chosen", pointed === 0);
    if (!this.needle) return;
    this.needle.hidden = !pointed;
    if (pointed === null) {
      this.pointedFact.textContent = "nothing; point at a patch, or focus the bare grid and use the arrow keys";
      this.pointedFact.className = "vbx-quiet";
      return;
    }
    this.pointedFact.className = "";
    this.pointedFact.textContent = this.pointedWords();
    if (!pointed) return;
    const share = map.patches[pointed - 1] / (this.scale.top || 1);
    this.needle.style.left = `${100 * (this.scale.signed ? (1 + share) / 2 : share)}%`;
  }

  pointedWords() {
    const { pointed, sizes, map } = this;
    if (pointed === 0) return `token 0 = [class]: ${figure(map.toClass, this.scale.signed ? map.step : 0)}`;
    const { patch, row, column } = place(pointed, sizes.columns);
    const weight = map.patches[pointed - 1];
    const times = this.scale.signed || this.choice.reverse ? "" : `, ${(weight * (sizes.N + 1)).toFixed(2)} times an even share`;
    return `token ${pointed} → patch ${patch} → row ${row}, column ${column}: ${figure(weight, map.step)}${times}`;
  }

  // ---- for screen readers

  /** Says what changed once the changes pause, so that a held key does not flood the listener. */
  announce() {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => {
      const most = peak(this.map.patches);
      const at = describe(most + 1, this.sizes.columns);
      const point = this.pointed === null ? "" : ` ${this.pointedWords()}.`;
      this.say(
        `${this.title.textContent}. [class] ${this.map.toClass.toFixed(3)}. ` +
          `Largest ${figure(this.map.patches[most], this.map.step)} at ${at}.${point}`,
      );
    }, 600);
  }

  say(text) {
    if (this.live.textContent !== text) this.live.textContent = text;
  }

  /** The controls of ipywidgets may come to the page after this view; sliders have no name of their own. */
  dressControls() {
    if (this.stop.signal.aborted) return;
    const root = this.el.closest(".vbx-explorer");
    if (!root) return requestAnimationFrame(() => this.dressControls());
    root.classList.toggle("vbx-has-kernel", this.source.folder === null);
    const dress = () => {
      root.classList.toggle("vbx-more-open", this.get("more"));
      root.querySelector(".vbx-more-button")?.setAttribute("aria-expanded", this.get("more"));
      for (const handle of root.querySelectorAll(".noUi-handle:not([aria-label])")) {
        const words = handle.closest(".widget-slider, .jupyter-widget-slider")?.querySelector("label, .widget-label");
        if (words) handle.setAttribute("aria-label", words.textContent);
      }
    };
    dress();
    const late = new MutationObserver(dress);
    late.observe(root, { childList: true, subtree: true });
    this.model.on("change:more", dress);
    this.stop.signal.addEventListener("abort", () => (late.disconnect(), this.model.off("change:more", dress)));
  }

  firstDraw() {
    this.drawn = true;
    for (const first of document.querySelectorAll(".vbx-first")) if (first.dataset.for === this.get("uid")) first.remove();
    this.el.dataset.drawn = "yes";
  }

  close() {
    this.stop.abort();
    this.source.close();
    clearTimeout(this.late);
    clearTimeout(this.speaking);
  }
}

function colourTables(bytes, theme) {
  const [w, s] = [3 * 256, 3 * 255];
  const at = (start, length) => bytes.subarray(start, start + length);
  const tables = { light: { weights: at(0, w), signed: at(w, s) }, dark: { weights: at(w + s, w), signed: at(2 * w + s, s) } };
  return { ...tables[theme], overlay: tables[theme].weights };
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.close();
  },
};
