// Matrices, and the one place where two of them are multiplied: in WebAssembly where the browser has it, else in JavaScript.
import { FUSED, PLAIN } from "./kernel.js";

const TILE = 4; // rows of the result that are worked out at once
const PANEL = 8; // columns of the right factor that lie together
const PAGE = 65536; // bytes by which WebAssembly's memory grows

const up = (n, step) => Math.ceil(n / step) * step;

/** So many rows of so many columns, one row after the other. */
export class Matrix {
  constructor(rows, columns, numbers = new Float32Array(rows * columns)) {
    if (numbers.length !== rows * columns) throw new Error(`${numbers.length} numbers are no ${rows} x ${columns} matrix`);
    Object.assign(this, { rows, columns, numbers });
  }

  row(i) {
    return this.numbers.subarray(i * this.columns, (i + 1) * this.columns);
  }
}

/** a + b, number by number. */
export function sum(a, b) {
  const numbers = a.numbers.slice();
  const added = b.numbers;
  for (let i = 0; i < numbers.length; i++) numbers[i] += added[i];
  return new Matrix(a.rows, a.columns, numbers);
}

/** Rows become columns, and every number is multiplied by a factor. */
export function turned({ rows, columns, numbers }, factor = 1) {
  const out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) out[j * rows + i] = numbers[i * columns + j] * factor;
  }
  return new Matrix(columns, rows, out);
}

/** A matrix that stays in the kernel's memory, as weights do: `at` says where, laid out as a right factor. */
class Held {
  constructor(rows, columns, at) {
    Object.assign(this, { rows, columns, at });
  }
}

let machine = null;

/** Gets the fastest kernel that this browser has ready, or the one of that name: "fused", "plain" or "javascript". */
export async function chooseKernel(wanted) {
  for (const [name, text] of [["fused", FUSED], ["plain", PLAIN]]) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    if ((wanted ?? name) !== name || typeof WebAssembly !== "object" || !WebAssembly.validate(bytes)) continue;
    const memory = new WebAssembly.Memory({ initial: 1 });
    try {
      const { instance } = await WebAssembly.instantiate(bytes, { page: { memory } });
      machine = { ...instance.exports, name, memory, held: 0, numbers: new Float32Array(memory.buffer) };
      return name;
    } catch {
      continue; // a page whose policy forbids WebAssembly
    }
  }
  machine = { name: "javascript", memory: null, held: 0, numbers: new Float32Array(0), multiply: multiplyInJavaScript };
  return machine.name;
}

/** Makes room for so many numbers. Raises RangeError where there is none. */
function reserve(length) {
  if (machine.numbers.length >= length) return;
  if (machine.memory) {
    machine.memory.grow(Math.ceil((4 * length - machine.memory.buffer.byteLength) / PAGE));
    machine.numbers = new Float32Array(machine.memory.buffer);
  } else {
    const larger = new Float32Array(up(length, PAGE));
    larger.set(machine.numbers);
    machine.numbers = larger;
  }
}

/** Room for weights of so many numbers, asked for at once, so that it is known at the start whether there is enough. */
export function makeRoom(length) {
  reserve(machine.held + up(length, PAGE));
}

/** Writes B as the kernel reads a right factor: panel after panel of eight columns, in each of them row after row of B. */
function lay({ rows, columns, numbers }, at) {
  const to = machine.numbers;
  for (let first = 0; first < columns; first += PANEL) {
    const wide = Math.min(PANEL, columns - first);
    for (let from = first; from < rows * columns; from += columns, at += PANEL) {
      for (let j = 0; j < wide; j++) to[at + j] = numbers[from + j];
      for (let j = wide; j < PANEL; j++) to[at + j] = 0;
    }
  }
}

/** Puts a matrix into the kernel's memory for good, as the right factor of products to come. */
export function hold(B) {
  const size = B.rows * up(B.columns, PANEL);
  reserve(machine.held + size);
  lay(B, machine.held);
  const held = new Held(B.rows, B.columns, machine.held);
  machine.held = up(machine.held + size, 16);
  return held;
}

/** A B + b. A: a Matrix; B: a Matrix, or one that is held; b: a number a column of B, or nothing. */
export function product(A, B, b) {
  if (A.columns !== B.rows) throw new Error(`a matrix of ${A.columns} columns cannot be multiplied by one of ${B.rows} rows`);
  const [rows, width] = [up(A.rows, TILE), up(B.columns, PANEL)];
  const bias = machine.held; // behind all that is held: b, the result, A, and B where it is not held
  const result = bias + width;
  const left = result + rows * width;
  const free = up(left + rows * A.columns, 16);
  const right = B instanceof Held ? B.at : free;
  reserve(right === free ? free + B.rows * width : free);
  const { numbers } = machine;
  numbers.fill(0, bias, result);
  if (b) numbers.set(b, bias);
  numbers.set(A.numbers, left);
  numbers.fill(0, left + A.numbers.length, left + rows * A.columns);
  if (!(B instanceof Held)) lay(B, right);
  machine.multiply(4 * left, 4 * A.columns, 4 * right, 4 * result, 4 * width, rows, A.columns, width, 4 * bias);
  return taken(result, A.rows, B.columns, width);
}

/** "softmax" (of every row) or "gelu" by the kernel, in place; false where there is none, and JavaScript has to do it.
 *  filler: what stands behind each row to make it a multiple of four numbers. */
export function inKernel(name, matrix, filler = 0) {
  if (!machine[name]) return false;
  const { rows, columns } = matrix;
  const [at, width] = [machine.held, up(columns, 4)];
  reserve(at + rows * width);
  const { numbers } = machine;
  if (width === columns) numbers.set(matrix.numbers, at);
  for (let i = 0; i < rows && width > columns; i++) {
    numbers.set(matrix.row(i), at + i * width);
    numbers.fill(filler, at + i * width + columns, at + (i + 1) * width);
  }
  machine[name](4 * at, rows, width);
  matrix.numbers = taken(at, rows, columns, width).numbers;
  return true;
}

/** The result without what was added to fill the last tiles. */
function taken(at, rows, columns, width) {
  if (width === columns) return new Matrix(rows, columns, machine.numbers.slice(at, at + rows * columns));
  const out = new Matrix(rows, columns);
  for (let i = 0; i < rows; i++) out.row(i).set(machine.numbers.subarray(at + i * width, at + i * width + columns));
  return out;
}

/** What tools/kernel.py writes as WebAssembly, in JavaScript; addresses and steps in bytes. */
function multiplyInJavaScript(a, aStep, b, c, cStep, rows, depth, columns, bias) {
  const [along, down] = [aStep / 4, cStep / 4];
  for (let j = 0; j < columns; j += 4) {
    const panel = b / 4 + (j - (j % PANEL)) * depth + (j % PANEL);
    for (let i = 0; i < rows; i += 2) tile(a / 4 + i * along, along, panel, c / 4 + i * down + j, down, depth, bias / 4 + j);
  }
}

/** Two rows and four columns of the result, in eight variables while k runs: so every number that is read is used more than once. */
function tile(a, along, b, c, down, depth, bias) {
  const n = machine.numbers;
  let s0 = n[bias], s1 = n[bias + 1], s2 = n[bias + 2], s3 = n[bias + 3];
  let t0 = s0, t1 = s1, t2 = s2, t3 = s3;
  for (const end = b + depth * PANEL; b < end; b += PANEL, a++) {
    const upper = n[a], lower = n[a + along];
    const b0 = n[b], b1 = n[b + 1], b2 = n[b + 2], b3 = n[b + 3];
    s0 += upper * b0;
    s1 += upper * b1;
    s2 += upper * b2;
    s3 += upper * b3;
    t0 += lower * b0;
    t1 += lower * b1;
    t2 += lower * b2;
    t3 += lower * b3;
  }
  [s0, s1, s2, s3].forEach((s, j) => (n[c + j] = s));
  [t0, t1, t2, t3].forEach((t, j) => (n[c + down + j] = t));
}
