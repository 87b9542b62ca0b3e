// The attention explorer's view: words, links, then the page. It needs grid_parts.js and data.js.
// Layers and heads count from 1, tokens from 0 = [class], patch p is token p + 1.

// ---------------------------------------------------------------- words

export function scaleWords({ scale, show, reverse }, sizes) {
  const peers = show === 2 ? `the rollouts of all ${sizes.L} layers` : `all ${sizes.heads} heads of this layer`;
  const single = show === 2 ? sizes.L === 1 : sizes.heads === 1;
  if (scale === 2) return "this map’s own scale: not comparable with other maps";
  if (scale === 1) return `one scale for ${single ? "" : `${peers} and `}every ${reverse ? "token read" : "query"}`;
  return single ? "the scale of this map" : `one scale for ${peers}`;
}

/** "#picture=chelsea&layer=10&head=5&query=cls" -> what it asks for, or null where it isn't about an explorer. */
export function parseLink(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const known = ["picture", "layer", "head", "query", "show", "direction", "scale"];
  if (!known.some((key) => asked.has(key))) return null;
  const out = { explorer: asked.get("explorer") ?? "" };
  for (const key of known) if (asked.has(key)) out[key] = asked.get(key);
  if (/^(cls|class|\[class\])$/i.test(out.query ?? "")) out.query = "0";
  return out;
}

const SHOWS = ["head", "mean", "rollout"];
const DIRECTIONS = ["reads", "read by"];
const SCALES = ["heads", "layer", "map"];

// ---------------------------------------------------------------- the page

class View {
  constructor(model, el) {
    this.model = model;
    this.stop = new AbortController();
    this.source = source(model, this.stop.signal);
    this.pointed = null; // token under the pointer or the reading cursor; belongs to this view, not to the model
    this.layersOpen = false;
    this.drawn = false;
    this.build(el);
    this.listen();
    this.fit();
    if (this.source.folder !== null) this.followLink(location.hash);
    this.draw();
    this.dressControls();
  }

  get(key) {
    return this.model.get(key);
  }

  set(changes) {
    for (const [key, value] of Object.entries(changes)) this.model.set(key, value);
    this.model.save_changes();
  }

  get sizes() {
    const sizes = this.get("sizes");
    return { ...sizes, N: sizes.rows * sizes.columns };
  }

  get choice() {
    const keys = ["picture", "layer", "head", "query", "show", "scale"];
    return { ...Object.fromEntries(keys.map((key) => [key, this.get(key)])), reverse: this.get("direction") === 1 };
  }

  /** The pinned choice with today's query and direction, or null. */
  get pinned() {
    const against = this.get("against");
    return "layer" in against ? { ...this.choice, ...against } : null;
  }

  // ---- building

  build(el) {
    this.photo = panel("photo", "Click a patch to read from it; arrow keys move, c is [class]");
    this.other = panel("photo", "The map that you compare with");
    this.grid = panel("grid", "Point at a patch to see its weight; arrow keys move the pointer, Enter reads from it");
    this.other.frame.tabIndex = -1;
    this.other.star.remove(); // the query is chosen on the left, for both
    this.title = h("p", { class: "vbx-title" });
    this.stage = h("div", { class: "vbx-stage" }, this.photo.element, this.other.element, this.grid.element);
    this.barCanvas = h("canvas", { class: "vbx-ramp", width: 256, height: 1, "aria-hidden": "true" });
    this.barTicks = h("div", { class: "vbx-ticks", "aria-hidden": "true" });
    this.barWords = h("p", { class: "vbx-barwords" });
    this.bar = h("div", { class: "vbx-bar" }, h("div", { class: "vbx-ramps" }, this.barCanvas, this.barTicks), this.barWords);
    this.share = h("span", { class: "vbx-share", "aria-hidden": "true" }, h("span"));
    this.facts = h("dl", { class: "vbx-facts" });
    this.heads = h("div", { class: "vbx-strip", role: "group" });
    this.layers = h("div", { class: "vbx-strip", role: "group", hidden: true });
    this.headsWords = h("p", { class: "vbx-stripwords" });
    this.layersWords = h("p", { class: "vbx-stripwords", hidden: true });
    this.compare = h("button", { type: "button", class: "vbx-button" });
    this.link = h("button", { type: "button", class: "vbx-button vbx-link", onclick: () => this.copyLink() }, "Copy a link to this map");
    this.openLayers = h("button", { type: "button", class: "vbx-button", "aria-expanded": "false" });
    this.tools = h("div", { class: "vbx-tools" }, this.openLayers, this.compare, this.link);
    this.table = h("details", { class: "vbx-table" }, h("summary", {}, "Every weight of this map as a table"));
    this.problem = h("p", { class: "vbx-problem", role: "alert", hidden: true });
    this.status = h("p", { class: "vbx-status", role: "status", hidden: true });
    this.live = h("p", { class: "vbx-live", "aria-live": "polite" });
    this.el = h(
      "div", { class: "vbx-view" }, this.problem, this.status, this.title, this.stage, this.bar, this.facts, this.headsWords,
      this.heads, this.layersWords, this.layers, this.tools, this.table, this.live,
    );
    el.append(this.el);
  }

  listen() {
    const { signal } = this.stop;
    const on = (target, type, act) => target.addEventListener(type, act, { signal });
    const redraw = () => this.drawSoon();
    for (const key of ["picture", "layer", "head", "query", "show", "direction", "scale", "against", "opacity", "smooth"]) {
      this.model.on(`change:${key}`, redraw);
      signal.addEventListener("abort", () => this.model.off(`change:${key}`, redraw));
    }
    const refit = () => (this.fit(), this.drawSoon());
    for (const key of ["sizes", "pictures", "fingerprint", "status", "problem"]) {
      this.model.on(`change:${key}`, refit);
      signal.addEventListener("abort", () => this.model.off(`change:${key}`, refit));
    }

    const choose = (token) => token !== null && this.set({ query: token });
    const point = (token) => this.point(token);
    on(this.photo.frame, "click", (e) => choose(tokenAt(e, this.photo.seen, this.sizes)));
    on(this.photo.frame, "keydown", (e) => this.key(e, this.get("query"), choose));
    on(this.photo.star, "click", () => choose(0));
    on(this.grid.frame, "click", (e) => point(tokenAt(e, this.grid.seen, this.sizes)));
    on(this.grid.frame, "keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") return e.preventDefault(), this.pointed !== null && choose(this.pointed);
      if (e.key === "Escape") return point(null);
      this.key(e, this.pointed ?? this.get("query"), point);
    });
    on(this.grid.star, "click", () => point(0));
    for (const { frame, seen } of [this.photo, this.other, this.grid]) {
      on(frame, "pointermove", (e) => e.pointerType !== "touch" && point(tokenAt(e, seen, this.sizes)));
      on(frame, "pointerleave", (e) => e.pointerType !== "touch" && point(null));
    }
    on(this.compare, "click", () => this.pin());
    on(this.openLayers, "click", () => {
      this.layersOpen = !this.layersOpen;
      this.draw();
    });
    on(this.table, "toggle", redraw);
    if (this.source.folder !== null) on(window, "hashchange", () => this.followLink(location.hash));
    // A link of this page, clicked: also the one that the address bar holds already, and in JupyterLab.
    on(document, "click", (e) => this.followLink(e.target.closest?.("a[href^='#']")?.hash ?? ""));
    // What a reader is about to need: the layer's other queries, once the explorer is touched and not before.
    for (const type of ["pointerenter", "focusin"]) on(this.el, type, () => this.fetchLayer());
    onTheme(redraw, signal);
  }

  key(event, from, act) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = step(from, event.key, this.sizes);
    if (to === null) return;
    event.preventDefault();
    act(to);
  }

  /** No choice is ever out of range, whatever the checkpoint, the link or the kernel asked for. */
  fit() {
    const { L, heads, N } = this.sizes;
    const limits = {
      picture: [0, this.get("pictures").length - 1], layer: [1, L], head: [1, heads], query: [0, N],
      show: [0, 2], direction: [0, 1], scale: [0, 2],
    };
    const changes = {};
    for (const [key, [low, high]] of Object.entries(limits)) {
      const value = clamp(this.get(key), low, high);
      if (value !== this.get(key)) changes[key] = value;
    }
    const { picture, layer, head } = this.get("against");
    if (picture >= this.get("pictures").length || layer > L || head > heads) changes.against = {};
    if (Object.keys(changes).length) this.set(changes);
    this.table.replaceChildren(this.table.firstChild);
  }

  /** Choose what a link such as "#picture=chelsea&layer=10&head=5&query=cls" names, if it means this explorer. */
  followLink(hash) {
    const asked = parseLink(hash);
    if (!asked || asked.explorer !== this.get("name")) return;
    const index = { show: SHOWS, direction: DIRECTIONS, scale: SCALES };
    const changes = {};
    const name = this.get("pictures").findIndex((card) => card.name === asked.picture);
    if (name >= 0) changes.picture = name;
    for (const key of ["layer", "head", "query"]) if (/^\d+$/.test(asked[key] ?? "")) changes[key] = Number(asked[key]);
    for (const [key, names] of Object.entries(index)) if (names.includes(asked[key])) changes[key] = names.indexOf(asked[key]);
    this.set(changes);
    this.fit();
    const scroll = () => this.el.closest(".vbx-explorer")?.scrollIntoView({ block: "start" });
    requestAnimationFrame(scroll);
  }

  async copyLink() {
    const { picture, layer, head, query, show, scale, reverse } = this.choice;
    const words = { picture: this.get("pictures")[picture].name, layer, head, query: query === 0 ? "cls" : query };
    if (show) words.show = SHOWS[show];
    if (reverse) words.direction = DIRECTIONS[1];
    if (scale) words.scale = SCALES[scale];
    if (this.get("name")) words.explorer = this.get("name");
    const url = `${location.href.replace(/#.*/, "")}#${new URLSearchParams(words)}`;
    history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      this.say("The link is on the clipboard and in the address bar.");
    } catch {
      this.say("The link is in the address bar.");
    }
  }

  pin() {
    const { picture, layer, head, show } = this.choice;
    this.set({ against: this.pinned ? {} : { picture, layer, head, show } });
  }

  // ---- drawing

  stackKey(choice) {
    return `${this.get("fingerprint")}/${this.get("pictures")[choice.picture].key}/${square(choice).layer}`;
  }

  load(choice) {
    const { L, heads, N } = this.sizes;
    return this.source.load(this.stackKey(choice), square(choice).layer === 0 ? L : heads + 1, N);
  }

  /** The stack of a choice if its numbers are here; the page's own rows will do where they hold what is asked. */
  have(choice) {
    const stack = this.source.ready(this.stackKey(choice));
    if (stack) return stack;
    const first = this.get("first");
    if (first.key !== this.stackKey(choice)) return null;
    this.rows ??= new Rows(bytesOf(this.get("first_rows")), this.sizes.heads + 1, this.sizes.N, first.query);
    return this.rows.holds(choice.query, choice.reverse, choice.scale === 1) ? this.rows : null;
  }

  fetchLayer() {
    if (!this.source.ready(this.stackKey(this.choice))) this.load(this.choice).catch(() => {});
  }

  /** One drawing for all changes of a moment, before the browser paints. */
  drawSoon() {
    if (this.queued) return;
    this.queued = true;
    queueMicrotask(() => {
      this.queued = false;
      if (!this.stop.signal.aborted) this.draw();
    });
  }

  /** Draw now if every number is here, else ask for what is not and draw when it arrives. */
  draw() {
    const wanted = [this.choice, this.pinned].filter(Boolean);
    const missing = wanted.filter((choice) => !this.have(choice));
    if (missing.length === 0) this.failure = null;
    this.showPictures();
    this.tellState(missing.length > 0);
    if (missing.length === 0) return this.drawMaps(...wanted);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const again = () => turn === this.turn && !this.stop.signal.aborted && this.draw();
    Promise.all(missing.map((choice) => this.load(choice))).then(again, (error) => {
      if (turn !== this.turn) return;
      this.failure = error.message;
      this.tellState(false);
    });
  }

  tellState(waiting) {
    this.el.classList.toggle("vbx-waiting", waiting);
    clearTimeout(this.late);
    const tell = (element, text) => {
      element.hidden = !text;
      if (element.textContent !== text) element.textContent = text;
    };
    tell(this.problem, this.get("problem") || (waiting ? "" : this.failure) || "");
    tell(this.status, this.get("status"));
    if (!waiting) return;
    const patience = [[400, "The map is on its way …"]];
    if (this.source.folder === null) {
      patience.push([10000, "The kernel has not answered yet. It may be busy; if it was restarted, run this cell again."]);
    }
    const [[soon, words], later] = patience;
    this.late = setTimeout(() => {
      tell(this.status, words);
      if (later) this.late = setTimeout(() => tell(this.status, later[1]), later[0]);
    }, soon);
  }

  drawMaps(choice, pinned) {
    const { sizes } = this;
    const theme = isDark() ? "dark" : "light";
    if (this.theme !== theme) this.tables = colourTables(new Uint8Array(bytesOf(this.get("tables"))), theme);
    this.theme = theme;
    const stack = this.have(choice);
    const map = stack.read(square(choice).map, choice.query, choice.reverse);
    const against = pinned && this.have(pinned).read(square(pinned).map, pinned.query, pinned.reverse);
    const own = this.top(choice, map);
    const top = Math.max(own.top, against ? this.top(pinned, against).top : 0);
    this.map = against ? difference(map, against) : map;

    show(this.photo.canvas, paint(map.patches, top, this.tables.weights), sizes);
    this.other.element.hidden = !against;
    if (against) show(this.other.canvas, paint(against.patches, top, this.tables.weights), sizes);
    const cells = against
      ? paintSigned(this.map.patches, this.map.top, this.tables.signed)
      : paint(map.patches, top, this.tables.weights);
    show(this.grid.canvas, cells, sizes);
    this.el.classList.toggle("vbx-comparing", Boolean(against));
    this.el.classList.toggle("vbx-smooth", this.get("smooth"));
    this.el.style.setProperty("--vb-opacity", this.get("opacity"));

    for (const { asked } of [this.photo, this.other, this.grid]) mark(asked, choice.query, sizes);
    this.photo.star.classList.toggle("vbx-chosen", choice.query === 0);
    this.scale = { top: against ? this.map.top : top, signed: Boolean(against) };
    this.drawWords(choice, pinned, map, against);
    this.drawBar(choice, own.peer);
    this.drawHeads(choice, stack, top);
    this.drawLayers(choice);
    this.drawTable();
    this.drawPointed();
    this.announce();
    if (!this.drawn) this.firstDraw();
  }

  /** The top of the colour scale, shared by the heads of a layer (or by the rollouts) unless the reader asks otherwise,
   *  and the map that sets it: {top, peer}, peer null where it is this map. */
  top(choice, map) {
    if (choice.scale === 2) return { top: map.top, peer: null };
    const stack = this.have(choice);
    const first = choice.show === 2 ? 0 : 1; // of a layer, the mean is no peer
    const token = choice.scale === 1 ? undefined : choice.query;
    let [top, peer] = [map.top, null];
    for (let n = first; n < stack.maps; n++) {
      const other = stack.top(n, choice.reverse, token);
      if (other > top) [top, peer] = [other, n];
    }
    return { top, peer };
  }

  showPictures() {
    const set = ({ image, seen, frame, element }, index) => {
      const card = this.get("pictures")[index];
      const [left, top, right, bottom] = card.box;
      Object.assign(seen.style, {
        left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * (right - left)}%`, height: `${100 * (bottom - top)}%`,
      });
      frame.style.setProperty("--vb-aspect", card.width / card.height);
      element.classList.toggle("vbx-cropped", left > 0 || top > 0 || right < 1 || bottom < 1);
      image.alt = card.alt;
      this.source.photo(this.get("fingerprint"), card.key).then(
        (url) => image.getAttribute("src") !== url && (image.src = url),
        (error) => ((this.failure = error.message), this.tellState(false)),
      );
    };
    set(this.photo, this.get("picture"));
    const { pinned } = this;
    if (pinned) set(this.other, pinned.picture);
    const grid = this.sizes.columns / this.sizes.rows;
    this.grid.frame.style.setProperty("--vb-aspect", grid);
    const cards = [this.choice, pinned].filter(Boolean).map(({ picture }) => this.get("pictures")[picture]);
    // As wide as their shapes ask, so that all panels are about equally high.
    const shares = [...cards.map(({ width, height }) => width / height), grid].map((a) => Math.min(Math.max(a, 0.7), 1.7));
    this.stage.style.setProperty("--vb-columns", shares.map((share) => `minmax(0, ${share}fr)`).join(" "));
  }

  mapName({ show, layer, head }) {
    if (show === 2) return `Rollout up to layer ${layer}`;
    return show === 1 ? `Layer ${layer}, mean of ${this.sizes.heads} heads` : `Layer ${layer}, head ${head}`;
  }

  drawWords(choice, pinned, map, against) {
    const { sizes } = this;
    const token = describe(choice.query, sizes.columns);
    const title = this.get("pictures")[choice.picture].title;
    const does = choice.reverse ? `who reads ${token}` : `what ${token} reads`;
    this.title.textContent = `${this.mapName(choice)}: ${does}`;
    this.photo.note.textContent = choice.query === 0 ? "[class] asks" : token;
    if (choice.reverse) this.photo.note.textContent = `${token} is read`;
    this.photo.caption.textContent = against ? `A: ${title}, ${this.mapName(choice).toLowerCase()}` : title;
    this.photo.star.title = this.photo.star.ariaLabel = "Read from [class], token 0";
    this.photo.star.ariaPressed = String(choice.query === 0);
    this.photo.frame.ariaLabel =
      `${title}. ${choice.reverse ? "Token that is read" : "Query"}: ${token}. Arrow keys choose another patch, c chooses [class].`;
    if (against) {
      this.other.note.textContent = "compared with";
      this.other.caption.textContent = `B: ${this.get("pictures")[pinned.picture].title}, ${this.mapName(pinned).toLowerCase()}`;
      this.other.frame.ariaLabel = this.other.caption.textContent;
    }
    const of = choice.reverse ? "from" : "to";
    const weight = figure(this.map.toClass, against || (choice.reverse && choice.query) ? this.map.step : 0);
    this.grid.note.replaceChildren(h("b", {}, weight), against ? "" : ` ${of} [class]`);
    this.grid.star.title = this.grid.star.ariaLabel = "Point at [class]";
    this.grid.caption.textContent = against ? "A − B, patch by patch" : `The ${sizes.rows} × ${sizes.columns} weights, bare`;
    this.grid.frame.ariaLabel = `${sizes.rows} by ${sizes.columns} weights. Arrow keys point at a patch, Enter reads from it.`;
    this.compare.textContent = pinned ? "Stop comparing" : "Compare: keep this map and choose another";
    this.compare.ariaPressed = String(Boolean(pinned));

    const { toClass, patches, step: error } = this.map;
    const most = peak(patches);
    const even = 1 / (sizes.N + 1);
    const patchSum = this.map.sum - toClass;
    const facts = [];
    if (against) {
      facts.push(["Largest difference", `${figure(patches[most], error)} at ${describe(most + 1, sizes.columns)}`]);
      facts.push(["Difference on [class]", figure(toClass, Math.max(error, 5e-5))]);
      if (!choice.reverse) facts.push(["Weight that moves", `${(100 * this.map.moved).toFixed(1)} % of each row`]);
    } else {
      facts.push([choice.reverse ? "Read most by" : "Reads most", `${describe(most + 1, sizes.columns)}, ${exact(this.map.top)}`]);
      const sum = `${sizes.N} patches ${patchSum.toFixed(4)} = ${this.map.sum.toFixed(6)}`;
      const end = choice.reverse ? " (columns need not sum to 1)" : this.share;
      this.share.firstChild.style.width = `${100 * Math.min(toClass / (this.map.sum || 1), 1)}%`;
      facts.push([choice.reverse ? "Column sum" : "Row sum", h("b", {}, `[class] ${toClass.toFixed(4)}`), ` + ${sum}`, end]);
      if (!choice.reverse) facts.push(["Spread evenly", `1/${sizes.N + 1} = ${even.toFixed(4)} each`]);
    }
    this.pointedFact = h("dd", {});
    const pairs = facts.map(([name, ...words]) => [h("dt", {}, name), h("dd", {}, ...words)]);
    pairs.push([h("dt", {}, "Pointed at"), this.pointedFact]);
    this.facts.replaceChildren(...pairs.map((pair) => h("div", {}, ...pair)));
  }

  drawBar(choice, peer) {
    const { top, signed } = this.scale;
    const rgba = signed
      ? paintSigned(Float64Array.from({ length: 255 }, (_, i) => i - 127), 127, this.tables.signed)
      : paint(Float64Array.from({ length: 256 }, (_, i) => i), 255, this.tables.weights);
    show(this.barCanvas, rgba, { columns: rgba.length / 4, rows: 1 });
    const even = 1 / (this.sizes.N + 1);
    const tick = (share, text, kind) => h("span", { class: `vbx-tick vbx-${kind}`, style: `left:${100 * share}%` }, text);
    const ends = signed
      ? [tick(0, figure(-top, this.map.step), "low"), tick(0.5, "0", "mid"), tick(1, figure(top, this.map.step), "high")]
      : [tick(0, "0", "low"), tick(1, exact(top), "high")];
    const share = even / top;
    if (!signed && !choice.reverse && share > 0.1 && share < 0.78) ends.push(tick(share, "even", "mid"));
    this.needle = h("span", { class: "vbx-needle", hidden: true });
    this.barTicks.replaceChildren(...ends, this.needle);
    const setter = choice.show === 2 ? `layer ${peer + 1}` : `head ${peer}`;
    const words = scaleWords(choice, this.sizes) + (peer === null ? "" : `; ${setter} sets its top`);
    const smooth = this.get("smooth") ? "; smoothed, the colours between patch centres are invented" : "";
    this.barWords.textContent = signed
      ? `difference of weights, A minus B; the largest size sets both ends${smooth}`
      : `weight on one patch; ${words}${smooth}`;
    this.barWords.classList.toggle("vbx-own-scale", choice.scale === 2 && !signed);
  }

  strip(element, count, build) {
    element.style.setProperty("--vb-count", Math.ceil(count / Math.ceil(count / 8)));
    while (element.children.length > count) element.lastChild.remove();
    while (element.children.length < count) {
      element.append(build(h("canvas", { class: "vbx-cells", "aria-hidden": "true" }), element.children.length));
    }
  }

  drawHeads(choice, stack, top) {
    const { sizes } = this;
    const hidden = choice.show === 2 || sizes.heads === 1;
    this.heads.hidden = this.headsWords.hidden = hidden;
    if (hidden) return;
    this.headsWords.textContent =
      `The heads of layer ${choice.layer}, ` + (choice.scale === 2 ? "each on its own scale" : "on one scale");
    this.heads.ariaLabel = `Heads of layer ${choice.layer}`;
    const pick = (n) => this.set(n === 0 ? { show: 1 } : { show: 0, head: n });
    this.strip(this.heads, sizes.heads + 1, (canvas, n) =>
      h("button", { type: "button", class: "vbx-thumb", onclick: () => pick(n) }, canvas, h("span", {}, n === 0 ? "mean" : `${n}`)));
    for (let n = 0; n <= sizes.heads; n++) {
      const map = stack.read(n, choice.query, choice.reverse);
      const button = this.heads.children[n];
      const own = choice.scale === 2 ? map.top : this.scale.signed ? Math.max(top, map.top) : top;
      show(button.firstChild, paint(map.patches, own, this.tables.weights), sizes);
      button.ariaPressed = String(choice.show === 1 ? n === 0 : n === choice.head);
      const most = peak(map.patches);
      const name = n === 0 ? "Mean of all heads" : `Head ${n}`;
      button.ariaLabel = button.title =
        `${name}: largest weight ${exact(map.top)} at ${describe(most + 1, sizes.columns)}, ` +
        `[class] ${map.toClass.toFixed(3)}`;
    }
  }

  drawLayers(choice) {
    const { sizes } = this;
    const what = choice.show === 2 ? "the rollout" : choice.show === 1 ? "the mean" : `head ${choice.head}`;
    this.openLayers.hidden = sizes.L === 1;
    this.openLayers.textContent = this.layersOpen ? "Hide the layers" : `All ${sizes.L} layers of ${what} at a glance`;
    this.openLayers.ariaExpanded = String(this.layersOpen);
    this.layers.hidden = this.layersWords.hidden = !this.layersOpen || sizes.L === 1;
    if (this.layers.hidden) return;
    const choices = Array.from({ length: sizes.L }, (_, l) => ({ ...choice, layer: l + 1 }));
    const here = choices.map((c) => this.source.ready(this.stackKey(c)));
    const missing = choices.filter((_, l) => !here[l]);
    if (missing.length) {
      this.layersWords.textContent = `${sizes.L - missing.length} of ${sizes.L} layers are here …`;
      const again = () => this.layersOpen && !this.stop.signal.aborted && this.draw();
      this.load(missing[0]).then(again, (error) => (this.layersWords.textContent = error.message));
      return;
    }
    const maps = choices.map((c, l) => here[l].read(square(c).map, c.query, c.reverse));
    const top = Math.max(...maps.map((map) => map.top));
    this.layersWords.textContent =
      `The layers of ${what}, ` + (choice.scale === 2 ? "each on its own scale" : `on one scale from 0 to ${exact(top)}`);
    this.layers.ariaLabel = `Layers of ${what}`;
    this.strip(this.layers, sizes.L, (canvas, n) =>
      h("button", { type: "button", class: "vbx-thumb", onclick: () => this.set({ layer: n + 1 }) }, canvas, h("span", {}, `${n + 1}`)));
    maps.forEach((map, l) => {
      const button = this.layers.children[l];
      show(button.firstChild, paint(map.patches, choice.scale === 2 ? map.top : top, this.tables.weights), sizes);
      button.ariaPressed = String(choice.layer === l + 1);
      button.ariaLabel = button.title = `Layer ${l + 1}: largest weight ${exact(map.top)}, [class] ${map.toClass.toFixed(3)}`;
    });
  }

  drawTable() {
    if (!this.table.open) return;
    const { rows, columns } = this.sizes;
    let body = this.table.querySelector("tbody");
    if (!body) {
      const head = h("tr", {}, h("td"), ...Array.from({ length: columns }, (_, c) => h("th", { scope: "col" }, `${c}`)));
      body = h("tbody");
      for (let r = 0; r < rows; r++) {
        body.append(h("tr", {}, h("th", { scope: "row" }, `${r}`), ...Array.from({ length: columns }, () => h("td"))));
      }
      this.tableWords = h("caption");
      const table = h("table", {}, this.tableWords, h("thead", {}, head), body);
      this.table.append(h("div", { class: "vbx-scroll", tabIndex: 0, role: "region", "aria-label": "Table of weights" }, table));
    }
    const { patches, toClass, step: error } = this.map;
    this.tableWords.textContent =
      `${this.title.textContent}. Rows and columns of the grid, counted from 0. [class]: ${toClass.toFixed(4)}. ` +
      (error ? `Stored numbers are off by at most ${error.toExponential(0)}.` : "");
    patches.forEach((w, i) => (body.rows[Math.floor(i / columns)].cells[(i % columns) + 1].textContent = figure(w, error || 5e-6)));
  }

  // ---- pointing

  point(token) {
    if (token === this.pointed) return;
    this.pointed = token;
    if (!this.map) return;
    this.drawPointed();
    if (document.activeElement === this.grid.frame) this.announce();
  }

  drawPointed() {
    const { pointed, sizes, map } = this;
    for (const panel of [this.photo, this.other, this.grid]) mark(panel.pointed, pointed, sizes);
    this.grid.star.classList.toggle("vbx-chosen", pointed === 0);
    if (!this.needle) return;
    this.needle.hidden = !pointed;
    if (pointed === null) {
      this.pointedFact.textContent = "nothing; point at a patch, or focus the bare grid and use the arrow keys";
      this.pointedFact.className = "vbx-quiet";
      return;
    }
    this.pointedFact.className = "";
    this.pointedFact.textContent = this.pointedWords();
    if (!pointed) return;
    const share = map.patches[pointed - 1] / (this.scale.top || 1);
    this.needle.style.left = `${100 * (this.scale.signed ? (1 + share) / 2 : share)}%`;
  }

  pointedWords() {
    const { pointed, sizes, map } = this;
    if (pointed === 0) return `token 0 = [class]: ${figure(map.toClass, this.scale.signed ? map.step : 0)}`;
    const { patch, row, column } = place(pointed, sizes.columns);
    const weight = map.patches[pointed - 1];
    const times = this.scale.signed || this.choice.reverse ? "" : `, ${(weight * (sizes.N + 1)).toFixed(2)} times an even share`;
    return `token ${pointed} → patch ${patch} → row ${row}, column ${column}: ${figure(weight, map.step)}${times}`;
  }

  // ---- for screen readers

  /** Says what changed once the changes pause, so that a held key does not flood the listener. */
  announce() {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => {
      const most = peak(this.map.patches);
      const at = describe(most + 1, this.sizes.columns);
      const point = this.pointed === null ? "" : ` ${this.pointedWords()}.`;
      this.say(
        `${this.title.textContent}. [class] ${this.map.toClass.toFixed(3)}. ` +
          `Largest ${this.scale.signed ? figure(this.map.patches[most], this.map.step) : exact(this.map.top)} at ${at}.${point}`,
      );
    }, 600);
  }

  say(text) {
    if (this.live.textContent !== text) this.live.textContent = text;
  }

  /** The controls of ipywidgets may come to the page after this view; sliders have no name of their own. */
  dressControls() {
    if (this.stop.signal.aborted) return;
    const root = this.el.closest(".vbx-explorer");
    if (!root) return requestAnimationFrame(() => this.dressControls());
    root.classList.toggle("vbx-has-kernel", this.source.folder === null);
    const dress = () => {
      root.classList.toggle("vbx-more-open", this.get("more"));
      root.querySelector(".vbx-more-button")?.setAttribute("aria-expanded", this.get("more"));
      for (const handle of root.querySelectorAll(".noUi-handle:not([aria-label])")) {
        const words = handle.closest(".widget-slider, .jupyter-widget-slider")?.querySelector("label, .widget-label");
        if (words) handle.setAttribute("aria-label", words.textContent);
      }
    };
    dress();
    const late = new MutationObserver(dress);
    late.observe(root, { childList: true, subtree: true });
    this.model.on("change:more", dress);
    this.stop.signal.addEventListener("abort", () => (late.disconnect(), this.model.off("change:more", dress)));
  }

  firstDraw() {
    this.drawn = true;
    this.makeWay(performance.now());
  }

  /** The first state leaves once this view and its controls stand where they will stay. */
  makeWay(since) {
    if (this.stop.signal.aborted) return;
    const first = [...document.querySelectorAll(".vbx-first")].filter((e) => e.dataset.for === this.get("uid"));
    const ready = this.el.closest(".vbx-explorer")?.querySelector(".vbx-controls .noUi-handle, .vbx-controls select");
    if (first.length && !ready && performance.now() - since < 3000) {
      return requestAnimationFrame(() => this.makeWay(since));
    }
    for (const element of first) element.remove();
    this.el.dataset.drawn = "yes";
  }

  close() {
    this.stop.abort();
    this.source.close();
    clearTimeout(this.late);
    clearTimeout(this.speaking);
  }
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.close();
  },
};
