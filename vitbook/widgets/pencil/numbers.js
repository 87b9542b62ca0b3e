// The given numbers as they stand in the cells: typed, shown, changed, taken back, told to Python.
import { put } from "../kit/dom.js";
import { minus } from "../kit/words.js";
import { compute } from "./equations.js";
import { fixed, ofHead } from "./words.js";

export const GIVEN = ["z", "U_qkv", "U_msa"];
export const LARGEST = 9999;

const copy = (given) => JSON.parse(JSON.stringify(given));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** What a reader typed -> a number, or null: decimals with point or comma, quotients such as 1/3, both signs of minus. */
export function read(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(",", ".");
  const found = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:\s*\/\s*(\d+\.?\d*|\.\d+))?$/.exec(plain);
  if (!found) return null;
  const value = Number(found[1]) / Number(found[2] ?? 1);
  return Math.abs(value) <= LARGEST ? value + 0 : null;
}

/** A given number as short as it can be written: four decimals at most. */
export function shortest(x) {
  const rounded = Math.round(x * 1e4) / 1e4;
  return String(Math.abs(x - rounded) < 1e-12 ? rounded : x.toFixed(4)).replace("-", "−");
}

/** As many decimals as every number of a matrix can be written with exactly, three at most. */
export const digitsOf = (all) => [0, 1, 2].find((d) => all.every((x) => Math.abs(x * 10 ** d - Math.round(x * 10 ** d)) < 1e-9)) ?? 3;

/** A computed number with so many decimals, as all of its matrix. */
export const tabled = (x, digits) => minus(Math.abs(x) >= 1e5 ? x.toExponential(2) : digits === 3 ? fixed(x) : x.toFixed(digits));

/** What is given now, everything that follows from it, and the way back. changed(moved): is called after every change here. */
export class Numbers {
  constructor(model, changed) {
    Object.assign(this, { model, changed, start: model.get("start"), past: [], future: [] });
    this.edit = null; // {cell, saved}: edits of one cell in one go are one step back
    this.take(this.told());
    this.original = this.found;
    if (!same(this.given, this.start)) this.original = compute(this.start);
  }

  take(given) {
    this.given = given;
    this.found = compute(given);
  }

  told() {
    return copy(Object.fromEntries(GIVEN.map((name) => [name, this.model.get(name)])));
  }

  get isStart() {
    return same(this.given, this.start);
  }

  /** A matrix by its name, of one head where every head has one. */
  matrix(what, head, given = this.given, found = this.found) {
    if (what === "U_qkv") return given.U_qkv[head - 1];
    return given[what] ?? (ofHead(what) ? found.heads[head - 1][what] : found[what]);
  }

  /** The same matrix of the numbers that it all began with. */
  before(what, head) {
    return this.matrix(what, head, this.start, this.original);
  }

  open(cell) {
    this.edit = { cell, saved: false };
  }

  /** Whether the reader is typing in a cell. */
  isOpen(cell) {
    return this.edit?.cell === cell && document.activeElement === cell.field;
  }

  put(cell, head, value) {
    const next = copy(this.given);
    this.matrix(cell.what, head, next)[cell.row][cell.column] = value;
    if (same(next, this.given)) return;
    if (this.edit?.cell !== cell || !this.edit.saved) this.past.push(copy(this.given));
    if (this.edit) this.edit.saved = true;
    this.future = [];
    this.settle(next);
  }

  reset() {
    if (this.isStart) return;
    this.past.push(copy(this.given));
    Object.assign(this, { future: [], edit: null });
    this.settle(copy(this.start));
  }

  undo() {
    this.step(this.past, this.future);
  }

  redo() {
    this.step(this.future, this.past);
  }

  step(from, to) {
    if (!from.length) return;
    this.edit = null;
    to.push(copy(this.given));
    this.settle(from.pop());
  }

  settle(next) {
    const before = this.found.MSA.flat();
    this.take(next);
    this.send();
    this.changed(this.found.MSA.flat().filter((x, n) => Math.abs(x - before[n]) > 1e-9).length);
  }

  send() {
    this.sending = true;
    put(this.model, copy(Object.fromEntries(Object.entries(this.given).filter(([name, value]) => !same(this.model.get(name), value)))));
    this.sending = false;
  }

  /** From Python, or from another view of the same widget; returns whether it is news. */
  receive() {
    const news = this.told();
    if (this.sending || same(news, this.given)) return false;
    this.past.push(this.given);
    Object.assign(this, { future: [], edit: null });
    this.take(news);
    return true;
  }
}
