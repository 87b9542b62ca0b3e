// The controls of ipywidgets around the view: they may come to the page after it, and their sliders have no name of their own.
import { onChange } from "../kit/dom.js";

const PATIENCE = 3000; // ms

/** Names the sliders and folds the seldom used controls, now and whenever some of them come. */
export function dressControls(view) {
  const { signal } = view.stop;
  if (signal.aborted) return;
  const root = view.page.el.closest(".vbx-explorer");
  if (!root) return requestAnimationFrame(() => dressControls(view));
  root.classList.toggle("vbx-has-kernel", view.source.folder === null);
  const dress = () => {
    root.classList.toggle("vbx-more-open", view.choices.get("more"));
    root.querySelector(".vbx-more-button")?.setAttribute("aria-expanded", view.choices.get("more"));
    for (const handle of root.querySelectorAll(".noUi-handle:not([aria-label])")) {
      const words = handle.closest(".widget-slider, .jupyter-widget-slider")?.querySelector("label, .widget-label");
      if (words) handle.setAttribute("aria-label", words.textContent);
    }
  };
  dress();
  const late = new MutationObserver(dress);
  late.observe(root, { childList: true, subtree: true });
  signal.addEventListener("abort", () => late.disconnect());
  onChange(view.choices.model, ["more"], dress, signal);
}

/** The first state, plain HTML, leaves once this view and its controls stand where they will stay. */
export function makeWay(view, since = performance.now()) {
  if (view.stop.signal.aborted) return;
  const { el } = view.page;
  const first = [...document.querySelectorAll(".vbx-first")].filter((e) => e.dataset.for === view.choices.get("uid"));
  const ready = el.closest(".vbx-explorer")?.querySelector(".vbx-controls .noUi-handle, .vbx-controls select");
  if (first.length && !ready && performance.now() - since < PATIENCE) return requestAnimationFrame(() => makeWay(view, since));
  for (const element of first) element.remove();
  el.dataset.drawn = "yes";
}
