// Filters of the ledger: words, verdicts, document.  Without this script the table is all there, only unfiltered.
(() => {
  const root = document.currentScript?.closest(".vb-ledger") ?? [...document.querySelectorAll(".vb-ledger:not([data-ready])")].pop();
  if (!root || root.dataset.ready) return;
  root.dataset.ready = "yes";
  const form = root.querySelector(".controls"), groups = [...root.querySelectorAll("details")];
  const words = form.querySelector("input"), choice = form.querySelector("select"), all = form.querySelector(".all");
  const buttons = [...form.querySelectorAll("[data-verdict]")];
  const text = new Map([...root.querySelectorAll("tbody tr")].map((row) => [row, plain([...row.cells].map((cell) => cell.textContent).join(" "))]));

  // One spelling of a number: any minus, with commas or without, "32.7 %", "5.13 x 10^-6" as 5.13e-06.
  function plain(words) {
    return words.toLowerCase().replace(/[−–‐‑]/g, "-")
      .replace(/[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (power) => `^${[...power].map((c) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)]).join("")}`)
      .replace(/\s*[×x·*]\s*10(?:\^\{?(-?)|(-))(\d{1,2})\}?(?!\d)/g, (all, sign, minus, power) => `e${sign || minus || "+"}${power.padStart(2, "0")}`)
      .replace(/(\de)([-+]?)(\d)(?!\d)/g, (all, digit, sign, power) => `${digit}${sign || "+"}0${power}`)
      .replace(/(\d)[,\u202f\u00a0'](?=\d{3})/g, "$1").replace(/(\d)\s+%/g, "$1%");
  }
  function filter() {
    const wanted = plain(words.value).match(/[a-z]+ \d{1,2}(?![\w.,-])|\S+/g) ?? []; // "printout 4" and "head 8" stay together
    const verdicts = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict);
    const narrowed = wanted.length > 0 || verdicts.length > 0 || choice.value !== "";
    let shown = 0;
    for (const group of groups) {
      let here = 0;
      for (const row of group.querySelectorAll("tbody tr")) {
        row.hidden = !((!choice.value || row.dataset.document === choice.value) && (!verdicts.length || verdicts.includes(row.dataset.verdict))
          && wanted.every((word) => text.get(row).includes(word)));
        here += !row.hidden;
      }
      group.hidden = here === 0;
      if (narrowed) group.open = here > 0;
      group.querySelector(".tallies").style.visibility = narrowed ? "hidden" : ""; // they count all rows of the group
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
