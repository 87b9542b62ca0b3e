// The first thing a reader sees: what it is, how large it is, a button; then how far it has come, and a way to stop.
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

/** load({progress, signal}) is a promise; `ready` is called when it has come true. */
export function loadingBox({ bytes, load, ready }) {
  const words = make("p", { class: "vbp-words", "aria-live": "polite" });
  const bar = make("progress", { max: 1, value: 0, ariaLabel: "Loaded so far" });
  const go = button(`Load the model (${megabytes(bytes)})`);
  const halt = button("Stop");
  const element = make("div", { class: "vbp-load" }, words, bar, make("div", { class: "vbp-buttons" }, go, halt));
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
      element.remove();
    } catch (error) {
      go.textContent = "Go on loading";
      resting(error.name === "AbortError" ? "Stopped. What has been loaded is kept." : error.message);
    }
  };
  go.addEventListener("click", start);
  halt.addEventListener("click", () => stop.abort());
  resting(
    `The model of this book can run here, in your browser, on a picture of yours. Its weights are ${megabytes(bytes)}, loaded once. ` +
      "Your picture stays on your device.",
  );
  return element;
}
