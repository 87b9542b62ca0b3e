// What the widget for one query says.
import { describe, minus, place } from "../kit/words.js";
import { halfOf } from "./steps.js";

/** What the scores are divided by: whole where it is, else with two digits. */
export const divided = (divisor) => (Math.abs(divisor - Math.round(divisor)) < 1e-9 ? String(Math.round(divisor)) : divisor.toFixed(2));

const isNear = (a, b) => Math.abs(a - b) < 1e-6 * b;

/** The setting of the slider in words. */
export function setting(divisor, root) {
  const by = `divided by ${divided(divisor)}`;
  if (isNear(divisor, root)) return `${by}, the root, as in the model`;
  if (isNear(divisor, 1)) return "not divided";
  return divisor < root ? `${by}, less than the model does` : `${by}, more than the model does`;
}

export const title = ({ layer, head, columns }, query) => `Layer ${layer}, head ${head}: what ${spot(query, columns)} reads`;

export const spot = (token, columns) => (token === 0 ? "[class]" : `patch (${place(token, columns).row}, ${place(token, columns).column})`);

export function softmaxWords({ weights }, order) {
  const half = halfOf(weights, order);
  return `Largest weight ${weights[order[0]].toFixed(2)}. ${half === 1 ? "One token gets" : `The first ${half} tokens together get`} half of the attention or more.`;
}

export const scoreWords = ({ scores }) =>
  `2. Its scores with all patches, from ${minus(Math.min(...scores.slice(1)).toFixed(1))} to ${minus(Math.max(...scores.slice(1)).toFixed(1))}: the stronger the colour, the higher`;

/** For a screen reader, once the changes pause. */
export function summary(data, query, found, order, divisor) {
  const read = order.slice(0, 3).map((token) => `${describe(token, data.columns)} ${found.weights[token].toFixed(3)}`);
  return `${title(data, query)}. Scores ${setting(divisor, Math.sqrt(data.D_h))}. ${softmaxWords(found, order)} Most read: ${read.join("; ")}.`;
}
