// The two pictures of a pattern: the photograph with what one query reads, and the whole mask.
import { make } from "../kit/dom.js";

export const MOST_IN_MASK = 1024; // tokens; above that a mask has more entries than a picture can show
const LINES_FROM = 12; // px of a cell; in smaller ones a grid would hide the photograph

/** Where the H x W grid stands in a picture of this width and height. */
export function gridIn({ width, height }, { H, W }) {
  const cell = Math.min(width / W, height / H);
  return { cell, left: (width - cell * W) / 2, top: (height - cell * H) / 2 };
}

/** now: {H, W, query, row}, row being what the query reads; ink(name): a colour of the page. */
export function drawPhoto(canvas, image, now, ink) {
  const { H, W, row } = now;
  const { cell, left, top } = gridIn(canvas, now);
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (image.complete && image.naturalWidth) pen.drawImage(image, left, top, cell * W, cell * H);
  pen.fillStyle = ink("ground");
  pen.globalAlpha = 0.82;
  for (let j = 0; j < H * W; j++) {
    if (!row[j]) pen.fillRect(left + (j % W) * cell, top + Math.floor(j / W) * cell, cell + 0.5, cell + 0.5);
  }
  pen.globalAlpha = 1;
  if (cell > LINES_FROM) drawLines(pen, { H, W, cell, left, top }, ink("line"));
  drawQuery(pen, { ...now, cell, left, top }, ink);
}

function drawLines(pen, { H, W, cell, left, top }, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let c = 0; c <= W; c++) pen.rect(left + c * cell, top, 0, H * cell);
  for (let r = 0; r <= H; r++) pen.rect(left, top + r * cell, W * cell, 0);
  pen.stroke();
}

function drawQuery(pen, { W, query, cell, left, top }, ink) {
  const size = Math.max(cell, 7);
  const [x, y] = [left + ((query % W) + 0.5) * cell - size / 2, top + (Math.floor(query / W) + 0.5) * cell - size / 2];
  for (const [name, width] of [["ground", 7], ["query", 4]]) {
    pen.strokeStyle = ink(name);
    pen.lineWidth = width;
    pen.strokeRect(x, y, size, size);
  }
}

/** The mask of a pattern, one pixel an entry, kept as long as pattern, letters and colour are the same. */
export class Mask {
  canvas = make("canvas");
  key = "";

  draw(canvas, { H, W, query, reads, letters, pattern }, ink) {
    const N = H * W;
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    if (N > MOST_IN_MASK) return;
    this.fill(JSON.stringify([pattern.name, letters, ink("key")]), N, reads, ink("key"));
    pen.imageSmoothingEnabled = N > canvas.width;
    pen.drawImage(this.canvas, 0, 0, canvas.width, canvas.height);
    const cell = canvas.height / N;
    const height = Math.max(cell, 5);
    pen.strokeStyle = ink("query");
    pen.lineWidth = 3;
    pen.strokeRect(1.5, (query + 0.5) * cell - height / 2, canvas.width - 3, height);
  }

  fill(key, N, reads, colour) {
    if (key === this.key) return;
    this.key = key;
    this.canvas.width = this.canvas.height = N;
    const [red, green, blue] = channels(colour);
    const pixels = new ImageData(N, N);
    for (let i = 0; i < N; i++) reads(i).forEach((one, j) => one && pixels.data.set([red, green, blue, 255], 4 * (i * N + j)));
    this.canvas.getContext("2d").putImageData(pixels, 0, 0);
  }
}

/** A colour of CSS as red, green and blue. */
function channels(colour) {
  const pen = make("canvas", { width: 1, height: 1 }).getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}
