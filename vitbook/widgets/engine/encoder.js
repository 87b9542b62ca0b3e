// The encoder layer: LayerNorm, MSA, MLP, and the two residual lines, Eq. 2 and Eq. 3.
import { attentionWeights, joinHeads, qkv, selfAttention } from "./attention.js";
import { Matrix, inKernel, product, sum } from "./matrices.js";
import { untouched } from "./untouched.js";

/** LN of Eq. 2 to 4: gamma (x - mu) / sqrt(var + eps) + beta, on each row alone. */
export function layerNorm(x, { gamma, beta, eps }) {
  const out = new Matrix(x.rows, x.columns);
  for (let t = 0; t < x.rows; t++) {
    const [row, to, D] = [x.row(t), out.row(t), x.columns];
    let total = 0;
    for (let i = 0; i < D; i++) total += row[i];
    const mu = total / D;
    let squares = 0;
    for (let i = 0; i < D; i++) squares += (row[i] - mu) * (row[i] - mu);
    const root = Math.sqrt(squares / D + eps);
    for (let i = 0; i < D; i++) to[i] = (gamma[i] * (row[i] - mu)) / root + beta[i];
  }
  return out;
}

/** GELU(x) = x Phi(x), Phi the standard normal distribution function: (1 + erf(x / sqrt(2))) / 2. */
export const gelu = (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));

/** The error function within 1e-7: x times a quotient of two polynomials in x², the one that the library Eigen has for float32.
 *  Beyond 4 it is nearer to 1 than that. */
export function erf(x) {
  const e = Math.min(4, Math.max(-4, x));
  const s = e * e;
  let above = -2.72614225801306e-10;
  above = above * s + 2.77068142495902e-8;
  above = above * s - 2.10102402082508e-6;
  above = above * s - 5.69250639462346e-5;
  above = above * s - 7.34990630326855e-4;
  above = above * s - 2.95459980854025e-3;
  above = above * s - 1.60960333262415e-2;
  let below = -1.45660718464996e-5;
  below = below * s - 2.13374055278905e-4;
  below = below * s - 1.68282697438203e-3;
  below = below * s - 7.37332916720468e-3;
  below = below * s - 1.42647390514189e-2;
  return (e * above) / below;
}

/** The tanh form of GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))). */
const geluTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

const ACTIVATIONS = { gelu, gelu_tanh: geluTanh, relu: (x) => Math.max(x, 0) };

/** MLP of Eq. 3: two layers with a non-linearity between, on each token alone. */
export function mlp(x, { W_1, b_1, W_2, b_2 }, activation) {
  const hidden = product(x, W_1, b_1);
  if (!inKernel(activation, hidden)) activate(hidden.numbers, ACTIVATIONS[activation]);
  return product(hidden, W_2, b_2);
}

function activate(numbers, act) {
  for (let i = 0; i < numbers.length; i++) numbers[i] = act(numbers[i]);
}

/** Eq. 2: z'_l = MSA(LN(z_{l-1})) + z_{l-1}. l: the layer's number, from 1, for who changes something there. */
export function attend(z, layer, { heads, eps }, l, edited = untouched) {
  const norm = { gamma: layer.gamma_1, beta: layer.beta_1, eps };
  const normed = edited("LN", layerNorm(z, norm), { x: z });
  const [q, k, v] = qkv(normed, layer, heads);
  const sa = q.map((_, h) => edited("SA", selfAttention(attentionWeights(q[h], k[h], edited), v[h]), { l, h: h + 1 }));
  const msa = edited("MSA", joinHeads(sa, layer.U_msa, layer.b_msa), { l });
  return { q, k, v, msa, z_prime: edited("sum", sum(msa, edited("skip", z)), norm) };
}

/** Eq. 3: z_l = MLP(LN(z'_l)) + z'_l. */
export function transform(z_prime, layer, { activation, eps }, l, edited = untouched) {
  const norm = { gamma: layer.gamma_2, beta: layer.beta_2, eps };
  const normed = edited("LN", layerNorm(z_prime, norm), { x: z_prime });
  const out = edited("MLP", mlp(normed, layer, activation), { l });
  return { mlp: out, z: edited("z", edited("sum", sum(out, edited("skip", z_prime)), norm), { l }) };
}
