// The calculator: the formulas of vitbook.studies.counting, evaluated in the page in whole numbers of any length.

const SIZES = [
  ["H", "picture height", "pixels"], ["W", "picture width", "pixels"], ["P", "side of a patch", "pixels"], ["C", "colour channels", ""],
  ["D", "width of a token", ""], ["L", "layers", ""], ["heads", "heads", ""], ["M", "width of the MLP", ""], ["K", "classes", "0: no class layer"],
];
const FLAGS = [["qkv_bias", "biases on q, k, v"], ["pre_logits", "pre-logits layer"]];

/** The value of a formula such as 4*D**2 + (N + 1)*D, with BigInt letters: sums of products of powers, and brackets. */
export function evaluate(formula, letters) {
  const tokens = formula.match(/\*\*|[A-Za-z]+|\d+|[-+*()]/g);
  let next = 0;
  const sum = () => {
    let value = product();
    while (tokens[next] === "+" || tokens[next] === "-") value = tokens[next++] === "+" ? value + product() : value - product();
    return value;
  };
  const product = () => {
    let value = power();
    while (tokens[next] === "*") { next++; value *= power(); }
    return value;
  };
  const power = () => {
    const base = atom();
    if (tokens[next] !== "**") return base;
    next++;
    return base ** power();
  };
  const atom = () => {
    const token = tokens[next++];
    if (token === "(") { const value = sum(); next++; return value; }
    if (/^\d/.test(token)) return BigInt(token);
    if (!(token in letters)) throw new Error(`no letter ${token} in ${formula}`);
    return letters[token];
  };
  const value = sum();
  if (next !== tokens.length) throw new Error(`cannot read ${formula}`);
  return value;
}

/** What is wrong with the sizes, letter by letter, in the words of ViTConfig; empty where they fit. */
export function problems(size) {
  const found = {};
  for (const [letter] of SIZES) {
    const least = letter === "K" ? 0n : 1n;
    if (size[letter] === null || size[letter] < least) found[letter] = `${letter} must be a ${least ? "positive " : ""}whole number`;
  }
  for (const side of ["H", "W"])
    if (!found[side] && !found.P && size[side] % size.P) found[side] = `${side} = ${size[side]} is not a whole number of patches of ${size.P}`;
  if (!found.D && !found.heads && size.D % size.heads) found.D = `D = ${size.D} cannot be shared equally among ${size.heads} heads`;
  return found;
}

/** The letters of the formulas. */
export function letters(size, flags) {
  const N = (size.H / size.P) * (size.W / size.P);
  return { ...size, N, b: flags.qkv_bias ? 1n : 0n, r: flags.pre_logits ? 1n : 0n };
}

/** Part by part: each, times, total, share of the whole in tenths of a per cent. */
export function count(terms, values) {
  const parts = terms.map((term) => {
    const each = evaluate(term.formula, values), times = evaluate(term.times, values);
    return { ...term, each, times, total: each * times };
  });
  const total = parts.reduce((sum, part) => sum + part.total, 0n);
  for (const part of parts) part.share = total ? Number((part.total * 100000n) / total) / 1000 : 0;
  return { parts: parts.filter((part) => part.total), total };
}

const percent = (share) => (share > 0 && share < 0.05 ? "< 0.1" : share.toFixed(1)) + " %";
const written = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function render({ model, el }) {
  const uid = `vb-calc-${Math.random().toString(36).slice(2, 9)}`;
  const root = element("section", { class: "vb-calc", "aria-label": "Calculator of parameters and multiply-adds" });
  const preset = element("select", { id: `${uid}-model` }, ...Object.keys(model.get("presets")).map((name) => element("option", { value: name }, name)),
    element("option", { value: "", disabled: "" }, "your own sizes"));
  const inputs = {}, notes = {};
  const fields = SIZES.map(([letter, meaning, unit]) => {
    inputs[letter] = element("input", { id: `${uid}-${letter}`, inputmode: "numeric", autocomplete: "off", spellcheck: "false", "aria-describedby": `${uid}-${letter}-note` });
    notes[letter] = element("small", { id: `${uid}-${letter}-note` }, unit);
    const name = element("label", { for: `${uid}-${letter}` }, element("i", {}, letter), ` ${letter === "heads" ? "" : meaning}`);
    return element("div", { class: "field" }, name, inputs[letter], notes[letter]);
  });
  const boxes = Object.fromEntries(FLAGS.map(([name]) => [name, element("input", { type: "checkbox", id: `${uid}-${name}` })]));
  const flags = FLAGS.map(([name, meaning]) => element("label", { for: `${uid}-${name}` }, boxes[name], ` ${meaning}`));
  const summary = element("div", { class: "summary", "aria-live": "polite", role: "status" });
  const results = element("div", { class: "results" });
  root.append(
    element("div", { class: "choose" }, element("label", { for: `${uid}-model` }, "Start from "), preset),
    element("div", { class: "fields" }, ...fields), element("div", { class: "flags" }, ...flags), summary, results);
  el.replaceChildren(root);

  const typed = () => Object.fromEntries(SIZES.map(([letter]) => {
    const text = inputs[letter].value.trim().replace(/[,\s_]/g, "");
    return [letter, /^\d{1,18}$/.test(text) ? BigInt(text) : null];
  }));
  const chosen = () => Object.fromEntries(FLAGS.map(([name]) => [name, boxes[name].checked]));

  function draw() {
    const size = typed(), wrong = problems(size);
    for (const [letter, , unit] of SIZES) {
      notes[letter].textContent = wrong[letter] ?? unit;
      inputs[letter].setAttribute("aria-invalid", letter in wrong);
    }
    const same = Object.entries(model.get("presets")).find(([, sizes]) => Object.entries(sizes).every(([letter, n]) => size[letter] === BigInt(n)));
    preset.value = same ? same[0] : "";
    root.classList.toggle("invalid", Object.keys(wrong).length > 0);
    if (Object.keys(wrong).length) { summary.textContent = "No count: " + Object.values(wrong).join("; ") + "."; return; }
    const values = letters(size, chosen());
    const parameters = count(model.get("parameters"), values), cost = count(model.get("multiply_adds"), values);
    summary.replaceChildren(
      fact("parameters", written(parameters.total), "parameters"), fact("cost", written(cost.total), "multiply-adds a picture"),
      fact("tokens", written(values.N + 1n), "tokens"), fact("D_h", written(size.D / size.heads), "numbers a head"));
    results.replaceChildren(view("Parameters", parameters), view("Multiply-adds", cost));
  }

  const fact = (name, number, unit) => element("p", { "data-fact": name }, element("b", {}, number), ` ${unit}`);

  function view(title, counted) {
    const bar = element("div", { class: "bar", "data-vb-light": "", role: "img", "aria-label": `${title}: ` + counted.parts.map((p) => `${p.title} ${percent(p.share)}`).join(", ") });
    for (const part of counted.parts) {
      const piece = element("span", { style: `width:${part.share}%;background:var(--vb-${part.ink})`, title: `${part.title}: ${percent(part.share)}` });
      bar.append(piece);
    }
    const head = element("tr", {}, ...["part", "formula", "each", "times", "all", "share"].map((name) => element("th", { scope: "col" }, name)));
    const rows = counted.parts.map((p) => element("tr", {},
      element("th", { scope: "row" }, element("span", { class: "key", style: `background:var(--vb-${p.ink})`, "aria-hidden": "true" }), p.title),
      ...[["formula", p.text], ["each", written(p.each)], ["times", `× ${written(p.times)}`], ["all", written(p.total)], ["share", percent(p.share)]]
        .map(([name, text]) => element("td", { "data-label": name }, text))));
    const total = element("tr", { class: "total" }, element("th", { scope: "row" }, "total"), element("td"), element("td"), element("td"),
      element("td", { "data-label": "all" }, written(counted.total)), element("td"));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows, total));
    return element("details", { open: title === "Parameters" ? "" : undefined, "data-view": title }, element("summary", {}, title), bar, table);
  }

  const push = () => {
    const size = typed();
    if (Object.keys(problems(size)).length) return;
    for (const [letter] of SIZES) if (size[letter] <= BigInt(Number.MAX_SAFE_INTEGER)) model.set(letter, Number(size[letter]));
    for (const [name] of FLAGS) model.set(name, boxes[name].checked);
    model.save_changes();
  };
  const pull = () => {
    for (const [letter] of SIZES) inputs[letter].value = String(model.get(letter));
    for (const [name] of FLAGS) boxes[name].checked = model.get(name);
    draw();
  };
  preset.addEventListener("change", () => {
    for (const [letter, n] of Object.entries(model.get("presets")[preset.value])) inputs[letter].value = String(n);
    draw();
    push();
  });
  for (const [letter] of SIZES) {
    inputs[letter].addEventListener("input", draw);
    inputs[letter].addEventListener("change", push);
  }
  for (const [name] of FLAGS) boxes[name].addEventListener("change", () => { draw(); push(); });
  const names = [...SIZES.map(([letter]) => letter), ...FLAGS.map(([name]) => name)];
  const outside = () => { if (names.some((name) => String(model.get(name)) !== (name in inputs ? inputs[name].value : String(boxes[name].checked)))) pull(); };
  for (const name of names) model.on(`change:${name}`, outside);
  pull();
  return () => names.forEach((name) => model.off(`change:${name}`, outside));
}

export default { render };
