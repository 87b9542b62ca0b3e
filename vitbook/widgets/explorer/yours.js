// The reader's own pictures: chosen, dropped, pasted or taken by the camera. They go to the model in this page, or to the
// notebook's kernel, and nowhere else.
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";
import { cameraBox, hasCamera } from "./camera.js";
import { Gate } from "./loading.js";
import { withoutPicture } from "./pastes.js";

const SHOWN = 1120; // pixels of the longer side, as they are shown
const MOST = 12; // pictures; the oldest goes first

export class Yours {
  constructor(view) {
    Object.assign(this, { view, waiting: [], open: false });
    const { page, source } = view;
    this.say = (words) => page.tell(this.status, words);
    this.status = make("p", { class: "vbx-status", role: "status", hidden: true });
    this.gate = source.engine && new Gate(view, "For a picture of yours the model itself has to run here, in your browser.", () => this.ready());
    this.chooser = make("input", { type: "file", accept: "image/*", multiple: true, class: "vb-unseen", tabIndex: -1, ariaLabel: "Picture files" });
    this.chooser.addEventListener("change", () => {
      this.take(this.chooser.files);
      this.chooser.value = ""; // so that the same file can be chosen again
    });
    const camera = button("Use the camera", { onclick: () => this.openCamera(), hidden: !hasCamera() });
    const place = source.engine ? "It stays in this page: it is not sent anywhere, and no link names it." : "It goes to this notebook’s kernel and nowhere else.";
    this.ways = make(
      "div", { class: "vbx-ways" },
      make("div", { class: "vbx-tools" }, button("Choose a file", { onclick: () => this.chooser.click() }), camera),
      make("p", { class: "vbx-quiet" }, `Or drop a picture on the explorer, or paste one into it (Ctrl+V). ${place}`),
    );
    this.ways.hidden = Boolean(this.gate);
    page.yours.append(this.ways, this.status, this.gate?.element ?? "", this.chooser);
    page.openYours.addEventListener("click", () => this.toggle());
    this.listen();
  }

  listen() {
    const { page: { el }, stop: { signal } } = this.view;
    const on = (target, type, act) => target.addEventListener(type, act, { signal });
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
      on(el, type, (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        el.classList.toggle("vbx-over", type === "dragenter" || type === "dragover");
        if (type === "drop") this.take(event.dataTransfer.files);
      });
    }
    on(document, "paste", (event) => {
      const mine = el.closest(".vbx-explorer") ?? el;
      if (event.clipboardData.files.length && mine.contains(document.activeElement)) this.take(event.clipboardData.files);
    });
    signal.addEventListener("abort", () => this.camera?.end());
  }

  toggle(open = !this.open) {
    this.open = open;
    this.view.page.yours.hidden = !open;
    this.view.page.openYours.ariaExpanded = String(open);
    if (open) this.gate?.open();
    else this.camera?.end();
  }

  /** The model is there: also for the pictures that wait. */
  ready() {
    this.ways.hidden = false;
    if (this.open) this.ways.querySelector("button").focus();
    this.take(this.waiting.splice(0));
  }

  async openCamera() {
    this.camera?.end();
    this.say("");
    try {
      this.camera = await cameraBox((file) => this.take([file]));
      this.ways.after(this.camera.element);
    } catch (error) {
      this.say(error.message);
    }
  }

  /** Files of the reader's, as they come. */
  async take(files) {
    const all = [...files];
    if (!all.length) return;
    this.toggle(true);
    if (this.gate && !this.gate.isOpen) return void this.waiting.push(...all);
    for (const file of all) await (this.gate ? this.run(file) : this.view.ask(file));
  }

  /** Runs the model in the page on a picture and shows what it reads. */
  async run(file) {
    const { source: { engine }, choices } = this.view;
    this.say("Running the model on your picture …");
    const key = `own-${(engine.own = (engine.own ?? 0) + 1)}`;
    try {
      const { picture, preparing, running } = await engine.give(key, file);
      choices.add(await cardOf(file, key, picture));
      if (choices.own.length > MOST) this.away(choices.own[0]);
      this.say(`Resized in ${seconds(preparing)}, run in ${seconds(running)}.`);
    } catch (error) {
      this.say(error.message);
    }
  }

  /** Takes a picture of the reader's away: out of the list, the page and the model. */
  away(card) {
    const { source, choices } = this.view;
    if (!source.engine) return void this.view.choices.model.send({ forget: card.key });
    choices.remove(card);
    choices.edit = withoutPicture(choices.edit, card.key);
    source.forget(card);
    this.view.drawSoon();
  }
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** What the explorer must know of a picture, as `card` of atlas.py says it of the book's. */
async function cardOf(file, key, { width, height, size: [w, h], left, top, crop: [high, wide] }) {
  const title = file.name || "your picture";
  const box = [left / w, top / h, (left + wide) / w, (top + high) / h].map((share) => Math.min(Math.max(share, 0), 1));
  return { name: title, title, alt: title, key, width, height, box, own: true, address: await copyOf(file) };
}

/** The address of a copy that is small enough to be drawn at once, on white where it is transparent. */
async function copyOf(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, SHOWN / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = make("canvas", { width, height });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, width, height);
  pen.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/webp", 0.9));
  return URL.createObjectURL(blob);
}
