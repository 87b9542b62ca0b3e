// Softmax, inside Eq. 6.

/** In place; the largest number is taken off first, so that no exponential overflows. */
export function softmax(row) {
  let top = -Infinity;
  let total = 0;
  for (let j = 0; j < row.length; j++) if (row[j] > top) top = row[j];
  for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - top);
  for (let j = 0; j < row.length; j++) row[j] /= total;
}
