// What the pages need beyond the theme: widgets come when they are near, regions that scroll can be reached by keyboard, formulas are
// copied as TeX, and search says where it cannot work.
(function () {
  const HERE = document.currentScript.src;

  const SCROLLS = ".vb-frame, div.vb-formula, .cell_output .output, div.highlight pre, .pst-scrollable-table-container, .vb-shapes > p";

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

  // Most of what a page loads is the script for widgets. It waits until one of them is near, the reader does something, the page is
  // printed, or for a while. A link to a map is such a reader: it names what the explorer is to show.
  function bringWidgets() {
    const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
    if (!views.length) return;
    const watch = new IntersectionObserver((seen) => seen.some((place) => place.isIntersecting) && load(), { rootMargin: "800px" });
    const signs = ["pointerdown", "keydown", "beforeprint"];
    function load() {
      watch.disconnect();
      clearTimeout(patience);
      for (const sign of signs) removeEventListener(sign, load);
      const element = document.createElement("script");
      element.src = new URL("vendor/widgets.js", HERE).href;
      document.head.append(element);
    }
    for (const view of views) watch.observe(view.parentElement);
    for (const sign of signs) addEventListener(sign, load);
    const patience = setTimeout(load, 20000);
    if (/[#&](explorer|picture|layer|head|query)=/.test(location.hash)) load();
  }

  // A formula is copied whole, as the TeX that it was written in.
  function copyFormulas(event) {
    const selection = getSelection();
    if (selection.isCollapsed || event.target.closest?.("input, textarea")) return;
    const range = selection.getRangeAt(0).cloneRange();
    const [first, last] = [range.startContainer, range.endContainer].map((node) => (node.closest ? node : node.parentElement)?.closest("math"));
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const copy = document.createElement("div");
    copy.append(range.cloneContents());
    const html = new XMLSerializer().serializeToString(copy);
    const formulas = copy.querySelectorAll("math");
    if (!formulas.length) return;
    for (const formula of formulas) {
      const dollars = formula.matches("[display=block]") ? "$$" : "$";
      formula.replaceWith(dollars + texOf(formula) + dollars);
    }
    document.body.append(copy); // only what is laid out knows where its lines end
    event.clipboardData.setData("text/plain", copy.innerText);
    event.clipboardData.setData("text/html", html);
    event.preventDefault();
    copy.remove();
  }

  const texOf = (formula) => formula.querySelector("annotation").textContent;

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
    if (!results) return;
    document.querySelector(".bd-search-container input").focus();
    if (location.protocol !== "file:") return;
    const note = document.createElement("p");
    note.className = "vb-search-note";
    note.textContent =
      "You opened this book from a disk: the titles of matching pages are listed, their excerpts are not. " +
      "Served over http (make serve) the search shows both.";
    results.before(note);
  }

  // Of two pages with the same words the one that has them in its title comes first; "eq 2" is found in "Equation 2".
  // Sphinx takes this object in the place of its own, of which the other weights are.  What is found in the glossary gets its name.
  const entryAt = (anchor) => // a term without letters at its beginning, "[class] token", has a number for its id
    Object.entries(Search._index.indexentries).find(([, places]) => places.some(([, id]) => `#${id}` === anchor))?.[0];
  const wordsOf = (text) => text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  window.Scorer = {
    score(result) {
      const [, title, anchor, , score] = result;
      const id = /^#(?:term|letter)-(.+)/.exec(anchor ?? "")?.[1];
      if (id) result[1] = `${title} > ${/^\d+$/.test(id) ? entryAt(anchor) : id.replaceAll("-", " ")}`;
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
      const page = new DOMParser().parseFromString(html.replaceAll(/ onclick="[^"]*"/g, ""), "text/html"); // which this page's policy forbids
      page.querySelectorAll(".headerlink, script, style, svg").forEach((element) => element.remove());
      page.querySelectorAll("math").forEach((formula) => formula.replaceWith(plainly(texOf(formula))));
      const place = anchor ? page.getElementById(anchor.slice(1)) : null;
      if (place?.matches("dt")) return place.textContent + ": " + place.parentElement.querySelector(`#${place.id} ~ dd`).textContent;
      return (place?.closest("p, li, dd, section") || page.querySelector("article"))?.textContent || "";
    };
  }

  // The words of a question are marked on the page that a result leads to, and on no other that is opened later.
  function markOnlyResults() {
    let followed = false;
    document.getElementById("search-results").addEventListener("click", (event) => (followed = Boolean(event.target.closest("a"))));
    addEventListener("pagehide", () => followed || localStorage.removeItem("sphinx_highlight_terms"));
  }

  const SIGNS = { sqrt: "√", top: "ᵀ", ell: "ℓ", times: "×", cdot: "·", in: " ∈ ", le: "≤", to: "→", longrightarrow: "→", sum: "Σ", gamma: "γ", beta: "β", mu: "μ", sigma: "σ", epsilon: "ε", Phi: "Φ" };
  function plainly(tex) {
    return tex
      .replace(/\\([A-Za-z]+)/g, (_, name) => SIGNS[name] || "")
      .replace(/[{}]/g, "")
      .replace(/\\./g, " ");
  }

  // Paper is white, whatever the theme of the screen: colours, figures and widgets follow, and come back afterwards.
  function printInLight() {
    const { dataset } = document.documentElement;
    let theme;
    addEventListener("beforeprint", () => ((theme ??= dataset.theme), (dataset.theme = "light")));
    addEventListener("afterprint", () => ((dataset.theme = theme), (theme = undefined)));
  }

  window.addEventListener("load", reach);
  window.addEventListener("resize", reachSoon);
  document.addEventListener("copy", copyFormulas);
  document.addEventListener("DOMContentLoaded", () => {
    explainSearch();
    bringWidgets();
    printInLight();
    if (typeof Search !== "undefined") readExcerpts(), markOnlyResults();
    const article = document.querySelector(".bd-article");
    if (article) new MutationObserver(() => { nameSliders(); reachSoon(); }).observe(article, { childList: true, subtree: true });
  });
})();
