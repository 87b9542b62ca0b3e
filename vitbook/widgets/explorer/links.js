// Links that set an explorer, such as page.html#explorer=NAME&picture=chelsea&layer=10&head=5&query=cls.
import { CHOICES, NAMES } from "./choices.js";

/** "#picture=chelsea&layer=10&head=5&query=cls" -> what it asks for, or null where it isn't about an explorer. */
export function parseLink(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  if (!CHOICES.some((key) => asked.has(key))) return null;
  const out = { explorer: asked.get("explorer") ?? "" };
  for (const key of CHOICES) if (asked.has(key)) out[key] = asked.get(key);
  if (/^(cls|class|\[class\])$/i.test(out.query ?? "")) out.query = "0";
  return out;
}

/** Makes the choices that a link names, if it means this explorer; returns whether it does. */
export function followLink(hash, choices) {
  const asked = parseLink(hash);
  if (!asked || asked.explorer !== choices.get("name")) return false;
  const changes = {};
  const name = choices.get("pictures").findIndex((card) => card.name === asked.picture);
  if (name >= 0) changes.picture = name;
  for (const key of ["layer", "head", "query"]) if (/^\d+$/.test(asked[key] ?? "")) changes[key] = Number(asked[key]);
  for (const [key, names] of Object.entries(NAMES)) if (names.includes(asked[key])) changes[key] = names.indexOf(asked[key]);
  choices.set(changes);
  choices.fit();
  return true;
}

/** This page's address with what is chosen now; a picture of the reader's own is in no address. */
function linkTo(choices) {
  const { layer, head, query, show, scale, reverse } = choices.now;
  const words = { ...(choices.card.own ? {} : { picture: choices.card.name }), layer, head, query: query === 0 ? "cls" : query };
  if (show) words.show = NAMES.show[show];
  if (reverse) words.direction = NAMES.direction[1];
  if (scale) words.scale = NAMES.scale[scale];
  if (choices.get("name")) words.explorer = choices.get("name");
  return `${location.href.replace(/#.*/, "")}#${new URLSearchParams(words)}`;
}

/** Puts the link in the address bar and on the clipboard; a promise of what to say about it. */
export async function copyLink(choices) {
  const url = linkTo(choices);
  history.replaceState(null, "", url);
  const without = choices.card.own ? " It does not name your picture." : "";
  try {
    await navigator.clipboard.writeText(url);
    return `The link is on the clipboard and in the address bar.${without}`;
  } catch {
    return `The link is in the address bar.${without}`;
  }
}
