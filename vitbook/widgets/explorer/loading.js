// The model on its way into the page: how large it is, a button; then how far it has come, and a way to stop; then its self-test.
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

/** What stands in a section that needs the model, until the model is there. view: the explorer's; why: what it is needed for. */
export class Gate {
  constructor(view, why, ready) {
    Object.assign(this, { view, why, whenReady: ready, isOpen: false });
    this.tested = make("p", { class: "vbx-quiet vbx-tested", hidden: true });
    this.element = make("div", { class: "vbx-gate" }, this.tested);
  }

  /** The section is opened. */
  open() {
    const { source: { engine }, choices } = this.view;
    if (this.isOpen || this.box) return;
    if (engine.ready) return void this.pass();
    const bytes = choices.get("weight");
    this.box = bytes
      ? loadingBox({ bytes, why: this.why, load: (how) => engine.load(how), ready: () => this.pass() })
      : make("p", {}, "The weights of this build’s checkpoint are too large to travel with a page. In JupyterLab this explorer takes your picture.");
    this.element.prepend(this.box);
  }

  /** The weights are there: the self-test, and on. */
  async pass() {
    const { engine } = this.view.source;
    engine.tested ??= engine.test();
    this.view.page.tell(this.tested, verdict(await engine.tested, engine.kernel));
    this.box?.remove();
    this.isOpen = true;
    this.whenReady();
    this.view.drawSoon(); // once more, with the model's own numbers
  }
}

/** load({progress, signal}) is a promise; `ready` is called when it has come true. */
function loadingBox({ bytes, why, load, ready }) {
  const words = make("p", { class: "vbx-loadwords", "aria-live": "polite" });
  const bar = make("progress", { max: 1, value: 0, ariaLabel: "Loaded so far" });
  const go = button(`Load the model (${megabytes(bytes)})`);
  const halt = button("Stop");
  const element = make("div", { class: "vbx-load" }, words, bar, make("div", { class: "vbx-tools" }, go, halt));
  let stop = null;
  const resting = (text) => {
    words.textContent = text;
    bar.hidden = halt.hidden = true;
    go.hidden = false;
  };
  const progress = (share) => {
    bar.value = share;
    words.textContent = `Loading the model: ${megabytes(share * bytes)} of ${megabytes(bytes)} …`;
  };
  const start = async () => {
    stop = new AbortController();
    go.hidden = true;
    bar.hidden = halt.hidden = false;
    try {
      await load({ progress, signal: stop.signal });
      words.textContent = "Checking it …";
      halt.hidden = true;
      await ready();
    } catch (error) {
      go.textContent = "Go on loading";
      resting(error.name === "AbortError" ? "Stopped. What has been loaded is kept." : error.message);
    }
  };
  go.addEventListener("click", start);
  halt.addEventListener("click", () => stop.abort());
  resting(`${why} Its weights are ${megabytes(bytes)}, loaded once.`);
  return element;
}

const CLOSE = 1e-4; // as far as rounding alone may carry a weight

/** What the self-test found, in words. */
function verdict(test, kernel) {
  if (!test) return "The self-test is missing from this copy of the book; build it again.";
  const { A, running, title } = test;
  const slow = kernel === "javascript" ? " This browser lacks WebAssembly with SIMD, so a run takes several times as long as elsewhere." : "";
  const compared = `On “${title}” it took ${(running / 1000).toFixed(1)} s, and the weights of attention that were compared`;
  if (A <= CLOSE) return `Checked in your browser. ${compared} are those that Python computed, to ${A.toFixed(7)}.${slow}`;
  return `Do not trust what you see here. ${compared} differ from those that Python computed by up to ${A.toFixed(4)}.${slow}`;
}
