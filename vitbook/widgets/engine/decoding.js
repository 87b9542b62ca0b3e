// From a picture file to its pixels, by the browser's own decoders: upright as the camera says, colour profiles left out,
// transparency laid on white; all of it as vitbook/pictures does it in Python.

const SIDE = 2048; // pixels: a canvas of that side is possible everywhere, one of a whole photograph is not
const MOST = 120e6; // pixels of a picture, as in Python

/** The picture of a file, {width, height, channels: 3, levels}. Raises an Error in words for the reader. */
export async function decode(file) {
  if (typeof OffscreenCanvas === "undefined") throw new Error("This browser is too old: it does not hand a picture's pixels to the model.");
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" });
  } catch {
    throw new Error("This browser cannot read that file as a picture. JPEG, PNG, WebP and GIF work everywhere.");
  }
  try {
    const { width, height } = bitmap;
    if (width * height > MOST) throw new Error(`A picture of ${width} x ${height} pixels is too large; take a smaller copy.`);
    return { width, height, channels: 3, levels: levelsOf(bitmap) };
  } finally {
    bitmap.close();
  }
}

function levelsOf(bitmap) {
  const { width, height } = bitmap;
  const levels = new Uint8Array(width * height * 3);
  const canvas = new OffscreenCanvas(Math.min(width, SIDE), Math.min(height, SIDE));
  const pen = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
  for (let top = 0; top < height; top += SIDE) {
    for (let left = 0; left < width; left += SIDE) {
      const [w, h] = [Math.min(SIDE, width - left), Math.min(SIDE, height - top)];
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, w, h);
      pen.drawImage(bitmap, left, top, w, h, 0, 0, w, h);
      copy(pen.getImageData(0, 0, w, h).data, w, levels, (top * width + left) * 3, width * 3);
    }
  }
  return levels;
}

/** Red, green and blue of a tile's pixels to their place; `step` from a row of the picture to the next. */
function copy(rgba, w, levels, start, step) {
  for (let i = 0; i < rgba.length / 4; i++) {
    const to = start + Math.floor(i / w) * step + (i % w) * 3;
    levels[to] = rgba[4 * i];
    levels[to + 1] = rgba[4 * i + 1];
    levels[to + 2] = rgba[4 * i + 2];
  }
}
