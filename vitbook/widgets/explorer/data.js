// Where the explorer's numbers come from: a layer as packing.py stores it, and the way to it from a built page or a kernel.
// Layers and heads count from 1, tokens from 0 = [class], patch p is token p + 1. It needs grid_parts.js.

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

/** a - b, field by field; moved: the share of all weight that would have to move to turn one into the other. */
export function difference(a, b) {
  const patches = a.patches.map((w, i) => w - b.patches[i]);
  const toClass = a.toClass - b.toClass;
  const moved = (patches.reduce((total, d) => total + Math.abs(d), 0) + Math.abs(toClass)) / 2;
  return { patches, toClass, sum: a.sum - b.sum, top: largest(patches.map(Math.abs)), step: a.step + b.step, moved };
}

export const clamp = (value, low, high) => Math.min(Math.max(Math.round(value) || low, low), high);

/** Which square of which stack shows a choice; layer 0 is the stack of rollouts. show: 0 a head, 1 the mean, 2 rollout. */
export function square({ show, layer, head }) {
  if (show === 2) return { layer: 0, map: layer - 1 };
  return { layer, map: show === 1 ? 0 : head };
}

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
