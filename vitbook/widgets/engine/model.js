// The page's side of the model: loads the weights when it is told to, and hands questions to the worker that has them.
import { make } from "../kit/dom.js";

/** What the files of weights call: each hands over its content under its name. One for all widgets of a page. */
function shelf() {
  window.vitbookModel ??= {
    contents: new Map(),
    take(fingerprint, name, content) {
      this.contents.set(`${fingerprint}/${name}`, content);
    },
  };
  return window.vitbookModel.contents;
}

/** The content of one file, or undefined where it is missing or broken. A script, since a page on a disk may load nothing else. */
function loaded(folder, fingerprint, name, suffix = "") {
  const [contents, key] = [shelf(), `${fingerprint}/${name}`];
  return new Promise((resolve) => {
    const script = make("script", { src: `${folder}${name}.js${suffix}`, async: true });
    script.onload = script.onerror = () => {
      const content = contents.get(key);
      contents.delete(key);
      script.remove();
      resolve(content);
    };
    document.head.append(script);
  });
}

/** One model in one worker. script: the worker's text; fingerprint: which model; folder: where its files are. */
export class ModelInPage {
  constructor({ script, fingerprint, folder }) {
    Object.assign(this, { fingerprint, folder: new URL(folder, document.baseURI).href, waiting: new Map(), taken: 0, count: 0 });
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data: { id, answer, problem } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (problem) reject(new Error(problem));
      else resolve(answer);
    };
    this.worker.onerror = () => this.fail("The part of the page that computes has stopped.");
    URL.revokeObjectURL(address);
  }

  fail(words) {
    for (const { reject } of this.waiting.values()) reject(new Error(words));
    this.waiting.clear();
  }

  /** A promise of the worker's answer. */
  ask(what, data = {}) {
    const id = this.count++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, what, ...data });
    });
  }

  /** Loads what is not loaded yet, telling `progress` (0 to 1) as it goes on; the signal stops it after the chunk at hand, and the
   *  next call goes on from there. kernel: which one to use, by default the fastest. */
  async load({ progress = () => {}, signal, kernel } = {}) {
    this.manifest ??= await loaded(this.folder, this.fingerprint, "manifest");
    if (!this.manifest) throw new Error("This copy of the book was built without the weights of its model.");
    this.kernel ??= (await this.ask("open", { manifest: this.manifest, folder: this.folder, kernel })).kernel;
    const { chunks, bytes } = this.manifest;
    const here = () => chunks.slice(0, this.taken).reduce((total, chunk) => total + chunk.bytes, 0);
    while (this.taken < chunks.length) {
      progress(here() / bytes);
      signal?.throwIfAborted();
      await this.loadChunk(this.taken + 1);
      this.taken += 1;
    }
    progress(1);
  }

  /** From the browser's own store, else from the book's files; a broken file is asked for once more. */
  async loadChunk(n) {
    const { folder, fingerprint } = this;
    if (await this.ask("take", { n, folder })) return;
    for (const suffix of ["", "?again"]) {
      const text = await loaded(folder, fingerprint, n, suffix);
      if (text !== undefined && (await this.ask("take", { n, folder, text }))) return;
    }
    throw new Error(`Part ${n} of the model's ${this.manifest.chunks.length} is missing or damaged. Reload the page, or build the book again.`);
  }

  /** The self-test: {A, y, running, seen} (see worker.js) and what its picture is; null where its file is missing. */
  async test() {
    const data = await loaded(this.folder, this.fingerprint, "test");
    if (!data) return null;
    const { config } = this.manifest;
    return { ...(await this.ask("test", data)), title: data.title, aspect: data.aspect, width: config.W, height: config.H };
  }

  close() {
    this.fail("The model was closed.");
    this.worker.terminate();
  }
}
