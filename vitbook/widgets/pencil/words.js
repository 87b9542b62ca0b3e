// The arithmetic behind a number, and what belongs to it: what vitbook.studies.pencil's closed lines say, to the letter.
import { PARTS } from "./equations.js";

const LARGEST_POWER = 700; // above it e to a power is taken relative to the row's largest score

const DIGITS = 3; // of a result
const MOST_DIGITS = 15; // of its terms

/** To so many decimals as Python rounds: where a number lies in the very middle, to the even digit. */
export function fixed(x, digits = DIGITS) {
  const halves = x * 2 ** (digits + 1);
  if (Number.isInteger(halves) && halves % 2) {
    const below = Math.floor(x * 10 ** digits);
    return ((below % 2 ? below + 1 : below) / 10 ** digits).toFixed(digits);
  }
  return x.toFixed(digits);
}

/** Whole numbers without decimals, others with three or as said, very large ones with an exponent; no minus before a zero. */
export function written(x, digits = DIGITS) {
  if (Math.abs(x) >= 1e9) return x.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2");
  const text = Number.isInteger(x) ? x.toFixed(0) : fixed(x, digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/**
 * A line with so many digits in its terms that a calculator makes of them the result as it is written.
 * compute: from the terms to the result; spell: from their texts to what stands between the signs of equality.
 */
function closed(name, terms, value, compute, spell) {
  const result = written(value);
  const unit = Math.abs(value) >= 1e9 ? 10 ** (Number(result.split("e")[1]) - DIGITS) : 10 ** -DIGITS;
  const told = (digits) => terms.map((term) => term.map((x) => written(x, digits)));
  const off = (digits) => Math.abs(compute(told(digits).map((term) => term.map(Number))) - Number(result)) / unit;
  const all = Array.from({ length: MOST_DIGITS - DIGITS + 1 }, (_, n) => DIGITS + n);
  const enough = all.find((digits) => off(digits) < 0.5 - 1e-6) ?? all.find((digits) => off(digits) < 0.5 + 1e-6) ?? DIGITS;
  return `${name} = ${spell(told(enough))} = ${result}`;
}

const bracketed = (text) => (text.startsWith("-") ? `(${text})` : text);
const total = (terms) => terms.reduce((sum, term) => sum + term.reduce((a, b) => a * b, 1), 0);
const sumOf = (name, terms, value) =>
  closed(name, terms, value, total, (texts) => texts.map((term) => term.map(bracketed).join("·")).join(" + "));
const quotient = (name, a, b) => closed(name, [[a, b]], a / b, ([[x, y]]) => x / y, ([texts]) => texts.map(bracketed).join(" / "));
const power = (name, p) => closed(name, [[p]], Math.exp(p), ([[x]]) => Math.exp(x), ([[text]]) => `exp(${text})`);
const pairs = (left, right) => left.map((x, n) => [x, right[n]]);
const column = (X, c) => X.map((row) => row[c]);

/** Whether a matrix is one of every head. */
export const ofHead = (what) => what in PARTS || ["U_qkv", "scores", "A", "SA"].includes(what);

/** ``q_1[0, 2]``: head 1, token t0, third column, counted from 0. */
export const nameOf = ({ what, head, row, column }) => `${what}${head ? `_${head}` : ""}[${row}, ${column}]`;

/** A cell in words for a screen reader. */
export function spoken({ what, row, column }, head) {
  const rows = ["U_qkv", "U_msa"].includes(what) ? `row ${row}` : `t${row}`;
  const columns = ["scores", "A"].includes(what) ? `key t${column}` : `column ${column}`;
  return `${what}${ofHead(what) ? ` of head ${head}` : ""}, ${rows}, ${columns}`;
}

/** The arithmetic behind one number, line by line as one would write it; for a number that is given, where it goes. */
export function explain({ z, U_qkv, U_msa }, found, cell) {
  const { what, row: i, column: c } = cell;
  const D_h = U_qkv[0][0].length / 3;
  if (what === "joined") return explain({ z, U_qkv, U_msa }, found, { what: "SA", head: Math.floor(c / D_h) + 1, row: i, column: c % D_h });
  const h = cell.head;
  const head = h && found.heads[h - 1];
  const name = nameOf(cell);
  if (what in PARTS) return [sumOf(name, pairs(z[i], column(U_qkv[h - 1], PARTS[what] * D_h + c)), head[what][i][c])];
  if (what === "scores") {
    const dot = head.dots[i][c];
    return [sumOf(`dot_${h}[${i}, ${c}]`, pairs(head.q[i], head.k[c]), dot), quotient(`score_${h}[${i}, ${c}]`, dot, Math.sqrt(D_h))];
  }
  if (what === "A") return softmaxLines(name, head.scores[i], cell);
  if (what === "SA") return [sumOf(name, pairs(head.A[i], column(head.v, c)), head.SA[i][c])];
  if (what === "MSA") return [sumOf(name, pairs(found.joined[i], column(U_msa, c)), found.MSA[i][c])];
  const given = { z, U_qkv: h && U_qkv[h - 1], U_msa }[what][i][c];
  return [`${name} = ${written(given)}, given`, GOES[what](i, c, D_h)];
}

/** One row of a softmax: every power of e, their sum, and the quotient that cell asks for. */
function softmaxLines(name, scores, { head: h, row: i, column: c }) {
  const shift = Math.max(...scores.map(Math.abs)) > LARGEST_POWER ? Math.max(...scores) : 0;
  const powers = scores.map((s) => s - shift);
  const exps = powers.map(Math.exp);
  const sum = exps.reduce((a, b) => a + b);
  return [
    ...powers.map((p, n) => power(`exp_${h}[${i}, ${n}]`, p)),
    sumOf(`sum_${h}[${i}]`, exps.map((e) => [e]), sum),
    quotient(name, exps[c], sum),
  ];
}

const GOES = {
  z: (i) => `It enters q, k and v of token t${i} in every head; through k and v it reaches the rows of all tokens.`,
  U_qkv: (r, c, D_h) => `It multiplies number ${r} of every token and goes into column ${c % D_h} of ${"qkv"[Math.floor(c / D_h)]}.`,
  U_msa: (r, c) => `It multiplies column ${r} of [SA_1; SA_2; …] and goes into column ${c} of MSA.`,
};

/**
 * What belongs to one number: its way (the row of its token through all steps; as a key it is a column of the scores), and
 * the numbers it is made from. Each entry is [matrix, row or null for all, column or null for all].
 */
export function related({ what, row: i, column: c }, D_h) {
  const asQuery = ["z", "q", "scores", "A", "SA", "joined", "MSA"].map((name) => [name, i, null]);
  const asKey = [["z", i, null], ["k", i, null], ["v", i, null], ["scores", null, i], ["A", null, i]];
  const projected = [["z", i, null], ["U_qkv", null, PARTS[what] * D_h + c]];
  const part = "qkv"[Math.floor(c / D_h)];
  return {
    z: () => ({ way: [...asQuery, ["k", i, null], ["v", i, null]], from: [] }),
    U_qkv: () => ({ way: [[part, null, c % D_h]], from: [["z", null, i]] }),
    U_msa: () => ({ way: [["MSA", null, c]], from: [["joined", null, i]] }),
    q: () => ({ way: asQuery, from: projected }),
    k: () => ({ way: asKey, from: projected }),
    v: () => ({ way: asKey, from: projected }),
    scores: () => ({ way: asQuery, from: [["q", i, null], ["k", c, null]] }),
    A: () => ({ way: asQuery, from: [["scores", i, null]] }),
    SA: () => ({ way: asQuery, from: [["A", i, null], ["v", null, c]] }),
    joined: () => ({ way: asQuery, from: [] }),
    MSA: () => ({ way: asQuery, from: [["joined", i, null], ["U_msa", null, c]] }),
  }[what]();
}
