// The whole model: the one file that knows the order of the steps.
import { attentionWeights } from "./attention.js";
import { embed, projectPatches } from "./embed.js";
import { attend, transform } from "./encoder.js";
import { cut } from "./patches.js";
import { classify, represent } from "./readout.js";
import { untouched } from "./untouched.js";

/** Eq. 1 to 4 on one picture. x: C planes of H x W numbers, as `prepare` in pixels.js makes them. edited: what a reader changes
 *  on the way, by default nothing (edits.js).
 *  Returns everything on the way under its letter; layer l of a list stands at index l - 1, but z[0] is z_0. */
export function run(weights, x, edited = untouched) {
  const { config } = weights;
  const x_p = edited("x_p", cut(x, config));
  const embeddings = projectPatches(x_p, weights.E, weights.b_E);
  const z_0 = embed(weights.x_class, embeddings, edited("E_pos", weights.E_pos)); // Eq. 1
  const trace = { config, edited, x_p, embeddings, z: [edited("z", z_0, { l: 0 })] };
  for (const name of ["q", "k", "v", "msa", "z_prime", "mlp"]) trace[name] = [];
  weights.layers.forEach((layer, n) => {
    const attended = attend(trace.z.at(-1), layer, config, n + 1, edited); // Eq. 2
    const transformed = transform(attended.z_prime, layer, config, n + 1, edited); // Eq. 3
    for (const [name, part] of Object.entries({ ...attended, ...transformed })) trace[name].push(part);
  });
  trace.y = represent(trace.z.at(-1), weights.gamma, weights.beta, config.eps); // Eq. 4
  trace.logits = weights.W_head ? classify(trace.y, weights.W_head, weights.b_head) : null;
  return trace;
}

/** Eq. 6: the weights A of a layer and a head, both from 1, worked out when asked for. */
export function attention(trace, layer, head) {
  return attentionWeights(trace.q[layer - 1][head - 1], trace.k[layer - 1][head - 1], trace.edited);
}
