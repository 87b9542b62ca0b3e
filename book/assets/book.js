// What the pages need beyond the theme: widgets and formulas come when they are near, regions that scroll can be reached by
// keyboard, and search says where it cannot work.
(function () {
  const HERE = document.currentScript.src;

  const SCROLLS = ".vb-frame, div.math mjx-container, .cell_output .output, div.highlight pre, .pst-scrollable-table-container, .vb-shapes > p";

  // A region that scrolls sideways takes the focus, so that the arrow keys move it; one that fits stays out of the tab order.
  function reach() {
    const regions = [...document.querySelectorAll(SCROLLS)].map((region) => [region, region.scrollWidth > region.clientWidth + 1]);
    for (const [region, scrolls] of regions) { // all are measured before the first is changed
      region.toggleAttribute("data-vb-wide", scrolls); // book.css shows that there is more
      if (scrolls && !region.hasAttribute("tabindex")) {
        region.tabIndex = 0;
        region.setAttribute("role", "group");
        region.setAttribute("aria-label", "wide content, scrolls sideways");
        region.dataset.vbReach = "";
      } else if (!scrolls && "vbReach" in region.dataset) {
        for (const name of ["tabindex", "role", "aria-label", "data-vb-reach"]) region.removeAttribute(name);
      }
    }
  }

  let waiting = 0;
  function reachSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(reach, 150);
  }

  // Most of what a page loads are two scripts, for widgets and for formulas. Each waits until one of the places that need it is near,
  // the reader does something, the page is printed, or for a while.
  function bring(script, places, { near, after }, done) {
    if (!places.length) return;
    const watch = new IntersectionObserver((seen) => seen.some((place) => place.isIntersecting) && load(), { rootMargin: near });
    const signs = ["pointerdown", "keydown", "beforeprint"];
    function load() {
      watch.disconnect();
      clearTimeout(patience);
      for (const sign of signs) removeEventListener(sign, load);
      const element = document.createElement("script");
      element.src = new URL(script, HERE).href;
      element.onload = done;
      document.head.append(element);
    }
    for (const place of places) watch.observe(place);
    for (const sign of signs) addEventListener(sign, load);
    const patience = setTimeout(load, after);
  }

  function bringWidgets() {
    const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
    bring("vendor/widgets.js", [...views].map((view) => view.parentElement), { near: "800px", after: 20000 });
  }

  function bringMaths() {
    const formulas = document.querySelectorAll(".bd-article .math");
    bring("vendor/mathjax/tex-mml-chtml.js", formulas, { near: "400px", after: 10000 }, () => {
      MathJax.Hub = MathJax.config.Hub; // which widgets that came first have put there
      MathJax.startup.promise.then(reachSoon);
    });
  }

  // ipywidgets gives the handle of a slider a role and a place in the tab order, but no name.
  function nameSliders() {
    for (const handle of document.querySelectorAll(".noUi-handle:not([aria-label])")) {
      const label = handle.closest(".widget-slider, .jupyter-widgets")?.querySelector(".widget-label");
      handle.setAttribute("aria-label", label?.textContent.trim() || "slider");
    }
  }

  // Browsers let no page opened from a disk read its neighbours, and the search shows its hits by reading them.
  function explainSearch() {
    const results = document.getElementById("search-results");
    if (!results || location.protocol !== "file:") return;
    const note = document.createElement("p");
    note.className = "vb-search-note";
    note.textContent =
      "You opened this book from a disk: the titles of matching pages are listed, their excerpts are not. " +
      "Served over http (make serve) the search shows both.";
    results.before(note);
  }

  // Of two pages with the same words the one that has them in its title comes first; "eq 2" is found in "Equation 2".
  // Sphinx takes this object in the place of its own, of which the other weights are.
  const wordsOf = (text) => text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  window.Scorer = {
    score([, title, , , score]) {
      const asked = wordsOf(new URLSearchParams(location.search).get("q") || "");
      const titled = wordsOf(title);
      return score + (asked.every((word) => titled.some((other) => other.startsWith(word))) ? 20 : 0);
    },
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  };

  // Excerpts come from the article alone, with readable formulas; a place in a paragraph brings the paragraph.
  function readExcerpts() {
    Search.htmlToText = (html, anchor) => {
      const page = new DOMParser().parseFromString(html, "text/html");
      page.querySelectorAll(".headerlink, script, style, svg").forEach((element) => element.remove());
      page.querySelectorAll(".math").forEach((formula) => (formula.textContent = plainly(formula.textContent)));
      const place = anchor ? page.getElementById(anchor.slice(1)) : null;
      if (place?.matches("dt")) return place.textContent + ": " + place.parentElement.querySelector(`#${place.id} ~ dd`).textContent;
      return (place?.closest("p, li, dd, section") || page.querySelector("article"))?.textContent || "";
    };
  }

  const SIGNS = { sqrt: "√", top: "ᵀ", ell: "ℓ", times: "×", cdot: "·", in: " ∈ ", le: "≤", to: "→", longrightarrow: "→", sum: "Σ", gamma: "γ", beta: "β", mu: "μ", sigma: "σ", epsilon: "ε", Phi: "Φ" };
  function plainly(tex) {
    return tex
      .replace(/\\class\{[^}]*\}/g, "")
      .replace(/\\([A-Za-z]+)/g, (_, name) => SIGNS[name] || "")
      .replace(/\\[()[\]]|[{}]/g, "")
      .replace(/\\./g, " ");
  }

  window.addEventListener("load", reachSoon);
  window.addEventListener("resize", reachSoon);
  document.addEventListener("DOMContentLoaded", () => {
    explainSearch();
    bringWidgets();
    bringMaths();
    if (typeof Search !== "undefined") readExcerpts();
    const article = document.querySelector(".bd-article");
    if (article) new MutationObserver(() => { nameSliders(); reachSoon(); }).observe(article, { childList: true, subtree: true });
  });
})();
