// Eq. 5 to 8, worked out in the page, with no kernel.
// They are what vitbook.studies.pencil's steps are; the tests hold them side by side.

/** The parts of a head's projection, in the order of its columns, and their inks. */
export const PARTS = { q: 0, k: 1, v: 2 };
export const INKS = { q: "query", k: "key", v: "value" };

const times = (X, Y) => X.map((row) => Y[0].map((_, c) => row.reduce((sum, x, r) => sum + x * Y[r][c], 0)));
const transposed = (X) => X[0].map((_, c) => X.map((row) => row[c]));

function softmax(row) {
  const top = Math.max(...row); // taken off first, so that no exponential overflows
  const powers = row.map((s) => Math.exp(s - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}

/** Eq. 5 to 8: z (N, D), U_qkv a (D, 3 D_h) a head, U_msa (k D_h, D) -> every step, by the names of vitbook.studies.pencil. */
export function compute({ z, U_qkv, U_msa }) {
  const heads = U_qkv.map((U) => {
    const D_h = U[0].length / 3;
    const [q, k, v] = [0, 1, 2].map((part) => times(z, U.map((row) => row.slice(part * D_h, (part + 1) * D_h))));
    const dots = times(q, transposed(k));
    const scores = dots.map((row) => row.map((dot) => dot / Math.sqrt(D_h)));
    const A = scores.map(softmax);
    return { q, k, v, dots, scores, A, SA: times(A, v) };
  });
  const joined = z.map((_, i) => heads.flatMap((head) => head.SA[i]));
  return { heads, joined, MSA: times(joined, U_msa) };
}
