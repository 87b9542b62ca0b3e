// What the explorer says about a map. `shown` is what maps.js gives: the choice, its numbers, their scale.
import { peak } from "../kit/colours.js";
import { describe, exact, figure, minus, place } from "../kit/words.js";

export function mapName({ show, layer, head, edit }, sizes) {
  const changed = edit ? " of the changed model" : "";
  if (show === 2) return `Rollout up to layer ${layer}${changed}`;
  return `${show === 1 ? `Layer ${layer}, mean of ${sizes.heads} heads` : `Layer ${layer}, head ${head}`}${changed}`;
}

export function title(choice, sizes) {
  const token = describe(choice.query, sizes.columns);
  return `${mapName(choice, sizes)}: ${choice.reverse ? `who reads ${token}` : `what ${token} reads`}`;
}

function scaleWords({ scale, show, reverse }, sizes) {
  const peers = show === 2 ? `the rollouts of all ${sizes.L} layers` : `all ${sizes.heads} heads of this layer`;
  const single = show === 2 ? sizes.L === 1 : sizes.heads === 1;
  if (scale === 2) return "this map’s own scale: not comparable with other maps";
  if (scale === 1) return `one scale for ${single ? "" : `${peers} and `}every ${reverse ? "token read" : "query"}`;
  return single ? "the scale of this map" : `one scale for ${peers}`;
}

export function barWords({ choice, sizes, scale, smooth }) {
  const invented = smooth ? "; smoothed, the colours between patch centres are invented" : "";
  if (scale.signed) return `difference of weights, A minus B; the largest size sets both ends${invented}`;
  const setter = choice.show === 2 ? `layer ${scale.peer + 1}` : `head ${scale.peer}`;
  const sets = scale.peer === null ? "" : `; ${setter} sets its top`;
  return `weight on one patch: ${scaleWords(choice, sizes)}${sets}; the light on the photograph is full at this map’s largest${invented}`;
}

/** Ticks of the colour bar: [share, words, kind]. */
export function ticks({ choice, sizes, scale: { top, signed }, map }) {
  if (signed) return [[0, figure(-top, map.step), "low"], [0.5, "0", "mid"], [1, figure(top, map.step), "high"]];
  const even = 1 / (sizes.N + 1) / top;
  const ends = [[0, "0", "low"], [1, exact(top), "high"]];
  return !choice.reverse && even > 0.1 && even < 0.78 ? [...ends, [even, "even", "mid"]] : ends;
}

const most = ({ map, sizes }) => {
  const at = peak(map.patches);
  return { weight: map.patches[at], where: describe(at + 1, sizes.columns) };
};

/** The lines below a difference: [name, words]. */
export function differenceFacts(shown) {
  const { choice, map } = shown;
  const { weight, where } = most(shown);
  const facts = [
    ["Largest difference", `${figure(weight, map.step)} at ${where}`],
    ["Difference on [class]", figure(map.toClass, Math.max(map.step, 5e-5))],
  ];
  return choice.reverse ? facts : [...facts, ["Weight that moves", `${(100 * map.moved).toFixed(1)}% of each row`]];
}

/** The sum of a map in words, and what it says of [class]. */
export function sumFact({ choice, sizes, map }) {
  const rest = ` + ${sizes.N} patches ${(map.sum - map.toClass).toFixed(4)} = ${map.sum.toFixed(6)}`;
  return { name: choice.reverse ? "Column sum" : "Row sum", toClass: `[class] ${map.toClass.toFixed(4)}`, rest };
}

export const mostFact = (shown) =>
  [shown.choice.reverse ? "Read most by" : "Reads most", `${most(shown).where}, ${exact(shown.map.top)}`];

export const evenFact = ({ sizes: { N } }) => ["Spread evenly", `1/${N + 1} = ${(1 / (N + 1)).toFixed(4)} each`];

export function pointedWords(pointed, { choice, sizes, map, scale }) {
  if (pointed === 0) return `token 0 = [class]: ${figure(map.toClass, scale.signed ? map.step : 0)}`;
  const { patch, row, column } = place(pointed, sizes.columns);
  const weight = map.patches[pointed - 1];
  const times = scale.signed || choice.reverse ? "" : `, ${(weight * (sizes.N + 1)).toFixed(2)} times an even share`;
  return `token ${pointed} → patch ${patch} → row ${row}, column ${column}: ${figure(weight, map.step)}${times}`;
}

/** For a screen reader, once the changes pause. */
export function summary(shown, pointed) {
  const { choice, sizes, map, scale } = shown;
  const { weight, where } = most(shown);
  const point = pointed === null ? "" : ` ${pointedWords(pointed, shown)}.`;
  const largest = scale.signed ? figure(weight, map.step) : exact(map.top);
  return `${title(choice, sizes)}. [class] ${minus(map.toClass.toFixed(3))}. Largest ${largest} at ${where}.${point}`;
}

/** The name of a small map for those who do not see it. */
export const thumbWords = (name, map, columns) =>
  `${name}: largest weight ${exact(map.top)}${columns ? ` at ${describe(peak(map.patches) + 1, columns)}` : ""}, [class] ${map.toClass.toFixed(3)}`;
