// From the bytes that packing.py writes to the weights that `run` takes.
import { Matrix, hold, makeRoom } from "./matrices.js";

/** The right factors of products: they go into the kernel's memory. All else stays as it is. */
const FACTORS = ["E", "U_q", "U_k", "U_v", "U_msa", "W_1", "W_2", "W_head"];

/** Every float16 there is as float32: one bit of sign, five of exponent, ten of fraction. */
let halves = null;
function everyHalf() {
  const table = new Float32Array(65536);
  for (let code = 0; code < 32768; code++) {
    const [exponent, fraction] = [code >> 10, (code & 1023) / 1024];
    table[code] = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
    table[code + 32768] = -table[code];
  }
  return table;
}

function numbersOf(bytes, at, count, type) {
  const part = bytes.slice(at, at + count * (type === "float16" ? 2 : 4)).buffer;
  if (type === "float32") return new Float32Array(part);
  halves ??= everyHalf();
  const [codes, numbers] = [new Uint16Array(part), new Float32Array(count)];
  for (let i = 0; i < count; i++) numbers[i] = halves[codes[i]];
  return numbers;
}

/** What the checkpoint knows, filled chunk by chunk. Raises RangeError where the browser has not enough memory. */
export class Weights {
  constructor({ config, chunks }) {
    const layers = Array.from({ length: config.L }, () => ({}));
    Object.assign(this, { config: { ...config, rows: config.H / config.P, columns: config.W / config.P }, layers });
    const padded = ([, rows, columns]) => rows * (columns + 8) + 16;
    makeRoom(chunks.flatMap((chunk) => chunk.tensors).reduce((total, tensor) => total + padded(tensor), 0));
  }

  /** One chunk's tensors into their places. */
  take(bytes, tensors) {
    let at = 0;
    for (const [name, rows, columns, type] of tensors) {
      const numbers = numbersOf(bytes, at, rows * columns, type);
      at += rows * columns * (type === "float16" ? 2 : 4);
      const [, layer, letter] = name.match(/^(?:layer (\d+): )?(\w+)$/);
      const place = layer ? this.layers[layer - 1] : this;
      place[letter] = FACTORS.includes(letter) ? hold(new Matrix(rows, columns, numbers)) : numbers;
    }
  }
}
