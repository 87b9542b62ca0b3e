// A layer's numbers as packing.py stores them, and what is read off them.
// Layers and heads count from 1, tokens from 0 = [class], patch p is token p + 1.
import { largest } from "../kit/colours.js";

const LEVELS = 255;

/** A layer's maps: `maps` squares over N + 1 tokens, the mean over heads first (or L rollouts). */
export class Stack {
  constructor(buffer, maps, N) {
    const tokens = N + 1;
    const expected = 4 * maps * (4 * tokens + N) + maps * tokens * N;
    if (buffer.byteLength !== expected) throw new Error(`expected ${expected} bytes, got ${buffer.byteLength}`);
    let at = 0;
    const table = (length) => {
      const part = new Float32Array(buffer, at, length);
      at += 4 * length;
      return part;
    };
    Object.assign(this, { maps, N, tokens, bytes: buffer.byteLength });
    this.rowSums = table(maps * tokens);
    this.columnSums = table(maps * tokens);
    this.toClass = table(maps * tokens);
    this.rowTops = table(maps * tokens);
    this.columnTops = table(maps * N);
    this.codes = new Uint8Array(buffer, at);
  }

  /** What `query` reads: {patches (N numbers), toClass, sum, top, step}. step: the largest error of a stored weight. */
  row(map, query) {
    const at = map * this.tokens + query;
    const top = this.rowTops[at];
    const patches = new Float64Array(this.N);
    for (let j = 0; j < this.N; j++) {
      const unit = query === 0 ? top : Math.min(top, this.columnTops[map * this.N + j]);
      patches[j] = (this.codes[at * this.N + j] / LEVELS) * unit;
    }
    return { patches, toClass: this.toClass[at], sum: this.rowSums[at], top, step: top / (2 * LEVELS) };
  }

  /** Who reads `token`: the same fields, patch i's number being what patch i gives `token`, toClass what [class] gives. */
  column(map, token) {
    const patches = new Float64Array(this.N);
    const sum = this.columnSums[map * this.tokens + token];
    if (token === 0) {
      for (let i = 0; i < this.N; i++) patches[i] = this.toClass[map * this.tokens + i + 1];
      return { patches, toClass: this.toClass[map * this.tokens], sum, top: largest(patches), step: 0 };
    }
    const top = this.columnTops[map * this.N + token - 1];
    const weight = (i, unit) => (this.codes[(map * this.tokens + i) * this.N + token - 1] / LEVELS) * unit;
    for (let i = 0; i < this.N; i++) {
      patches[i] = weight(i + 1, Math.min(this.rowTops[map * this.tokens + i + 1], top));
    }
    const toClass = weight(0, this.rowTops[map * this.tokens]);
    return { patches, toClass, sum, top, step: top / (2 * LEVELS) };
  }

  read(map, token, reverse) {
    return reverse ? this.column(map, token) : this.row(map, token);
  }

  /** The largest weight on a patch in one map, for one token or (token undefined) for any. */
  top(map, reverse, token) {
    const tops = reverse ? this.columnTops : this.rowTops;
    const width = reverse ? this.N : this.tokens;
    if (reverse && token === 0) return this.column(map, 0).top;
    if (token !== undefined) return tops[map * width + token - (reverse ? 1 : 0)];
    return largest(tops.subarray(map * width, (map + 1) * width));
  }
}

/** The same of weights that are all here as they are, float32, square after square: what the model in the page computes. */
export class Squares {
  constructor(numbers, maps, N) {
    Object.assign(this, { numbers, maps, N, tokens: N + 1, bytes: numbers.byteLength });
  }

  read(map, token, reverse) {
    const [from, step] = reverse ? [token, this.tokens] : [token * this.tokens, 1];
    const start = map * this.tokens ** 2 + from;
    const all = Float64Array.from({ length: this.tokens }, (_, i) => this.numbers[start + i * step]);
    const patches = all.subarray(1);
    return { patches, toClass: all[0], sum: all.reduce((a, b) => a + b, 0), top: largest(patches), step: 0 };
  }

  top(map, reverse, token) {
    if (token !== undefined) return this.read(map, token, reverse).top;
    let top = 0;
    for (let t = reverse ? 1 : 0; t < this.tokens; t++) {
      const start = (map * this.tokens + t) * this.tokens;
      top = Math.max(top, largest(this.numbers.subarray(start + 1, start + this.tokens)));
    }
    return top;
  }
}

/** Only one query's rows of a layer, as `rows_bytes` writes them: the page's first map, there before anything is loaded. */
export class Rows {
  constructor(buffer, maps, N, query) {
    Object.assign(this, { maps, N, query });
    this.rowSums = new Float32Array(buffer, 0, maps);
    this.toClass = new Float32Array(buffer, 4 * maps, maps);
    this.rowTops = new Float32Array(buffer, 8 * maps, maps);
    this.codes = new Uint8Array(buffer, 12 * maps);
  }

  holds(query, reverse, everyQuery) {
    return query === this.query && !reverse && !everyQuery;
  }

  read(map) {
    const top = this.rowTops[map];
    const patches = Float64Array.from(this.codes.subarray(map * this.N, (map + 1) * this.N), (c) => (c / LEVELS) * top);
    return { patches, toClass: this.toClass[map], sum: this.rowSums[map], top, step: top / (2 * LEVELS) };
  }

  top(map) {
    return this.rowTops[map];
  }
}

/** a - b, field by field; moved: the share of all weight that would have to move to turn one into the other. */
export function difference(a, b) {
  const patches = a.patches.map((w, i) => w - b.patches[i]);
  const toClass = a.toClass - b.toClass;
  const moved = (patches.reduce((total, d) => total + Math.abs(d), 0) + Math.abs(toClass)) / 2;
  return { patches, toClass, sum: a.sum - b.sum, top: largest(patches.map(Math.abs)), step: a.step + b.step, moved };
}

/** Which square of which stack shows a choice; layer 0 is the stack of rollouts. show: 0 a head, 1 the mean, 2 rollout. */
export function square({ show, layer, head }) {
  if (show === 2) return { layer: 0, map: layer - 1 };
  return { layer, map: show === 1 ? 0 : head };
}

/** The map that a choice asks for. */
export const mapOf = (stack, choice) => stack.read(square(choice).map, choice.query, choice.reverse);

/** The top of the colour scale, shared by the heads of a layer (or by the rollouts) unless the reader asks otherwise,
 *  and the map that sets it: {top, peer}, peer null where it is this map. */
export function scaleOf(stack, choice, map) {
  if (choice.scale === 2) return { top: map.top, peer: null };
  const first = choice.show === 2 ? 0 : 1; // of a layer, the mean is no peer
  const token = choice.scale === 1 ? undefined : choice.query;
  let [top, peer] = [map.top, null];
  for (let n = first; n < stack.maps; n++) {
    const other = stack.top(n, choice.reverse, token);
    if (other > top) [top, peer] = [other, n];
  }
  return { top, peer };
}
