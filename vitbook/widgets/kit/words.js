// Numbers and places in words. Tokens count from 0 = [class], patch p is token p + 1.

/** With the minus sign of print, and none before a zero. */
export const minus = (text) => (Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−"));

/** 1234567 -> "1,234,567", of whole numbers of any length. */
export const grouped = (n) => n.toLocaleString("en-US");

export function place(token, columns) {
  const patch = token - 1;
  return { patch, row: Math.floor(patch / columns), column: patch % columns };
}

export function describe(token, columns) {
  if (token === 0) return "[class]";
  const { patch, row, column } = place(token, columns);
  return `patch ${patch} (row ${row}, column ${column})`;
}

/** A weight with no more digits than are true: step is the largest error of the stored number. */
export function figure(weight, step) {
  const digits = step > 0 ? Math.min(Math.max(Math.floor(-Math.log10(step)), 2), 9) : 4;
  return minus(weight.toFixed(digits));
}

/** Three significant digits of a weight that is stored as it is. */
export function exact(weight) {
  return weight > 0 ? weight.toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(weight)), 0), 12)) : "0";
}
