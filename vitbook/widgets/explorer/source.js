// Where the explorer's bytes come from: the built book's files, or the kernel of a notebook.
import { isUnreachable, modelOfPage } from "../engine/model.js";
import { Squares, Stack } from "./stack.js";

const CACHE_BYTES = 160e6;

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
  return root === undefined ? null : `${root}_static/`;
}

function loadScript(url) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: url, async: true });
    script.onload = () => resolve(script.remove());
    script.onerror = async () => {
      script.remove();
      const lost = "The connection is lost, so this map cannot be loaded.";
      const missing = `${url.split("/").slice(-3).join("/")} is not among the book’s files. Build the book again: make book.`;
      reject(new Error((await isUnreachable(url)) ? lost : missing));
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
  return Uint8Array.from(atob(parts.texts.join("")), (c) => c.charCodeAt(0));
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

/** Stacks and photographs, each asked for once. folder: of the built book, null where a kernel answers. */
export class Source {
  constructor(model, signal) {
    this.root = staticFolder();
    this.folder = this.root && `${this.root}attn/`;
    this.model = model;
    this.stacks = this.folder === null ? new Map() : sharedAtlas().stacks; // a kernel's answers die with the view that asked
    this.ask = kernelLine(model, signal);
    this.photos = new Map();
    signal.addEventListener("abort", () => {
      for (const url of this.photos.values()) url.then(URL.revokeObjectURL, () => {});
    });
  }

  /** Whether the model in this page answers for the picture of this key: with all digits, where the book's files have 8 bits. */
  computes(key) {
    return Boolean(this.engine?.knows(key.split("/")[1]));
  }

  /** The stack if it is here, else null. */
  ready(key) {
    const entry = this.stacks.get(key);
    if (!entry?.stack) return null;
    this.stacks.delete(key); // to the end of the queue: used last, evicted last
    if (entry.stack.codes && this.computes(key)) return null;
    this.stacks.set(key, entry);
    return entry.stack;
  }

  /** A promise of the stack of so many maps over N patches. */
  load(key, maps, N) {
    if (!this.stacks.has(key)) {
      const entry = { stack: null, promise: this.get(key, maps, N).then((stack) => this.keep(entry, stack)) };
      entry.promise.catch(() => this.stacks.delete(key)); // the next wish tries again
      this.stacks.set(key, entry);
    }
    return this.stacks.get(key).promise;
  }

  /** From the model where it runs in this page, else out of the book's files or from the kernel. */
  async get(key, maps, N) {
    const [, picture, layer, edit = "{}"] = key.split("/");
    const wish = { layer: Number(layer), edit: JSON.parse(edit) };
    if (this.computes(key)) return new Squares(await this.engine.about("stack", picture, wish), maps, N);
    const packed = this.folder === null ? this.ask(key) : fromScripts(this.folder, key);
    return new Stack(await packed.then(unzip), maps, N);
  }

  /** The model of this page, loaded or not; null where a kernel runs it. */
  get engine() {
    const fingerprint = this.model.get("fingerprint");
    return this.root && modelOfPage(`${this.root}model/${fingerprint}/`, fingerprint);
  }

  /** Gives up all that is held of a picture of the reader's. */
  forget({ key, address }) {
    for (const name of [...this.stacks.keys()]) if (name.split("/")[1] === key) this.stacks.delete(name);
    URL.revokeObjectURL(address);
    this.engine.forget(key);
  }

  keep(entry, stack) {
    entry.stack = stack;
    evict(this.stacks);
    return stack;
  }

  /** A promise of a photograph's address. */
  photo(fingerprint, { key, address }) {
    if (address) return Promise.resolve(address);
    const wish = `${fingerprint}/${key}/picture.webp`;
    if (this.folder !== null) return Promise.resolve(this.folder + wish);
    if (!this.photos.has(wish)) {
      const url = this.ask(wish).then((b) => URL.createObjectURL(new Blob([b], { type: "image/webp" })));
      url.catch(() => this.photos.delete(wish));
      this.photos.set(wish, url);
    }
    return this.photos.get(wish);
  }
}
