// Appendix A's four tokens with every given number open to change: Eq. 5 to 8 worked out again in the page, with no kernel.
// compute and explain say what vitbook.studies.pencil's steps and follow say, to the letter; the tests hold them side by side.

// ---------------------------------------------------------------- the equations

const times = (X, Y) => X.map((row) => Y[0].map((_, c) => row.reduce((sum, x, r) => sum + x * Y[r][c], 0)));
const transposed = (X) => X[0].map((_, c) => X.map((row) => row[c]));

function softmax(row) {
  const top = Math.max(...row); // taken off first, so that no exponential overflows
  const powers = row.map((s) => Math.exp(s - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}

/** Eq. 5 to 8: z (N, D), U_qkv a (D, 3 D_h) a head, U_msa (k D_h, D) -> every step, by the names of vitbook.studies.pencil. */
export function compute({ z, U_qkv, U_msa }) {
  const heads = U_qkv.map((U) => {
    const D_h = U[0].length / 3;
    const [q, k, v] = [0, 1, 2].map((part) => times(z, U.map((row) => row.slice(part * D_h, (part + 1) * D_h))));
    const dots = times(q, transposed(k));
    const scores = dots.map((row) => row.map((dot) => dot / Math.sqrt(D_h)));
    const A = scores.map(softmax);
    return { q, k, v, dots, scores, A, SA: times(A, v) };
  });
  const joined = z.map((_, i) => heads.flatMap((head) => head.SA[i]));
  return { heads, joined, MSA: times(joined, U_msa) };
}

// ---------------------------------------------------------------- numbers in words

const LARGEST_POWER = 700; // above it e to a power is taken relative to the row's largest score

/** To three decimals as Python rounds: where a number lies in the very middle, which only sixteenths do, to the even digit. */
function fixed(x) {
  if (Number.isInteger(x * 16) && (x * 16) % 2) {
    const below = Math.floor(x * 1000);
    return ((below % 2 ? below + 1 : below) / 1000).toFixed(3);
  }
  return x.toFixed(3);
}

/** Whole numbers without decimals, others with three, very large ones with an exponent; no minus before a zero. */
export function written(x) {
  if (Math.abs(x) >= 1e9) return x.toExponential(3).replace(/e([+-])(\d)$/, "e$10$2");
  const text = Number.isInteger(x) ? x.toFixed(0) : fixed(x);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

const bracketed = (x) => (written(x).startsWith("-") ? `(${written(x)})` : written(x));
const sumOf = (name, terms, value) => `${name} = ${terms.map((t) => t.map(bracketed).join("·")).join(" + ")} = ${written(value)}`;
const quotient = (name, a, b) => `${name} = ${bracketed(a)} / ${bracketed(b)} = ${written(a / b)}`;
const pairs = (left, right) => left.map((x, n) => [x, right[n]]);
const column = (X, c) => X.map((row) => row[c]);

/** ``q_1[0, 2]``: head 1, token t0, third column, counted from 0. */
export const nameOf = ({ what, head, row, column }) => `${what}${head ? `_${head}` : ""}[${row}, ${column}]`;

/** The arithmetic behind one number, line by line as one would write it; for a number that is given, where it goes. */
export function explain({ z, U_qkv, U_msa }, found, cell) {
  const { what, row: i, column: c } = cell;
  const D_h = U_qkv[0][0].length / 3;
  if (what === "joined") return explain({ z, U_qkv, U_msa }, found, { what: "SA", head: Math.floor(c / D_h) + 1, row: i, column: c % D_h });
  const h = cell.head, head = h && found.heads[h - 1];
  const name = nameOf(cell);
  if (what in PARTS) return [sumOf(name, pairs(z[i], column(U_qkv[h - 1], PARTS[what] * D_h + c)), head[what][i][c])];
  if (what === "scores") {
    const dot = head.dots[i][c];
    return [sumOf(`dot_${h}[${i}, ${c}]`, pairs(head.q[i], head.k[c]), dot), quotient(`score_${h}[${i}, ${c}]`, dot, Math.sqrt(D_h))];
  }
  if (what === "A") {
    const scores = head.scores[i];
    const shift = Math.max(...scores.map(Math.abs)) > LARGEST_POWER ? Math.max(...scores) : 0;
    const powers = scores.map((s) => s - shift), exps = powers.map(Math.exp);
    const sum = exps.reduce((a, b) => a + b);
    return [
      ...powers.map((p, n) => `exp_${h}[${i}, ${n}] = exp(${written(p)}) = ${written(exps[n])}`),
      sumOf(`sum_${h}[${i}]`, exps.map((e) => [e]), sum),
      quotient(name, exps[c], sum),
    ];
  }
  if (what === "SA") return [sumOf(name, pairs(head.A[i], column(head.v, c)), head.SA[i][c])];
  if (what === "MSA") return [sumOf(name, pairs(found.joined[i], column(U_msa, c)), found.MSA[i][c])];
  const given = { z, U_qkv: h && U_qkv[h - 1], U_msa }[what][i][c];
  return [`${name} = ${written(given)}, given`, GOES[what](i, c, D_h)];
}

const PARTS = { q: 0, k: 1, v: 2 };
const INKS = { q: "query", k: "key", v: "value" };
const GOES = {
  z: (i) => `It enters q, k and v of token t${i} in every head; through k and v it reaches the rows of all tokens.`,
  U_qkv: (r, c, D_h) => `It multiplies number ${r} of every token and goes into column ${c % D_h} of ${"qkv"[Math.floor(c / D_h)]}.`,
  U_msa: (r, c) => `It multiplies column ${r} of [SA_1; SA_2; …] and goes into column ${c} of MSA.`,
};

/**
 * What belongs to one number: its way (the row of its token through all steps; as a key it is a column of the scores), and
 * the numbers it is made from. Each entry is [matrix, row or null for all, column or null for all].
 */
export function related({ what, row: i, column: c }, D_h) {
  const asQuery = ["z", "q", "scores", "A", "SA", "joined", "MSA"].map((name) => [name, i, null]);
  const asKey = [["z", i, null], ["k", i, null], ["v", i, null], ["scores", null, i], ["A", null, i]];
  const projected = [["z", i, null], ["U_qkv", null, PARTS[what] * D_h + c]];
  const part = "qkv"[Math.floor(c / D_h)];
  return {
    z: () => ({ way: [...asQuery, ["k", i, null], ["v", i, null]], from: [] }),
    U_qkv: () => ({ way: [[part, null, c % D_h]], from: [["z", null, i]] }),
    U_msa: () => ({ way: [["MSA", null, c]], from: [["joined", null, i]] }),
    q: () => ({ way: asQuery, from: projected }),
    k: () => ({ way: asKey, from: projected }),
    v: () => ({ way: asKey, from: projected }),
    scores: () => ({ way: asQuery, from: [["q", i, null], ["k", c, null]] }),
    A: () => ({ way: asQuery, from: [["scores", i, null]] }),
    SA: () => ({ way: asQuery, from: [["A", i, null], ["v", null, c]] }),
    joined: () => ({ way: asQuery, from: [] }),
    MSA: () => ({ way: asQuery, from: [["joined", i, null], ["U_msa", null, c]] }),
  }[what]();
}

const LARGEST = 9999;

/** What a reader typed -> a number, or null: decimals with point or comma, quotients such as 1/3, both signs of minus. */
export function read(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(",", ".");
  const found = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:\s*\/\s*(\d+\.?\d*|\.\d+))?$/.exec(plain);
  if (!found) return null;
  const value = Number(found[1]) / Number(found[2] ?? 1);
  return Math.abs(value) <= LARGEST ? value + 0 : null;
}

// ---------------------------------------------------------------- the page

const GIVEN = ["z", "U_qkv", "U_msa"];
const copy = (given) => JSON.parse(JSON.stringify(given));

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Text with letters behind _ set lower and letters behind ^ set higher, so that U_qkv reads as it should. */
function formula(text) {
  const whole = make("span", { class: "vb-pc-formula" });
  for (const piece of text.split(/([_^]\w+)/)) {
    if (/^[_^]/.test(piece)) whole.append(make(piece[0] === "_" ? "sub" : "sup", {}, piece.slice(1)));
    else whole.append(piece);
  }
  return whole;
}

let widgets = 0;

function render({ model, el }) {
  const id = `vb-pencil-${++widgets}`;
  const start = model.get("start");
  const [N, D, k] = [start.z.length, start.z[0].length, start.U_qkv.length];
  const D_h = start.U_qkv[0][0].length / 3;
  const tokens = Array.from({ length: N }, (_, i) => `t${i}`);
  const numbers = (n) => Array.from({ length: n }, (_, c) => String(c));

  let given = copy(Object.fromEntries(GIVEN.map((name) => [name, model.get(name)])));
  let found = compute(given);
  const original = compute(start);
  let past = [], future = []; // states to go back and forward to
  let session = null; // the cell that is being edited: one edit, one step back
  let held = { what: "A", row: 0, column: 0 }; // the cell whose way is shown while nothing is pointed at
  let shown = held;

  // ------------------------------------------------ matrices

  const cells = []; // {what, row, column, box, field: its input or null}
  const grids = {};

  function grid(what, title, rows, columns, { editable = false, inks = [""] } = {}) {
    const share = columns.length / inks.length; // neighbouring columns of one ink belong together
    const dress = (column) => ({ "data-ink": inks[Math.floor(column / share)], class: column && column % share === 0 ? "vb-pc-next" : undefined });
    // Not a <table>: pages dress their tables, each in its own way.
    const line = (...parts) => make("div", { role: "row", class: "vb-pc-line" }, ...parts);
    const heading = (role, words, more = {}) => make("div", { role, ...more }, words);
    const head = line(heading("columnheader", "", { "aria-label": "row" }), ...columns.map((words, column) => heading("columnheader", words, dress(column))));
    const body = rows.map((words, row) =>
      line(heading("rowheader", words), ...columns.map((_, column) => {
        const box = make("div", { role: "gridcell", ...dress(column) });
        const field = editable ? make("input", { inputmode: "decimal", autocomplete: "off", spellcheck: "false", maxlength: 12 }) : null;
        const cell = { what, row, column, box, field, target: field ?? box };
        if (field) box.append(field);
        cell.target.tabIndex = row || column ? -1 : 0;
        cells.push(cell);
        box.vbCell = cell;
        return box;
      })));
    const caption = make("div", { class: "vb-pc-title", id: `${id}-${what}` });
    const table = make("div", { role: "grid", class: "vb-pc-grid", "aria-labelledby": caption.id }, head, ...body);
    grids[what] = { caption, table, title, height: rows.length, width: columns.length };
    return make("div", { class: `vb-pc-matrix ${editable ? "vb-pc-given" : ""}`, "data-what": what }, caption, make("div", { class: "vb-pc-scroll" }, table));
  }

  const partNames = [..."qkv"].flatMap((part) => numbers(D_h).map((c) => part + c));
  const step = (number, text, ...figures) =>
    make("section", {}, make("p", { class: "vb-pc-equation" }, make("b", {}, number), " ", formula(text)), make("div", { class: "vb-pc-row" }, ...figures));
  const input = step("Given", "the tokens z and the three matrices of the head, side by side",
    grid("z", () => "z", tokens, numbers(D), { editable: true }),
    grid("U_qkv", (h) => `U_qkv, head ${h}`, numbers(D), partNames, { editable: true, inks: Object.values(INKS) }));
  const steps = [
    step("Eq. 5", "[q, k, v] = z U_qkv", ...Object.keys(PARTS).map((part) =>
      grid(part, (h) => `${part}_${h}`, tokens, numbers(D_h), { inks: [INKS[part]] }))),
    step("Eq. 6", `A = softmax(q k^T / √D_h), √D_h = ${written(Math.sqrt(D_h))}`, grid("scores", () => "q k^T / √D_h", tokens, tokens),
      grid("A", (h) => `A_${h}: every row adds up to 1`, tokens, tokens)),
    step("Eq. 7", "SA(z) = A v", grid("SA", (h) => `SA_${h}(z)`, tokens, numbers(D_h))),
    step("Eq. 8", `MSA(z) = [${Array.from({ length: k }, (_, h) => `SA_${h + 1}(z)`).join("; ")}] U_msa`,
      grid("joined", () => "the heads side by side", tokens, numbers(k * D_h), { inks: Array(k).fill("") }), grid("U_msa", () => "U_msa", numbers(k * D_h), numbers(D), { editable: true }),
      grid("MSA", () => "MSA(z)", tokens, numbers(D))),
  ];

  // ------------------------------------------------ controls and words

  const button = (words, act, title) => {
    const made = make("button", { type: "button", title, "aria-label": title }, words);
    made.addEventListener("pointerdown", (event) => event.preventDefault()); // the cell keeps the focus
    made.addEventListener("click", act);
    return made;
  };
  const undoButton = button("Undo", undo, "Undo the last change");
  const redoButton = button("Redo", redo, "Make the undone change again");
  const resetButton = button("Reset", () => change(copy(start)), "Put the book's numbers back");
  const nudges = [
    button("−1", () => nudge((x) => x - 1), "One less in the chosen cell"),
    button("+1", () => nudge((x) => x + 1), "One more in the chosen cell"),
    button("±", () => nudge((x) => 0 - x), "Change the sign in the chosen cell"),
  ];
  const headChoices = given.U_qkv.map((_, h) => {
    const radio = make("input", { type: "radio", name: `${id}-head`, value: h + 1, id: `${id}-head-${h + 1}` });
    radio.addEventListener("change", () => chooseHead(h + 1));
    return make("label", { for: radio.id }, radio, ` head ${h + 1}`);
  });
  const message = make("p", { class: "vb-pc-message", role: "status" });
  const words = make("div", { class: "vb-pc-words", id: `${id}-words`, tabindex: 0, role: "group", "aria-label": "Arithmetic of the chosen number", style: `--rows:${N}` });
  el.classList.add("vb-pencil");
  el.replaceChildren(
    make("div", { class: "vb-pc-bar", role: "group", "aria-label": "Pencil example: controls" },
      make("span", { class: "vb-pc-heads", role: "radiogroup", "aria-label": "Head shown" }, ...headChoices),
      make("span", {}, undoButton, redoButton, resetButton), make("span", { role: "group", "aria-label": "Chosen cell" }, ...nudges)),
    message, input, ...steps, words);

  const h = () => Math.min(Math.max(model.get("head"), 1), k);
  const ofHead = (what) => what in PARTS || ["U_qkv", "scores", "A", "SA"].includes(what);
  const addressed = (cell) => ({ what: cell.what, head: ofHead(cell.what) ? h() : undefined, row: cell.row, column: cell.column });
  const matrix = (what, all, made, head = h()) =>
    what === "U_qkv" ? all.U_qkv[head - 1] : all[what] ?? (ofHead(what) ? made.heads[head - 1][what] : made[what]);

  // ------------------------------------------------ showing

  function draw() {
    for (const [what, { caption, title }] of Object.entries(grids)) caption.replaceChildren(formula(title(h())));
    for (const [n, label] of headChoices.entries()) label.querySelector("input").checked = n + 1 === h();
    const digits = {}, longest = {};
    for (const what of Object.keys(grids)) digits[what] = digitsOf(matrix(what, given, found).flat());
    for (const cell of cells) {
      const value = matrix(cell.what, given, found)[cell.row][cell.column];
      const before = matrix(cell.what, start, original)[cell.row][cell.column];
      const text = cell.field ? shortest(value) : tabled(value, digits[cell.what]);
      if (cell.field) {
        if (!isOpen(cell)) cell.field.value = text;
        longest[cell.what] = Math.max(longest[cell.what] ?? 0, cell.field.value.length);
        cell.field.setAttribute("aria-label", `${spoken(cell)}, can be changed`);
      } else {
        cell.box.textContent = text;
        cell.box.setAttribute("aria-label", `${spoken(cell)}: ${text}`);
      }
      cell.box.classList.toggle("vb-pc-changed", Math.abs(value - before) > 1e-9);
      if (cell.what === "A") cell.box.style.setProperty("--share", `${100 * value}%`);
    }
    for (const [what, length] of Object.entries(longest)) grids[what].table.style.setProperty("--length", length);
    [undoButton.disabled, redoButton.disabled] = [!past.length, !future.length];
    resetButton.disabled = JSON.stringify(given) === JSON.stringify(start);
    point(shown);
  }

  const isOpen = (cell) => session?.cell === cell && document.activeElement === cell.field;
  const shortest = (x) => String(Math.abs(x - Math.round(x * 1e4) / 1e4) < 1e-12 ? Math.round(x * 1e4) / 1e4 : x.toFixed(4)).replace("-", "−");
  /** As many decimals as every number of a matrix can be written with exactly, three at most. */
  const digitsOf = (all) => [0, 1, 2].find((d) => all.every((x) => Math.abs(x * 10 ** d - Math.round(x * 10 ** d)) < 1e-9)) ?? 3;
  const tabled = (x, digits) => (Math.abs(x) >= 1e5 ? x.toExponential(2) : digits === 3 ? fixed(x) : x.toFixed(digits)).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  const spoken = (cell) => {
    const [rows, columns] = [["U_qkv", "U_msa"].includes(cell.what) ? `row ${cell.row}` : `t${cell.row}`, ["scores", "A"].includes(cell.what) ? `key t${cell.column}` : `column ${cell.column}`];
    return `${cell.what}${ofHead(cell.what) ? ` of head ${h()}` : ""}, ${rows}, ${columns}`;
  };

  function point(cell) {
    shown = cell;
    const { way, from } = related(cell, D_h);
    const belongs = (list, { what, row, column }) => list.some(([name, r, c]) => name === what && (r ?? row) === row && (c ?? column) === column);
    for (const each of cells) {
      each.box.classList.toggle("vb-pc-way", belongs(way, each));
      each.box.classList.toggle("vb-pc-from", belongs(from, each));
      each.box.classList.toggle("vb-pc-this", each.what === cell.what && each.row === cell.row && each.column === cell.column);
    }
    words.replaceChildren(...explain(given, found, addressed(cell)).map((line) => make("span", {}, line)));
    const open = cells.find((each) => each.what === held.what && each.row === held.row && each.column === held.column)?.field;
    for (const nudgeButton of nudges) nudgeButton.disabled = !open;
  }

  // ------------------------------------------------ changing

  /** Take over new given numbers. Edits of one cell in one go are one step back. */
  function change(next, cell = null) {
    if (JSON.stringify(next) === JSON.stringify(given)) return;
    if (!cell || session?.cell !== cell || !session.saved) past.push(copy(given));
    if (session && cell) session.saved = true;
    if (!cell) session = null;
    future = [];
    settle(next);
  }

  function settle(next) {
    const before = found;
    [given, found] = [next, compute(next)];
    send();
    draw();
    const moved = found.MSA.flat().filter((x, n) => Math.abs(x - before.MSA.flat()[n]) > 1e-9).length;
    message.textContent = `${moved} of the ${N * D} numbers of MSA(z) changed.`;
  }

  function step_to(from, to) {
    if (!from.length) return;
    session = null;
    to.push(copy(given));
    settle(from.pop());
  }
  function undo() {
    step_to(past, future);
  }
  function redo() {
    step_to(future, past);
  }

  let sending = false;
  function send() {
    sending = true;
    for (const name of GIVEN) if (JSON.stringify(model.get(name)) !== JSON.stringify(given[name])) model.set(name, copy(given[name]));
    model.save_changes();
    sending = false;
  }

  /** From Python, or from another view of the same widget. */
  function receive() {
    const news = copy(Object.fromEntries(GIVEN.map((name) => [name, model.get(name)])));
    if (sending || JSON.stringify(news) === JSON.stringify(given)) return;
    past.push(given);
    [given, found, future, session] = [news, compute(news), [], null];
    draw();
  }

  function put(cell, value) {
    const next = copy(given);
    matrix(cell.what, next, found)[cell.row][cell.column] = value;
    change(next, cell);
  }

  function nudge(by) {
    const cell = cells.find((each) => each.field && each.what === held.what && each.row === held.row && each.column === held.column);
    if (!cell) return;
    const value = by(matrix(cell.what, given, found)[cell.row][cell.column]);
    if (Math.abs(value) > LARGEST) return;
    session = { cell, saved: false };
    put(cell, value);
    cell.field.value = shortest(value);
    mark(cell, true);
  }

  function mark(cell, valid) {
    cell.field.setAttribute("aria-invalid", String(!valid));
    if (valid) return;
    const kept = shortest(matrix(cell.what, given, found)[cell.row][cell.column]);
    const typed = cell.field.value.trim();
    const why = typed === "" ? "is empty" : Number.isFinite(Number(typed)) ? `holds ${typed}, beyond ${LARGEST}` : `holds “${typed}”, which is not a number`;
    message.textContent = `${nameOf(addressed(cell))} ${why}, so ${kept} still counts. Numbers such as 2, −0.5 or 1/3 will do.`;
  }

  function chooseHead(head) {
    session = null;
    model.set("head", head);
    model.save_changes();
    draw();
  }

  // ------------------------------------------------ pointing, typing, moving

  const cellOf = (event) => event.target.closest?.("[role=gridcell]")?.vbCell;
  el.addEventListener("pointerover", (event) => {
    const cell = cellOf(event);
    point(cell && event.pointerType !== "touch" ? cell : held);
  });
  el.addEventListener("pointerleave", () => point(held));
  el.addEventListener("focusin", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    for (const each of cells) if (each.what === cell.what) each.target.tabIndex = each === cell ? 0 : -1;
    for (const each of cells) each.target.removeAttribute("aria-describedby");
    cell.target.setAttribute("aria-describedby", words.id);
    session = { cell, saved: false };
    held = cell;
    point(cell);
    cell.field?.select();
  });
  el.addEventListener("focusout", (event) => {
    const cell = cellOf(event);
    if (!cell?.field) return;
    cell.field.value = shortest(matrix(cell.what, given, found)[cell.row][cell.column]);
    if (cell.field.getAttribute("aria-invalid") === "true") message.textContent = "";
    cell.field.removeAttribute("aria-invalid");
  });
  el.addEventListener("input", (event) => {
    const cell = cellOf(event);
    if (!cell?.field) return;
    const value = read(cell.field.value);
    if (session?.cell !== cell) session = { cell, saved: false };
    if (value !== null) {
      message.textContent = "";
      put(cell, value);
    }
    mark(cell, value !== null);
  });
  el.addEventListener("keydown", (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (command && ["z", "y"].includes(event.key.toLowerCase())) {
      event.preventDefault();
      event.stopPropagation();
      event.key.toLowerCase() === "y" || event.shiftKey ? redo() : undo();
      document.activeElement?.select?.();
      return;
    }
    const cell = cellOf(event);
    if (!cell || command || event.altKey) return;
    event.stopPropagation(); // JupyterLab has shortcuts of its own for single letters and arrows
    if (event.key === "Escape" && cell.field) {
      if (session?.saved) undo();
      cell.field.value = shortest(matrix(cell.what, given, found)[cell.row][cell.column]);
      mark(cell, true);
      cell.field.select();
      return;
    }
    const next = moved(cell, event);
    if (!next) return;
    event.preventDefault();
    next.target.focus();
  });

  /** The cell that a key leads to, or nothing where the key belongs to the text of the cell. */
  function moved(cell, { key, shiftKey }) {
    const { width, height } = grids[cell.what];
    const field = cell.field;
    const all = field && field.selectionStart === 0 && field.selectionEnd === field.value.length;
    const atStart = !field || all || field.selectionEnd === 0;
    const atEnd = !field || all || field.selectionStart === field.value.length;
    const way = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], Enter: [shiftKey ? -1 : 1, 0], ArrowLeft: atStart && [0, -1], ArrowRight: atEnd && [0, 1],
      Home: atStart && !shiftKey && [0, -width], End: atEnd && !shiftKey && [0, width],
    }[key];
    if (!way) return null;
    const [row, column] = [cell.row + way[0], cell.column + way[1]].map((n, axis) => Math.min(Math.max(n, 0), (axis ? width : height) - 1));
    return cells.find((each) => each.what === cell.what && each.row === row && each.column === column);
  }

  const changes = GIVEN.map((name) => `change:${name}`).join(" ");
  model.on(changes, receive);
  model.on("change:head", draw);
  draw();
  return () => {
    model.off(changes, receive);
    model.off("change:head", draw);
  };
}

export default { render };
