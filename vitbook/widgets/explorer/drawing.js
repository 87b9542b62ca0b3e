// A map's numbers on the page: panels, words beside them, figures, the colour bar.
import { paint, paintSigned, ramp, veil } from "../kit/colours.js";
import { make } from "../kit/dom.js";
import { mark, show } from "../kit/grid.js";
import { describe, figure } from "../kit/words.js";
import { barWords, differenceFacts, evenFact, mapName, mostFact, pointedWords, sumFact, ticks, title } from "./words.js";

/** A photograph in its panel, with what the model sees of it. */
export function drawPicture({ image, seen, frame, element }, card, address) {
  const [left, top, right, bottom] = card.box;
  Object.assign(seen.style, {
    left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * (right - left)}%`, height: `${100 * (bottom - top)}%`,
  });
  frame.style.setProperty("--vb-aspect", card.width / card.height);
  element.classList.toggle("vbx-cropped", left > 0 || top > 0 || right < 1 || bottom < 1);
  image.alt = card.alt;
  return address.then((url) => image.getAttribute("src") !== url && (image.src = url));
}

/** As wide as their shapes ask, so that all panels are about equally high. */
export function drawShapes({ stage, grid }, cards, { rows, columns }) {
  grid.frame.style.setProperty("--vb-aspect", columns / rows);
  const shapes = [...cards.map(({ width, height }) => width / height), columns / rows];
  const shares = shapes.map((shape) => Math.min(Math.max(shape, 0.7), 1.7));
  stage.style.setProperty("--vb-columns", shares.map((share) => `minmax(0, ${share}fr)`).join(" "));
}

export function drawPanels({ el, photo, other, grid, panels }, { choice, own, against, map, top, scale, sizes, tables, smooth }, opacity) {
  const weights = ({ patches }) => paint(patches, top, tables.weights);
  show(photo.canvas, veil(own.patches, own.top), sizes);
  other.element.hidden = !against;
  if (against) show(other.canvas, veil(against.patches, against.top), sizes);
  show(grid.canvas, scale.signed ? paintSigned(map.patches, map.top, tables.signed) : weights(map), sizes);
  el.classList.toggle("vbx-comparing", Boolean(against));
  el.classList.toggle("vbx-smooth", smooth);
  el.style.setProperty("--vb-opacity", opacity);
  for (const { asked } of panels) mark(asked, choice.query, sizes);
  photo.star.classList.toggle("vbx-chosen", choice.query === 0);
}

export function drawWords(page, shown) {
  const { choice, pinned, sizes, cards } = shown;
  page.title.textContent = title(choice, sizes);
  drawPhotoWords(page.photo, shown);
  if (pinned) {
    page.other.note.textContent = "compared with";
    page.other.caption.textContent = `B: ${cards[pinned.picture].title}, ${mapName(pinned, sizes).toLowerCase()}`;
    page.other.frame.ariaLabel = page.other.caption.textContent;
  }
  drawGridWords(page.grid, shown);
  page.compare.hidden = Boolean(pinned && !pinned.edit && choice.edit);
  page.compare.textContent = pinned ? "Stop comparing" : "Compare: keep this map and choose another";
  page.compare.ariaPressed = String(Boolean(pinned));
}

function drawPhotoWords({ note, caption, star, frame }, { choice, pinned, sizes, cards }) {
  const token = describe(choice.query, sizes.columns);
  const name = cards[choice.picture].title;
  note.textContent = choice.reverse ? `${token} is read` : choice.query === 0 ? "[class] asks" : token;
  caption.textContent = pinned ? `A: ${name}, ${mapName(choice, sizes).toLowerCase()}` : name;
  star.title = star.ariaLabel = "Read from [class], token 0";
  star.ariaPressed = String(choice.query === 0);
  const role = choice.reverse ? "Token that is read" : "Query";
  frame.ariaLabel = `${name}. ${role}: ${token}. Arrow keys choose another patch, c chooses [class].`;
}

function drawGridWords({ note, caption, star, frame }, { choice, pinned, map, sizes }) {
  const weight = figure(map.toClass, pinned || (choice.reverse && choice.query) ? map.step : 0);
  note.replaceChildren(make("b", {}, weight), pinned ? "" : ` ${choice.reverse ? "from" : "to"} [class]`);
  star.title = star.ariaLabel = "Point at [class]";
  caption.textContent = pinned ? "A − B, patch by patch" : `The ${sizes.rows} × ${sizes.columns} weights, bare`;
  frame.ariaLabel = `${sizes.rows} by ${sizes.columns} weights. Arrow keys point at a patch, Enter reads from it.`;
}

export function drawFacts({ facts, pointedFact }, shown) {
  const lines = shown.pinned ? differenceFacts(shown) : [mostFact(shown), sumLine(shown)];
  if (!shown.pinned && !shown.choice.reverse) lines.push(evenFact(shown));
  const pairs = lines.map(([name, ...words]) => [make("dt", {}, name), make("dd", {}, ...words)]);
  pairs.push([make("dt", {}, "Pointed at"), pointedFact]);
  facts.replaceChildren(...pairs.map((pair) => make("div", {}, ...pair)));
}

/** The sum, and for a row a bar with the share of [class]. */
function sumLine(shown) {
  const { choice, map } = shown;
  const { name, toClass, rest } = sumFact(shown);
  const share = make("span", { style: `width:${100 * Math.min(map.toClass / (map.sum || 1), 1)}%` });
  const end = choice.reverse ? " (columns need not sum to 1)" : make("span", { class: "vbx-share", "aria-hidden": "true" }, share);
  return [name, make("b", {}, toClass), rest, end];
}

export function drawBar({ bar }, shown) {
  bar.draw(ramp(shown.tables, shown.scale.signed), ticks(shown), barWords(shown));
  bar.words.classList.toggle("vbx-own-scale", shown.choice.scale === 2 && !shown.scale.signed);
}

export function drawPointed({ panels, grid, bar, pointedFact }, shown, pointed) {
  const { map, scale, sizes } = shown;
  for (const each of panels) mark(each.pointed, pointed, sizes);
  grid.star.classList.toggle("vbx-chosen", pointed === 0);
  const nothing = pointed === null;
  pointedFact.className = nothing ? "vbx-quiet" : "";
  pointedFact.textContent = nothing
    ? "nothing; point at a patch, or focus the bare grid and use the arrow keys"
    : pointedWords(pointed, shown);
  const share = pointed ? map.patches[pointed - 1] / (scale.top || 1) : null;
  bar.point(share === null ? null : scale.signed ? (1 + share) / 2 : share);
}
