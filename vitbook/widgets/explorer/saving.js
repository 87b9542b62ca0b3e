// A map as files: what is seen as PNG, its numbers as CSV. Made in the page, for own and catalogue pictures alike.
import { make } from "../kit/dom.js";
import { place } from "../kit/words.js";
import { title } from "./words.js";

const HIGH = 560; // pixels of the photograph's and the map's height
const [LINE, GAP] = [44, 24];

/** Hands a file to the reader. */
function hand(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** "coffee-layer-9-head-3-token-20", for a file. */
function nameOf({ choice, cards }) {
  const { picture, show, layer, head, query, reverse } = choice;
  const map = show === 2 ? "rollout" : show === 1 ? "mean" : `head-${head}`;
  const stem = cards[picture].name.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N}]+/gu, "-");
  return `${stem}-layer-${layer}-${map}-${query ? `token-${query}` : "class"}${reverse ? "-read-by" : ""}`;
}

/** One line a token: its number, its place in the grid, its weight with all its digits. */
export function saveNumbers(shown) {
  const { map, sizes } = shown;
  const lines = Array.from(map.patches, (weight, i) => {
    const { row, column } = place(i + 1, sizes.columns);
    return `${i + 1},${row},${column},${weight}`;
  });
  const text = ["token,row,column,weight", `0,,,${map.toClass}`, ...lines].join("\r\n");
  hand(new Blob([`${text}\r\n`], { type: "text/csv" }), `${nameOf(shown)}.csv`);
}

/** The photograph under its map and the bare map, as they are on the page; without the photograph where the browser keeps it to
 *  itself, as it does with files of a disk. A promise of what to say about it. */
export async function savePicture(page, shown) {
  const panels = [page.photo, page.grid];
  for (const [used, words] of [[panels, "Saved."], [[page.grid], "Saved without the photograph, which the browser keeps to itself here."]]) {
    try {
      const blob = await new Promise((resolve) => drawn(used, shown).toBlob(resolve));
      hand(blob, `${nameOf(shown)}.png`);
      return words;
    } catch {
      continue; // the photograph came from a disk
    }
  }
  return "This browser cannot save pictures.";
}

function drawn(panels, shown) {
  const wide = panels.map(({ frame }) => Math.round(HIGH * (frame.clientWidth / frame.clientHeight)));
  const canvas = make("canvas", { width: wide.reduce((a, b) => a + b + GAP, GAP), height: HIGH + LINE + 2 * GAP });
  const pen = canvas.getContext("2d");
  const { color, backgroundColor, fontFamily } = getComputedStyle(panels[0].frame.closest(".vbx-explorer"));
  Object.assign(pen, { fillStyle: backgroundColor, imageSmoothingEnabled: !panels.length });
  pen.fillRect(0, 0, canvas.width, canvas.height);
  Object.assign(pen, { fillStyle: color, font: `22px ${fontFamily}` });
  pen.fillText(title(shown.choice, shown.sizes), GAP, GAP + 22, canvas.width - 2 * GAP);
  let left = GAP;
  panels.forEach((panel, n) => {
    drawPanel(pen, panel, left, GAP + LINE, wide[n], HIGH);
    left += wide[n] + GAP;
  });
  return canvas;
}

function drawPanel(pen, { frame, image, seen, canvas, asked }, left, top, width, height) {
  const isPhoto = frame.classList.contains("vbx-photo");
  if (isPhoto) pen.drawImage(image, left, top, width, height);
  const scale = width / frame.clientWidth;
  const [outer, inner] = [frame, seen].map((element) => element.getBoundingClientRect());
  const within = [left + (inner.left - outer.left) * scale, top + (inner.top - outer.top) * scale, inner.width * scale, inner.height * scale];
  pen.globalAlpha = isPhoto ? Number(getComputedStyle(canvas).opacity) : 1;
  pen.imageSmoothingEnabled = getComputedStyle(canvas).imageRendering !== "pixelated";
  pen.drawImage(canvas, ...within);
  pen.globalAlpha = 1;
  if (asked.hidden) return;
  const mark = asked.getBoundingClientRect();
  pen.strokeStyle = getComputedStyle(asked).outlineColor;
  pen.lineWidth = 4;
  pen.strokeRect(left + (mark.left - outer.left) * scale, top + (mark.top - outer.top) * scale, mark.width * scale, mark.height * scale);
}
