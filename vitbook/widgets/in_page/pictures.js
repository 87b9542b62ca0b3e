// Pictures of the reader's own: chosen, dropped or pasted. They stay in the page.
import { make } from "../kit/dom.js";

const SIDE = 560; // pixels of the longer side, as they are shown

/** A place for pictures; `take` gets each as a file. It listens until the signal ends it. */
export function pictureBox(take, signal) {
  const chooser = make("input", { type: "file", accept: "image/*", class: "vb-unseen" });
  const label = make("label", { class: "vbp-drop" }, chooser, make("b", {}, "Your picture: "), "choose a file, drop it here, or paste it.");
  const first = (files) => [...files].find((file) => file.type.startsWith("image/")) ?? files[0];
  const hand = (files) => files?.length && take(first(files));
  chooser.addEventListener("change", () => {
    hand(chooser.files);
    chooser.value = ""; // so that the same file can be chosen again
  });
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    label.addEventListener(name, (event) => {
      event.preventDefault();
      label.classList.toggle("vbp-over", name === "dragenter" || name === "dragover");
      if (name === "drop") hand(event.dataTransfer.files);
    });
  }
  document.addEventListener("paste", (event) => hand(event.clipboardData.files), { signal });
  return label;
}

/** The part of a file's picture that the model sees, small enough to be drawn at once, as ImageData. box: left, top, wide, high. */
export async function shown(file, box) {
  const bitmap = await createImageBitmap(file);
  const [left, top, wide, high] = box(bitmap);
  const scale = Math.min(1, SIDE / Math.max(wide, high));
  const [width, height] = [wide, high].map((side) => Math.max(1, Math.round(side * scale)));
  const pen = make("canvas", { width, height }).getContext("2d", { willReadFrequently: true });
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, width, height);
  pen.drawImage(bitmap, left, top, wide, high, 0, 0, width, height);
  bitmap.close();
  return pen.getImageData(0, 0, width, height);
}

/** The pixels that a model sees, three channels or one, as ImageData. */
export function pixelsAsSeen(levels, width, height) {
  const channels = levels.length / (width * height);
  const rgba = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) rgba[4 * i + c] = levels[i * channels + (c % channels)];
    rgba[4 * i + 3] = 255;
  }
  return new ImageData(rgba, width, height);
}
