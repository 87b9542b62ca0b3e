// Section 2's attention patterns as rules: the lines of text of vitbook/studies/patterns.toml, worked out in the page.
import { compile, evaluate } from "../kit/formulas.js";

/** H, W, N, the parameters (chosen or by default) and the derived letters; throws an Error with words for the reader. */
export function lettersOf(pattern, H, W, chosen = {}) {
  const letters = { H, W, N: H * W };
  for (const p of pattern.parameters) {
    const value = p.letter in chosen ? chosen[p.letter] : evaluate(p.default, letters);
    if (!Number.isInteger(value) || value < p.least) throw new Error(`${p.letter} (${p.meaning}) must be a whole number of at least ${p.least}`);
    letters[p.letter] = value;
  }
  for (const [condition, message] of pattern.needs) if (!evaluate(condition, letters)) throw new Error(message);
  for (const [letter, formula] of pattern.derived) letters[letter] = evaluate(formula, letters);
  return letters;
}

export const pairsOf = (pattern, letters) => evaluate(pattern.count, letters);

/** query -> which of the N tokens it reads, as Uint8Array of 0 and 1. */
export function reader(pattern, letters) {
  const { W, N } = letters;
  const rule = compile(pattern.rule, ["i", "j", "ri", "ci", "rj", "cj", ...Object.keys(letters)]);
  const rest = Object.values(letters);
  return (i) => {
    const [ri, ci] = [Math.floor(i / W), i % W];
    return Uint8Array.from({ length: N }, (_, j) => rule(i, j, ri, ci, Math.floor(j / W), j % W, ...rest));
  };
}
