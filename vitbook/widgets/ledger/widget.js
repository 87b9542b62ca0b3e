// Filters of the ledger: words, verdicts, document.  Without this script the table is all there, only unfiltered.
(() => {
  const root = document.currentScript?.closest(".vb-ledger") ?? [...document.querySelectorAll(".vb-ledger:not([data-ready])")].pop();
  if (!root || root.dataset.ready) return;
  root.dataset.ready = "yes";
  const form = root.querySelector(".controls"), groups = [...root.querySelectorAll("details")];
  const words = form.querySelector("input"), choice = form.querySelector("select"), all = form.querySelector(".all");
  const buttons = [...form.querySelectorAll("[data-verdict]")];
  const text = new Map([...root.querySelectorAll("tbody tr")].map((row) => [row, row.textContent.toLowerCase()]));

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict);
    const narrowed = wanted.length > 0 || verdicts.length > 0;
    let shown = 0;
    for (const group of groups) {
      let here = 0;
      for (const row of group.querySelectorAll("tbody tr")) {
        row.hidden = !((!choice.value || group.dataset.document === choice.value) && (!verdicts.length || verdicts.includes(row.dataset.verdict))
          && wanted.every((word) => text.get(row).includes(word)));
        here += !row.hidden;
      }
      group.hidden = here === 0;
      if (narrowed) group.open = here > 0;
      shown += here;
    }
    root.querySelector(".none").hidden = shown > 0;
    form.querySelector(".status").textContent = `${shown} of ${text.size} rows`;
    name();
  }
  const name = () => { all.textContent = groups.some((g) => !g.hidden && !g.open) ? "Open all" : "Close all"; };

  words.addEventListener("input", filter);
  choice.addEventListener("change", filter);
  for (const button of buttons) button.addEventListener("click", () => { button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true"); filter(); });
  all.addEventListener("click", () => { const open = all.textContent === "Open all"; groups.forEach((g) => { if (!g.hidden) g.open = open; }); name(); });
  groups.forEach((group) => group.addEventListener("toggle", name));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("beforeprint", () => groups.forEach((group) => { group.open = true; }));
  form.hidden = false;
  filter();
})();
