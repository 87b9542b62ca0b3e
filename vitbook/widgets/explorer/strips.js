// All heads of a layer, and all layers of a head, as rows of small maps; each is a button that chooses it.
import { paint } from "../kit/colours.js";
import { make } from "../kit/dom.js";
import { show } from "../kit/grid.js";
import { exact } from "../kit/words.js";
import { mapOf } from "./stack.js";
import { thumbWords } from "./words.js";

/** As many buttons as there are maps; pick(n) is called with the place of the one that is pressed. */
function fill(element, maps, label, pick) {
  const count = maps.length;
  element.style.setProperty("--vb-count", Math.ceil(count / Math.ceil(count / 8)));
  while (element.children.length > count) element.lastChild.remove();
  while (element.children.length < count) {
    const n = element.children.length;
    const canvas = make("canvas", { class: "vbx-cells", "aria-hidden": "true" });
    element.append(make("button", { type: "button", class: "vbx-thumb", onclick: () => pick(n) }, canvas, make("span", {}, label(n))));
  }
}

function draw(buttons, maps, top, { sizes, tables }, chosen, words) {
  maps.forEach((map, n) => {
    const button = buttons[n];
    show(button.firstChild, paint(map.patches, top(map), tables.weights), sizes);
    button.ariaPressed = String(chosen(n));
    button.ariaLabel = button.title = words(n, map);
  });
}

export function drawHeads({ heads: { element, words } }, shown, choices) {
  const { choice, stack, sizes, scale, top } = shown;
  element.hidden = words.hidden = choice.show === 2 || sizes.heads === 1;
  if (element.hidden) return;
  words.textContent = `The heads of layer ${choice.layer}, ` + (choice.scale === 2 ? "each on its own scale" : "on one scale");
  element.ariaLabel = `Heads of layer ${choice.layer}`;
  const maps = Array.from({ length: sizes.heads + 1 }, (_, n) => stack.read(n, choice.query, choice.reverse));
  fill(element, maps, (n) => (n === 0 ? "mean" : `${n}`), (n) => choices.set(n === 0 ? { show: 1 } : { show: 0, head: n }));
  const own = (map) => (choice.scale === 2 ? map.top : scale.signed ? Math.max(top, map.top) : top);
  const chosen = (n) => (choice.show === 1 ? n === 0 : n === choice.head);
  draw(element.children, maps, own, shown, chosen, (n, map) => thumbWords(n === 0 ? "Mean of all heads" : `Head ${n}`, map, sizes.columns));
}

const subject = ({ show, head }) => (show === 2 ? "the rollout" : show === 1 ? "the mean" : `head ${head}`);

/** maps: where layers come from; open: whether the reader wants them; again(promise): draw once more when it is kept. */
export function drawLayers(page, shown, choices, maps, open, again) {
  const { layers: { element, words }, atlas, openLayers } = page;
  const { choice, sizes } = shown;
  const everyHead = choice.show !== 2 && sizes.heads > 1;
  openLayers.hidden = sizes.L === 1;
  const what = everyHead ? `All ${sizes.L} layers and ${sizes.heads} heads at a glance` : `All ${sizes.L} layers of ${subject(choice)} at a glance`;
  openLayers.textContent = open ? "Hide the layers" : what;
  openLayers.ariaExpanded = String(open);
  words.hidden = !open || sizes.L === 1;
  element.hidden = words.hidden || everyHead;
  atlas.element.hidden = words.hidden || !everyHead;
  if (words.hidden) return;
  const asked = Array.from({ length: sizes.L }, (_, l) => ({ ...choice, layer: l + 1 }));
  const missing = asked.filter((each) => !maps.ready(each));
  if (missing.length) {
    words.textContent = `${sizes.L - missing.length} of ${sizes.L} layers are here …`;
    return again(maps.load(missing[0]));
  }
  if (everyHead) return drawAtlas(page, shown, choices, asked.map((each) => maps.ready(each)));
  const all = asked.map((each) => mapOf(maps.ready(each), each));
  const top = Math.max(...all.map((map) => map.top));
  const scale = choice.scale === 2 ? "each on its own scale" : `on one scale from 0 to ${exact(top)}`;
  words.textContent = `The layers of ${subject(choice)}, ${scale}`;
  element.ariaLabel = `Layers of ${subject(choice)}`;
  fill(element, all, (l) => `${l + 1}`, (l) => choices.set({ layer: l + 1 }));
  const own = (map) => (choice.scale === 2 ? map.top : top);
  draw(element.children, all, own, shown, (l) => choice.layer === l + 1, (l, map) => thumbWords(`Layer ${l + 1}`, map));
}

/** Every layer, a row each, and every head, a column each, with the mean before them. */
function drawAtlas({ atlas, layers: { words } }, shown, choices, stacks) {
  const { choice, sizes } = shown;
  words.textContent = "Every layer (rows) and every head (columns) of this choice, each map on its own scale";
  atlas.build(sizes, (layer, map) => choices.set(map ? { layer, show: 0, head: map } : { layer, show: 1 }));
  const wide = sizes.heads + 1;
  const all = stacks.flatMap((stack) => Array.from({ length: wide }, (_, n) => stack.read(n, choice.query, choice.reverse)));
  const at = (choice.layer - 1) * wide + (choice.show === 1 ? 0 : choice.head);
  const name = (n) => `Layer ${Math.floor(n / wide) + 1}, ${n % wide ? `head ${n % wide}` : "mean of all heads"}`;
  draw(atlas.buttons, all, (map) => map.top, shown, (n) => n === at, (n, map) => thumbWords(name(n), map));
  atlas.buttons.forEach((button, n) => (button.tabIndex = n === at ? 0 : -1));
}
