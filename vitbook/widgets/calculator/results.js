// A count on the page: a few facts, then part by part as a bar and as a table.
import { make } from "../kit/dom.js";
import { grouped } from "../kit/words.js";

const COLUMNS = ["part", "formula", "each", "times", "all", "share"];
const percent = (share) => (share < 0.05 ? "< 0.1" : share.toFixed(1)) + "%"; // a part of a count is never nothing

export const fact = (name, number, unit) => make("p", { "data-fact": name }, make("b", {}, grouped(number)), ` ${unit}`);

/** What count() gives, to be opened and closed. */
export function results(title, counted, open) {
  const spoken = counted.parts.map((p) => `${p.title} ${percent(p.share)}`).join(", ");
  const bar = make("div", { class: "bar", "data-vb-light": "", role: "img", "aria-label": `${title}: ${spoken}` }, ...counted.parts.map(piece));
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, name)));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...counted.parts.map(row), total(counted)));
  return make("details", { open, "data-view": title }, make("summary", {}, title), bar, table);
}

const piece = ({ share, ink, title }) =>
  make("span", { "data-ink": ink, style: `width:${share}%`, title: `${title}: ${percent(share)}` });

function row(p) {
  const key = make("span", { class: "key", "data-ink": p.ink, "aria-hidden": "true" });
  const cells = { formula: p.text, each: grouped(p.each), times: `× ${grouped(p.times)}`, all: grouped(p.total), share: percent(p.share) };
  return make("tr", {}, make("th", { scope: "row" }, key, p.title), ...Object.entries(cells).map(([name, text]) => make("td", { "data-label": name }, text)));
}

const total = (counted) =>
  make("tr", { class: "total" }, make("th", { scope: "row" }, "total"), make("td"), make("td"), make("td"),
    make("td", { "data-label": "all" }, grouped(counted.total)), make("td"));
