// From a picture to the numbers that a checkpoint takes. Resizing is Pillow's, level for level: a browser's own is off by up
// to 40 of 255 levels, and that moves attention weights by tenths. A picture is {width, height, channels, levels}: whole
// numbers from 0 to 255, pixel after pixel, row after row.

const BITS = 22; // of a resizing weight as a whole number, so that sums are exact and the same on every machine

/** How far each of Pillow's filters reaches, in pixels, and how much it takes of a pixel at distance x. */
const FILTERS = {
  box: [0.5, (x) => (x > -0.5 && x <= 0.5 ? 1 : 0)],
  bilinear: [1, (x) => Math.max(0, 1 - Math.abs(x))],
  hamming: [1, (x) => (Math.abs(x) < 1 ? sinc(x) * (0.54 + 0.46 * Math.cos(Math.PI * x)) : 0)],
  bicubic: [2, (x) => cubic(Math.abs(x))],
  lanczos: [3, (x) => (x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0)],
};
const sinc = (x) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
function cubic(x) {
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

/** For each of `to` pixels along a side of `from`: where the pixels begin that it is made of, and the weight of each. */
function mixtures(from, to, filter) {
  const [reach, weight] = FILTERS[filter];
  const scale = from / to;
  const wide = Math.max(scale, 1); // a filter is as wide as a pixel of the coarser picture
  return Array.from({ length: to }, (_, n) => {
    const middle = (n + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach * wide + 0.5));
    const last = Math.min(from, Math.trunc(middle + reach * wide + 0.5));
    const parts = Array.from({ length: last - first }, (_, i) => weight((i + first - middle + 0.5) * (1 / wide)));
    const total = parts.reduce((a, b) => a + b, 0);
    const whole = (w) => Math.trunc(w * 2 ** BITS + (w < 0 ? -0.5 : 0.5));
    return { first, weights: Int32Array.from(parts, (w) => whole(total ? w / total : w)) };
  });
}

const level = (sum) => Math.min(255, Math.max(0, sum >> BITS));
const HALF = 2 ** (BITS - 1); // so that cutting the fraction off rounds

function widened({ width, height, channels, levels }, to, filter) {
  const out = new Uint8Array(to * height * channels);
  mixtures(width, to, filter).forEach(({ first, weights }, x) => {
    for (let y = 0; y < height; y++) {
      for (let c = 0; c < channels; c++) {
        let sum = HALF;
        for (let i = 0, at = (y * width + first) * channels + c; i < weights.length; i++, at += channels) sum += levels[at] * weights[i];
        out[(y * to + x) * channels + c] = level(sum);
      }
    }
  });
  return { width: to, height, channels, levels: out };
}

function heightened({ width, height, channels, levels }, to, filter) {
  const row = width * channels;
  const out = new Uint8Array(row * to);
  mixtures(height, to, filter).forEach(({ first, weights }, y) => {
    for (let x = 0; x < row; x++) {
      let sum = HALF;
      for (let i = 0, at = first * row + x; i < weights.length; i++, at += row) sum += levels[at] * weights[i];
      out[y * row + x] = level(sum);
    }
  });
  return { width, height: to, channels, levels: out };
}

/** For each of `to` pixels along a side of `from` the one whose middle is nearest. Steps are added up, as Pillow does it. */
function nearest(from, to) {
  const step = from / to;
  let middle = step / 2;
  return Array.from({ length: to }, () => {
    const at = Math.trunc(middle);
    middle += step;
    return at;
  });
}

function picked({ width, height, channels, levels }, [w, h]) {
  const out = new Uint8Array(w * h * channels);
  const columns = nearest(width, w);
  nearest(height, h).forEach((y, row) => {
    columns.forEach((x, column) => {
      const from = (y * width + x) * channels;
      out.set(levels.subarray(from, from + channels), (row * w + column) * channels);
    });
  });
  return { width: w, height: h, channels, levels: out };
}

/** As the `Image.resize` of Pillow 13: down first where the height loses more than twice the pixels that the width loses, as tried
 *  out on thousands of sizes, else across first. The order decides about single levels. */
function resize(picture, [width, height], filter) {
  if (filter === "nearest") return picked(picture, [width, height]);
  const across = (from) => (from.width === width ? from : widened(from, width, filter));
  const down = (from) => (from.height === height ? from : heightened(from, height, filter));
  const downFirst = picture.height > height && picture.height - height > 2 * (picture.width - width);
  return downFirst ? across(down(picture)) : down(across(picture));
}

/** Three channels to one: brightness as the eye weighs colours, in Pillow's whole numbers. */
function grey({ width, height, levels }) {
  const out = new Uint8Array(width * height);
  for (let i = 0; i < out.length; i++) {
    out[i] = (levels[3 * i] * 19595 + levels[3 * i + 1] * 38470 + levels[3 * i + 2] * 7471 + 0x8000) >> 16;
  }
  return { width, height, channels: 1, levels: out };
}

/** A part of the picture; black where it reaches beyond. */
function cropped({ width, height, channels, levels }, left, top, [h, w]) {
  const out = new Uint8Array(w * h * channels);
  for (let y = Math.max(0, -top); y < h && y + top < height; y++) {
    for (let x = Math.max(0, -left); x < w && x + left < width; x++) {
      const from = ((y + top) * width + x + left) * channels;
      out.set(levels.subarray(from, from + channels), (y * w + x) * channels);
    }
  }
  return { width: w, height: h, channels, levels: out };
}

/** size: [width, height] after resizing; left, top: where the crop begins in it; crop: its [height, width].
 *  how.resize: [height, width] for a straight resize, a number for the shorter side. */
export function geometry({ width, height }, how) {
  if (Array.isArray(how.resize)) [height, width] = how.resize;
  else if (how.resize !== null) {
    const long = Math.trunc((how.resize * Math.max(width, height)) / Math.min(width, height));
    [width, height] = width <= height ? [how.resize, long] : [long, how.resize];
  }
  const [h, w] = how.crop ?? [height, width];
  return { size: [width, height], left: Math.floor((width - w) / 2), top: Math.floor((height - h) / 2), crop: [h, w] };
}

/** The resized and cropped picture, before it becomes numbers: exactly the pixels that the model sees. */
function seen(picture, how, { C }) {
  const { size, left, top } = geometry(picture, how);
  const resized = resize(C === 1 ? grey(picture) : picture, size, how.resample);
  return how.crop ? cropped(resized, left, top, how.crop) : resized;
}

/** Levels -> x: C planes of H x W numbers, (level / 255 - mean) / std, rounded to float32 where Python rounds. */
export function normalise({ channels, levels }, { rescale, mean, std }) {
  const f = Math.fround;
  const planes = mean.map((m, c) => Float32Array.from({ length: 256 }, (_, v) => f(f(f(v * rescale) - f(m)) / f(std[c]))));
  const size = levels.length / channels;
  const x = new Float32Array(levels.length);
  for (let i = 0; i < levels.length; i++) x[(i % channels) * size + Math.floor(i / channels)] = planes[i % channels][levels[i]];
  return x;
}

/** Any picture -> x, as Python's `preprocess` makes it. */
export const prepare = (picture, how, config) => normalise(seen(picture, how, config), how);
