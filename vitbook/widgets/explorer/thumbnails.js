// The pictures as a row of buttons: the book's, then the reader's own, each of which can be taken away again.
import { make } from "../kit/dom.js";

/** Fills the row where the list has changed, and marks the one that is shown. away(card) is called for one to be taken away. */
export function drawThumbnails({ pictures }, choices, source, away) {
  const { cards } = choices;
  const keys = cards.map(({ key }) => key).join(" ");
  if (pictures.dataset.keys !== keys) {
    pictures.dataset.keys = keys;
    const held = pictures.contains(document.activeElement);
    pictures.replaceChildren(...cards.map((card) => thumbnail(card, choices, source, away)));
    if (held) pictures.children[choices.now.picture]?.firstChild.focus();
  }
  const chosen = pictures.children[choices.now.picture];
  const [left, right] = [chosen.offsetLeft - pictures.offsetLeft, chosen.offsetLeft - pictures.offsetLeft + chosen.offsetWidth];
  if (left < pictures.scrollLeft) pictures.scrollLeft = left;
  else if (right > pictures.scrollLeft + pictures.clientWidth) pictures.scrollLeft = right - pictures.clientWidth;
  cards.forEach((_, n) => (pictures.children[n].firstChild.ariaPressed = String(n === choices.now.picture)));
}

function thumbnail(card, choices, source, away) {
  const image = make("img", { alt: "", draggable: false });
  if (card.thumb) image.src = card.thumb;
  else source.photo(choices.get("fingerprint"), card).then((address) => (image.src = address), () => {});
  const choose = () => choices.set({ picture: choices.cards.indexOf(card) });
  const picture = make("button", { type: "button", class: "vbx-picture", title: card.title, ariaLabel: card.title, onclick: choose }, image);
  const cross = make("button", { type: "button", class: "vbx-away", ariaLabel: `Take away ${card.title}`, title: "Take away", onclick: () => away(card) }, "×");
  return make("div", { class: "vbx-thumbnail" }, picture, ...(card.own ? [cross] : []));
}
