// The tour of Figure 1: sections of text pass below the drawing, which stays in sight and shows the parts they speak of.
// Which section speaks of which parts stands in data-tour; without this script the text follows the whole drawing.
const LARGEST = 1.6; // how much the wide drawing grows at most; the tall one keeps its size, so that its words stay legible
const ABOVE_THE_LINE = "10000% 0px -32% 0px"; // the last section that begins above a line, two thirds down the window, is being read
const MARGIN = 12; // around the parts, in the drawing's units

export function tour(root) {
  const around = root.closest("section");
  if (!around) return; // JupyterLab has no sections
  const stops = JSON.parse(root.dataset.tour);
  const view = root.querySelector(".vb-f1-view");
  const drawings = [...view.querySelectorAll(":scope > svg[class*='vb-f1-']")].slice(1); // the first holds the photograph
  const whole = root.querySelector("[data-does=whole]");
  let parts = [];

  const look = (keys) => {
    for (const drawing of drawings) {
      drawing.classList.toggle("toured", "on" in root.dataset && keys.length > 0);
      for (const piece of drawing.children) piece.classList.toggle("lit", keys.includes(piece.dataset.part));
    }
    // a phone sees the whole as the small wide drawing first, without its small words
    if ("on" in root.dataset && !keys.length) root.dataset.overview = "yes";
    else delete root.dataset.overview;
    const drawing = drawings.find((each) => each.getClientRects().length);
    if (drawing) drawing.style.transform = "on" in root.dataset ? placed(drawing, view, keys) : "";
  };
  const go = (keys) => {
    if (keys.join() === parts.join()) return;
    parts = keys;
    delete root.dataset.open;
    look(parts);
  };
  const turn = (on) => {
    if (on) root.dataset.on = "yes";
    else delete root.dataset.on;
    whole.setAttribute("aria-pressed", String(!on));
  };

  turn(true);
  around.classList.add("vb-f1-toured");
  for (let box = root; box !== around; box = box.parentElement) box.classList.add("vb-f1-boxless");
  whole.hidden = false;
  whole.addEventListener("click", () => turn(!("on" in root.dataset)));
  document.addEventListener("fullscreenchange", () => turn(document.fullscreenElement !== root));
  new ResizeObserver(() => look(parts)).observe(view); // at once, and whenever the tour is turned on or off
  closing(root, view);

  // With the keyboard one walks from part to part, and the drawing follows.
  view.addEventListener("focusin", (event) => {
    const part = event.target.closest("[data-part]");
    if (part?.matches(":focus-visible")) look([part.dataset.part]);
    view.scrollTo(0, 0); // a browser scrolls to what has the focus, and the drawing has moved there by itself
  });
  view.addEventListener("focusout", () => look(parts));

  const start = () => {
    const sections = Object.keys(stops).map((id) => document.getElementById(id)).filter(Boolean);
    if (!sections.length) return turn(false);
    const begun = new Set();
    const reading = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) isIntersecting ? begun.add(target) : begun.delete(target);
      go(stops[sections.findLast((section) => begun.has(section))?.id] ?? []);
    }, { rootMargin: ABOVE_THE_LINE });
    for (const section of sections) reading.observe(section);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}

// A card goes when the pointer leaves the drawing, when something else is tapped, and with Escape.
function closing(root, view) {
  const close = () => delete root.dataset.open;
  view.parentElement.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && close());
  document.addEventListener("pointerdown", (event) => view.parentElement.contains(event.target) || close());
  root.addEventListener("keydown", (event) => event.key === "Escape" && close());
}

// The transform that brings the parts of these keys into view, as large as fits; of none, the drawing from its top.
function placed(drawing, view, keys) {
  const { width: W, height: H } = drawing.viewBox.baseVal;
  const unit = drawing.clientWidth / W;
  const room = view.clientHeight / unit;
  const boxes = [...drawing.children].filter((piece) => keys.includes(piece.dataset.part)).map(frame);
  const bars = drawing.querySelector("[data-part=bars]").getBBox().y;
  if (!boxes.length) boxes.push({ x: MARGIN, y: MARGIN, width: W - 2 * MARGIN, height: bars - 2 * MARGIN });
  const [left, top] = ["x", "y"].map((side) => Math.min(...boxes.map((box) => box[side])) - MARGIN);
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + MARGIN;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + MARGIN;
  const tall = drawing.classList.contains("vb-f1-tall");
  const scale = tall ? 1 : Math.min(W / (right - left), room / (bottom - top), LARGEST);
  const x = within((left + right - W / scale) / 2, W - W / scale);
  const y = within(Math.min((top + bottom - room / scale) / 2, top), H - room / scale);
  return `translate(${-x * scale * unit}px, ${-y * scale * unit}px) scale(${scale})`;
}

// Where a piece stands; patches are cut out of the whole photograph, and a box would hold all of it.
function frame(piece) {
  return (piece.querySelector("svg") ? piece.querySelector(".hit") : piece).getBBox();
}

// A place from 0 to `last`; where all fits, in the middle.
function within(place, last) {
  return last > 0 ? Math.min(Math.max(place, 0), last) : last / 2;
}
