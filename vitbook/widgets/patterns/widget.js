// Section 2's attention patterns, chosen in the page: which tokens one query reads, the whole mask, and what it costs.
// The rules and counts are the lines of text of vitbook/studies/patterns.toml, read here by a parser of their few signs (no eval).

// ---------------------------------------------------------------- formulas

const FUNCTIONS = { abs: Math.abs, min: Math.min, max: Math.max, floor: Math.floor, ceil: Math.ceil };
const COMPARE = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "==": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const ARITHMETIC = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a - b * Math.floor(a / b),
  "&": (a, b) => a & b, "|": (a, b) => a | b,
};
const LEVELS = [["|"], ["&"], ["+", "-"], ["*", "/", "%"]]; // loosest first, as in Python; comparisons are looser still
const SIGNS = /\s*(?:(\d+)|([A-Za-z]\w*)|(\*\*|[<>=!]=|[-+*/%()<>&|,]))/y;

/** A line of text in the given letters -> a function of their numbers, in the same order. Throws on any other sign. */
export function compile(text, letters) {
  const signs = [];
  for (SIGNS.lastIndex = 0; SIGNS.lastIndex < text.trimEnd().length; ) {
    const found = SIGNS.exec(text);
    if (!found) throw new Error(`cannot read the formula ${text}`);
    signs.push(found[1] ?? found[2] ?? found[3]);
  }
  const slots = new Float64Array(letters.length);
  let at = 0;
  const take = (sign) => signs[at] === sign && ++at;
  const must = (sign) => {
    if (!take(sign)) throw new Error(`expected ${sign} in ${text}`);
  };

  function comparison() {
    const left = level(0);
    const compare = COMPARE[signs[at]];
    if (!compare) return left;
    at++;
    const right = level(0);
    return () => compare(left(), right());
  }
  function level(depth) {
    if (depth === LEVELS.length) return signed();
    let left = level(depth + 1);
    while (LEVELS[depth].includes(signs[at])) {
      const [apply, before, after] = [ARITHMETIC[signs[at++]], left, level(depth + 1)];
      left = () => apply(before(), after());
    }
    return left;
  }
  function signed() {
    if (take("-")) {
      const inner = signed();
      return () => -inner();
    }
    const base = atom();
    if (!take("**")) return base;
    const exponent = signed();
    return () => base() ** exponent();
  }
  function atom() {
    const sign = signs[at++];
    if (sign === "(") {
      const inner = comparison();
      must(")");
      return inner;
    }
    if (/^\d/.test(sign)) return () => +sign;
    if (Object.hasOwn(FUNCTIONS, sign)) {
      must("(");
      const args = [comparison()];
      while (take(",")) args.push(comparison());
      must(")");
      return args.length === 1 ? () => FUNCTIONS[sign](args[0]()) : () => FUNCTIONS[sign](...args.map((arg) => arg()));
    }
    const slot = letters.indexOf(sign);
    if (slot < 0) throw new Error(`unknown letter ${sign} in ${text}`);
    return () => slots[slot];
  }

  const run = comparison();
  if (at < signs.length) throw new Error(`cannot read ${signs[at]} in ${text}`);
  return (...numbers) => {
    slots.set(numbers);
    return run();
  };
}

const read = (text, letters) => compile(text, Object.keys(letters))(...Object.values(letters));

/** H, W, N, the parameters (chosen or by default) and the derived letters; throws an Error with words for the reader. */
export function lettersOf(pattern, H, W, chosen = {}) {
  const letters = { H, W, N: H * W };
  for (const p of pattern.parameters) {
    const value = p.letter in chosen ? chosen[p.letter] : read(p.default, letters);
    if (!Number.isInteger(value) || value < p.least) throw new Error(`${p.letter} (${p.meaning}) must be a whole number of at least ${p.least}`);
    letters[p.letter] = value;
  }
  for (const [condition, message] of pattern.needs) if (!read(condition, letters)) throw new Error(message);
  for (const [letter, formula] of pattern.derived) letters[letter] = read(formula, letters);
  return letters;
}

export const pairsOf = (pattern, letters) => read(pattern.count, letters);

/** query -> which of the N tokens it reads, as Uint8Array of 0 and 1. */
export function reader(pattern, letters) {
  const { W, N } = letters;
  const rule = compile(pattern.rule, ["i", "j", "ri", "ci", "rj", "cj", ...Object.keys(letters)]);
  const rest = Object.values(letters);
  return (i) => {
    const [ri, ci] = [Math.floor(i / W), i % W];
    return Uint8Array.from({ length: N }, (_, j) => rule(i, j, ri, ci, Math.floor(j / W), j % W, ...rest));
  };
}

// ---------------------------------------------------------------- words

export const whole = (n) => n.toLocaleString("en-US");
export const percent = (share) => `${(100 * share).toFixed(share < 0.01 ? 3 : 1)} %`;

/** 1234567 -> "1.23 million". */
export function large(n) {
  for (const [size, name] of [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]]) {
    if (n >= size) return `${(n / size).toPrecision(3)} ${name}`;
  }
  return whole(n);
}

// ---------------------------------------------------------------- the page

const MOST_IN_MASK = 1024; // tokens; above that a mask has more entries than a picture can show

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

let widgets = 0;

function render({ model, el }) {
  const { patterns, grids, D, picture } = model.get("data");
  const id = `vb-pw-${++widgets}`;
  const field = (words, control) => {
    control.id ||= `${id}-${words.replace(/\W+/g, "-")}`;
    return make("div", { class: "vb-pw-field" }, make("label", { for: control.id }, words), control);
  };
  const option = ([value, words]) => make("option", { value }, words);

  const patternChoice = make("select", {}, ...patterns.map((p) => option([p.name, p.title])));
  const gridChoice = make("select", {}, ...grids.map(([H, W, words], k) => option([k, `${H} × ${W}: ${words}`])));
  const rowInput = make("input", { type: "number", min: 0 });
  const columnInput = make("input", { type: "number", min: 0 });
  const parameters = make("div", { class: "vb-pw-parameters" });
  const about = make("p", { class: "vb-pw-about" });
  const complaint = make("p", { class: "vb-pw-complaint", role: "alert" });
  const photo = make("canvas", { width: 600, height: 600, tabindex: 0, role: "application" });
  const mask = make("canvas", { width: 600, height: 600, role: "img" });
  const photoWords = make("figcaption");
  const maskWords = make("figcaption");
  const costs = make("div", { class: "vb-pw-costs", "aria-live": "polite" });
  el.classList.add("vb-pattern-widget");
  el.append(
    make("div", { class: "vb-pw-controls" }, field("pattern", patternChoice), field("tokens", gridChoice),
      field("query in row", rowInput), field("column", columnInput)),
    about, parameters, complaint,
    make("div", { class: "vb-pw-views" }, make("figure", {}, photo, photoWords), make("figure", {}, mask, maskWords)),
    costs,
  );

  const image = new Image();
  image.onload = () => draw();
  image.src = picture;
  const drawnMask = document.createElement("canvas"); // the mask of the last choice, one pixel an entry
  let maskKey = "";
  let now = null; // what is chosen, worked out: {pattern, letters, reads, H, W}

  const put = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    update();
  };

  function update() {
    const pattern = patterns.find((p) => p.name === model.get("pattern"));
    const [H, W] = grids[model.get("grid")];
    patternChoice.value = pattern.name;
    gridChoice.value = model.get("grid");
    const query = Math.min(model.get("query"), H * W - 1);
    [rowInput.max, columnInput.max] = [H - 1, W - 1];
    [rowInput.value, columnInput.value] = [Math.floor(query / W), query % W];
    about.textContent = pattern.description;
    showParameters(pattern, H, W);
    try {
      const letters = lettersOf(pattern, H, W, model.get("chosen"));
      now = { pattern, letters, H, W, query, reads: reader(pattern, letters) };
      complaint.textContent = "";
    } catch (error) {
      complaint.textContent = `${error.message}.`;
      return;
    }
    tell();
    draw();
  }

  function showParameters(pattern, H, W) {
    if (parameters.dataset.of !== `${pattern.name} ${H} ${W}`) {
      parameters.dataset.of = `${pattern.name} ${H} ${W}`;
      parameters.replaceChildren(...pattern.parameters.map((p) => {
        const input = make("input", { type: "number", min: p.least, step: p.letter === "k" ? 2 : 1, "data-letter": p.letter });
        input.addEventListener("input", () => put({ chosen: { ...model.get("chosen"), [p.letter]: input.valueAsNumber } }));
        return field(`${p.letter}: ${p.meaning}`, input);
      }));
    }
    for (const input of parameters.querySelectorAll("input")) {
      const p = pattern.parameters.find((each) => each.letter === input.dataset.letter);
      const value = model.get("chosen")[p.letter] ?? read(p.default, { H, W, N: H * W });
      if (input.valueAsNumber !== value && document.activeElement !== input) input.value = value;
    }
  }

  function tell() {
    const { pattern, letters, H, W, query, reads } = now;
    const N = H * W;
    const row = (now.row = reads(query));
    const seen = row.reduce((sum, each) => sum + each, 0);
    const pairs = pairsOf(pattern, letters);
    const place = `row ${Math.floor(query / W)}, column ${query % W}`;
    photoWords.textContent = `The query at ${place} reads ${whole(seen)} of ${whole(N)} tokens.`;
    maskWords.textContent = N > MOST_IN_MASK
      ? `The whole mask has ${large(N * N)} entries; it is drawn up to ${whole(MOST_IN_MASK)} tokens.`
      : `The whole mask, ${whole(N)} × ${whole(N)}: queries run down, keys run right. The line is our query.`;
    photo.setAttribute("aria-label", `${photoWords.textContent} Arrow keys move the query.`);
    mask.setAttribute("aria-label", maskWords.textContent);
    const line = (words, n) => make("div", {}, make("span", {}, words), make("span", { class: "bar" }, make("i", { style: `width:${(100 * n) / N ** 2}%` })),
      make("b", {}, whole(n)), make("span", {}, `pairs, ${percent(n / N ** 2)}`), make("span", {}, `${large(2 * n * D)} multiply-adds a layer`));
    costs.replaceChildren(line("this pattern", pairs), line("full attention", N * N));
    Object.assign(el.dataset, { pairs, seen, query, tokens: N });
  }

  function draw() {
    if (!now) return;
    const ink = (name) => getComputedStyle(el).getPropertyValue(`--p-${name}`).trim();
    drawPhoto(ink);
    drawMask(ink);
  }

  function drawPhoto(ink) {
    const { H, W, query, row } = now;
    const cell = Math.min(photo.width / W, photo.height / H);
    const [left, top] = [(photo.width - cell * W) / 2, (photo.height - cell * H) / 2];
    const pen = photo.getContext("2d");
    pen.clearRect(0, 0, photo.width, photo.height);
    if (image.complete && image.naturalWidth) pen.drawImage(image, left, top, cell * W, cell * H);
    pen.fillStyle = ink("ground");
    pen.globalAlpha = 0.82;
    for (let j = 0; j < H * W; j++) {
      if (!row[j]) pen.fillRect(left + (j % W) * cell, top + Math.floor(j / W) * cell, cell + 0.5, cell + 0.5);
    }
    pen.globalAlpha = 1;
    if (cell > 12) {
      pen.strokeStyle = ink("line");
      pen.lineWidth = 1;
      pen.beginPath();
      for (let c = 0; c <= W; c++) pen.rect(left + c * cell, top, 0, H * cell);
      for (let r = 0; r <= H; r++) pen.rect(left, top + r * cell, W * cell, 0);
      pen.stroke();
    }
    const size = Math.max(cell, 7);
    const [x, y] = [left + ((query % W) + 0.5) * cell - size / 2, top + (Math.floor(query / W) + 0.5) * cell - size / 2];
    for (const [name, width] of [["ground", 7], ["query", 4]]) {
      pen.strokeStyle = ink(name);
      pen.lineWidth = width;
      pen.strokeRect(x, y, size, size);
    }
  }

  function drawMask(ink) {
    const { H, W, query, reads, letters, pattern } = now;
    const N = H * W;
    const pen = mask.getContext("2d");
    pen.clearRect(0, 0, mask.width, mask.height);
    if (N > MOST_IN_MASK) return;
    const key = JSON.stringify([pattern.name, letters, ink("key")]);
    if (key !== maskKey) {
      maskKey = key;
      drawnMask.width = drawnMask.height = N;
      const [red, green, blue] = channels(ink("key"));
      const pixels = new ImageData(N, N);
      for (let i = 0; i < N; i++) reads(i).forEach((one, j) => one && pixels.data.set([red, green, blue, 255], 4 * (i * N + j)));
      drawnMask.getContext("2d").putImageData(pixels, 0, 0);
    }
    pen.imageSmoothingEnabled = N > mask.width;
    pen.drawImage(drawnMask, 0, 0, mask.width, mask.height);
    const cell = mask.height / N;
    const height = Math.max(cell, 5);
    pen.strokeStyle = ink("query");
    pen.lineWidth = 3;
    pen.strokeRect(1.5, (query + 0.5) * cell - height / 2, mask.width - 3, height);
  }

  function channels(colour) {
    const pen = make("canvas", { width: 1, height: 1 }).getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return pen.getImageData(0, 0, 1, 1).data;
  }

  const move = (row, column) => {
    const [H, W] = grids[model.get("grid")];
    const inside = (n, most) => Math.min(Math.max(Math.round(n) || 0, 0), most - 1);
    put({ query: inside(row, H) * W + inside(column, W) });
  };
  patternChoice.addEventListener("change", () => put({ pattern: patternChoice.value, chosen: {} }));
  gridChoice.addEventListener("change", () => {
    const [oldH, oldW] = grids[model.get("grid")];
    const [H, W] = grids[+gridChoice.value];
    const query = model.get("query"); // stays at the same place of the picture
    const [row, column] = [Math.floor(((Math.floor(query / oldW) + 0.5) / oldH) * H), Math.floor((((query % oldW) + 0.5) / oldW) * W)];
    put({ grid: +gridChoice.value, query: row * W + column, chosen: {} });
  });
  for (const input of [rowInput, columnInput]) {
    input.addEventListener("change", () => move(rowInput.valueAsNumber, columnInput.valueAsNumber));
  }
  photo.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    move(+rowInput.value + step[0], +columnInput.value + step[1]);
  });
  const point = (event) => {
    const { H, W } = now;
    const box = photo.getBoundingClientRect();
    const cell = Math.min(box.width / W, box.height / H);
    move(
      Math.floor((event.clientY - box.top - (box.height - cell * H) / 2) / cell),
      Math.floor((event.clientX - box.left - (box.width - cell * W) / 2) / cell),
    );
  };
  photo.addEventListener("pointerdown", (event) => {
    photo.setPointerCapture(event.pointerId);
    point(event);
  });
  photo.addEventListener("pointermove", (event) => event.buttons && point(event));

  model.on("change:pattern change:grid change:query change:chosen", update);
  const themes = new MutationObserver(draw);
  for (const node of [document.documentElement, document.body]) {
    themes.observe(node, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
  }
  update();
  return () => {
    themes.disconnect();
    model.off("change:pattern change:grid change:query change:chosen", update);
  };
}

export default { render };
