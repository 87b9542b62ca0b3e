// The page's side of the model: loads the weights when it is told to, and hands questions to the worker that has them.
import { make } from "../kit/dom.js";

/** What the files of weights call: each hands over its content under its name. One for all widgets of a page, as are the models. */
function shelf() {
  window.vitbookModel ??= {
    contents: new Map(),
    models: new Map(),
    take(fingerprint, name, content) {
      this.contents.set(`${fingerprint}/${name}`, content);
    },
  };
  return window.vitbookModel;
}

/** The model of this fingerprint: one for all widgets of a page, since it takes some hundred MB. folder: where its files are. */
export function modelOfPage(folder, fingerprint) {
  const { models } = shelf();
  if (!models.has(fingerprint)) models.set(fingerprint, new ModelInPage({ folder, fingerprint }));
  return models.get(fingerprint);
}

/** The content of one file, or undefined where it is missing or broken. A script, since a page on a disk may load nothing else. */
function loaded(folder, fingerprint, name, suffix = "") {
  const [{ contents }, key] = [shelf(), `${fingerprint}/${name}`];
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

/** Whether nobody answers under an address, so that waiting may help. */
export const isUnreachable = async (address) =>
  location.protocol !== "file:" && fetch(address, { method: "HEAD", cache: "no-store" }).then(() => false, () => true);

const LOST = "The connection is lost. What has been loaded is kept; try again when it is back.";

/** One model in one worker. fingerprint: which model; folder: where its files are. */
class ModelInPage {
  constructor({ fingerprint, folder }) {
    Object.assign(this, { fingerprint, folder: new URL(folder, document.baseURI).href, waiting: new Map(), given: new Set(), taken: 0, count: 0 });
  }

  start(script) {
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data: { id, answer, problem } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (problem) reject(new Error(problem));
      else resolve(answer);
    };
    this.worker.onerror = () => this.fail("The part of the page that computes has stopped. Reload the page.");
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
  async load(how = {}) {
    while (this.going) await this.going.catch(() => {}); // another widget of the page loads it
    this.going = this.loadRest(how);
    try {
      await this.going;
    } finally {
      this.going = null;
    }
  }

  async loadRest({ progress = () => {}, signal, kernel }) {
    this.manifest ??= await this.file("manifest");
    if (!this.worker) this.start(await this.file("worker"));
    this.kernel ??= (await this.ask("open", { manifest: this.manifest, folder: this.folder, kernel })).kernel;
    const { chunks, bytes } = this.manifest;
    const here = () => chunks.slice(0, this.taken).reduce((total, chunk) => total + chunk.bytes, 0);
    while (this.taken < chunks.length) {
      progress(here() / bytes);
      signal?.throwIfAborted();
      await this.loadChunk(this.taken + 1);
      this.taken += 1;
    }
    this.pictures ??= await this.file("pictures");
    this.ready = true;
    progress(1);
  }

  /** The content of a file without which nothing goes on. */
  async file(name) {
    const content = await loaded(this.folder, this.fingerprint, name);
    if (content !== undefined) return content;
    const lost = await isUnreachable(`${this.folder}${name}.js`);
    throw new Error(lost ? LOST : "This copy of the book was built without the weights of its model, so it can show the book’s pictures only.");
  }

  /** From the browser's own store, else from the book's files; a broken file is asked for once more. */
  async loadChunk(n) {
    const { folder, fingerprint } = this;
    if (await this.ask("take", { n, folder })) return;
    for (const suffix of ["", "?again"]) {
      const text = await loaded(folder, fingerprint, n, suffix);
      if (text !== undefined && (await this.ask("take", { n, folder, text }))) return;
    }
    if (await isUnreachable(`${folder}${n}.js`)) throw new Error(LOST);
    throw new Error(`Part ${n} of the model's ${this.manifest.chunks.length} is missing or damaged. Try again, or build the book again.`);
  }

  /** Whether this picture can be run: one of the reader's that was given, or one of the book's. */
  knows(key) {
    return Boolean(this.ready) && (this.given.has(key) || Object.hasOwn(this.pictures, key));
  }

  /** A picture file under a key of its own: how it lies under the grid, and how long the run took. */
  async give(key, file) {
    const told = await this.ask("look", { key, file });
    this.given.add(key);
    return told;
  }

  /** Gives a picture of the reader's up. */
  forget(key) {
    this.given.delete(key);
    return this.ask("forget", { key });
  }

  /** Asks the worker about a picture that it may not have yet; nor may it have those that a change pastes from. */
  async about(what, key, data) {
    const pastes = data.edit?.paste ?? [];
    for (const name of [key, ...pastes.map(([from]) => from)].filter((each) => !this.given.has(each))) {
      this.given.add(name);
      await this.ask("look", { key: name, levels: this.pictures[name].seen });
    }
    return this.ask(what, { key, ...data });
  }

  /** The self-test: {A, y, running, seen} (see worker.js) and what its picture is; null where its file is missing. */
  async test() {
    const data = await loaded(this.folder, this.fingerprint, "test");
    if (!data) return null;
    return { ...(await this.ask("test", data)), title: data.title };
  }

  close() {
    this.fail("The model was closed.");
    this.worker?.terminate();
  }
}
