import { tour } from "./tour.js";

// Figure 1: whichever part is pointed at, focused or tapped shows its card below. Without this script the drawing,
// its links and the table still work.
for (const root of document.querySelectorAll(".vb-figure1:not([data-ready])")) {
  root.dataset.ready = "yes";
  const links = [...root.querySelectorAll("a.vb-f1-part")];
  const cards = new Map([...root.querySelectorAll(".vb-f1-card")].map((card) => [card.dataset.part, card]));
  const marked = [...root.querySelectorAll("svg [data-part]")].filter((mark) => cards.has(mark.dataset.part));
  const panel = root.querySelector(".vb-f1-panel");

  // JupyterLab has the chapters themselves beside this one, not the pages that are made of them.
  if ("jpThemeName" in document.body.dataset) {
    root.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-chapter]");
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      window.open(new URL(`${link.dataset.chapter}.md`, location.href), "_blank");
    });
  }

  function show(key) {
    root.dataset.open = "yes"; // on the tour the card lies over the text, until something else is looked at
    if (!cards.has(key) || root.dataset.part === key) return;
    root.dataset.part = key;
    for (const [name, card] of cards) card.hidden = name !== key;
    for (const mark of marked) mark.classList.toggle("chosen", mark.dataset.part === key);
    panel.scrollTop = 0;
    if (key !== root.dataset.first) root.dataset.touched = "yes"; // from now on the card stays in sight
  }

  for (const mark of marked) {
    mark.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(mark.dataset.part));
    mark.addEventListener("focus", () => show(mark.dataset.part));
    // A finger cannot hover: the first tap shows the card, a second one follows the link.
    let touched = false;
    mark.addEventListener("pointerdown", (event) => (touched = event.pointerType !== "mouse" && root.dataset.part !== mark.dataset.part));
    mark.addEventListener("click", (event) => {
      if (touched) {
        event.preventDefault();
        event.stopPropagation();
      }
      show(mark.dataset.part);
      touched = false;
    });
  }

  // Arrow keys step from part to part in reading order, for those who show the drawing to a class.
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const visible = links.filter((link) => link.getClientRects().length);
    const here = visible.indexOf(document.activeElement);
    if (!step || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    visible[(here + step + visible.length) % visible.length].focus();
  });

  const button = root.querySelector("[data-does=screen]");
  if (document.fullscreenEnabled) {
    button.hidden = false;
    button.addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen()));
    document.addEventListener("fullscreenchange", () => {
      button.textContent = document.fullscreenElement === root ? "Leave full screen" : "Full screen";
    });
  }
  show(root.dataset.first);
  delete root.dataset.open;
  if (root.dataset.tour) tour(root);
}
