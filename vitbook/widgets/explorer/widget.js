// The attention explorer's view: when to draw what, and what to say while numbers are on their way.
// Layers and heads count from 1, tokens from 0 = [class], patch p is token p + 1.
import { Changes } from "./changes.js";
import { Choices } from "./choices.js";
import { dressControls, makeWay } from "./controls.js";
import { drawBar, drawFacts, drawPanels, drawPicture, drawPointed, drawShapes, drawWords } from "./drawing.js";
import { follow, listen } from "./events.js";
import { Maps } from "./maps.js";
import { Page } from "./page.js";
import { Source } from "./source.js";
import { drawHeads, drawLayers } from "./strips.js";
import { clearTable, drawTable } from "./table.js";
import { drawThumbnails } from "./thumbnails.js";
import { summary } from "./words.js";
import { Yours } from "./yours.js";

const SOON = 400; // ms until a wait is told
const LATER = 10000; // ms until a kernel that does not answer is told
const REST = 120; // ms for which a choice must stay before its numbers are loaded
const QUIET = 600; // ms without a change until a screen reader is told, so that a held key does not flood the listener

class View {
  constructor(model, el) {
    this.stop = new AbortController();
    this.choices = new Choices(model);
    this.source = new Source(model, this.stop.signal);
    this.maps = new Maps(this.choices, this.source);
    this.page = new Page();
    this.pointed = null; // token under the pointer or the reading cursor; belongs to this view, not to the model
    this.shown = null; // what is drawn: see maps.js
    this.layersOpen = false;
    this.turn = 0;
    el.append(this.page.el);
    this.ask = async (file) => model.send({ own: { name: file.name, type: file.type, size: file.size } }, undefined, [await file.arrayBuffer()]);
    this.yours = new Yours(this);
    this.changes = new Changes(this);
    listen(this);
    this.fit();
    if (this.source.folder !== null) follow(this, location.hash);
    this.draw();
    dressControls(this);
  }

  fit() {
    this.choices.fit();
    clearTable(this.page);
  }

  /** One drawing for all changes of a moment, before the browser paints. */
  drawSoon() {
    if (this.queued) return;
    this.queued = true;
    queueMicrotask(() => {
      this.queued = false;
      this.draw();
    });
  }

  /** Draw now if every number is here, else ask for what is not and draw when it arrives. */
  draw() {
    if (this.stop.signal.aborted) return;
    const missing = this.maps.missing();
    if (missing.length === 0) this.failure = null;
    this.tellState(missing.length > 0);
    drawThumbnails(this.page, this.choices, this.source, (card) => this.yours.away(card));
    const turn = ++this.turn;
    if (missing.length === 0) return this.drawMaps();
    // What is held while it passes is not loaded: a slider passes many layers.
    this.resting = new Promise((resolve) => setTimeout(resolve, this.drawn ? REST : 0));
    this.resting
      .then(() => turn === this.turn && Promise.all(missing.map((choice) => this.maps.load(choice))))
      .then(() => turn === this.turn && this.draw(), (error) => turn === this.turn && this.fail(error));
  }

  drawPictures() {
    const { choices, page } = this;
    const cards = choices.all.map(({ picture }) => choices.cards[picture]);
    cards.forEach((card, n) => {
      const address = this.source.photo(choices.get("fingerprint"), card);
      drawPicture([page.photo, page.other][n], card, address).catch((error) => this.fail(error));
    });
    drawShapes(page, cards, choices.sizes);
  }

  drawMaps() {
    const { page, choices, maps } = this;
    this.drawPictures();
    const shown = (this.shown = maps.shown());
    drawPanels(page, shown, choices.get("opacity"));
    drawWords(page, shown);
    drawFacts(page, shown);
    drawBar(page, shown);
    drawHeads(page, shown, choices);
    drawLayers(page, shown, choices, maps, this.layersOpen, (layer) => this.drawWith(layer));
    drawTable(page, shown);
    drawPointed(page, shown, this.pointed);
    this.changes.update();
    this.announce();
    if (!this.drawn) makeWay(this);
    this.drawn = true;
  }

  /** Draw again when one more layer of the strip is here. */
  drawWith(layer) {
    layer.then(() => this.layersOpen && this.draw(), (error) => (this.page.layers.words.textContent = error.message));
  }

  toggleLayers() {
    this.layersOpen = !this.layersOpen;
    this.draw();
  }

  fetchLayer() {
    if (!this.maps.ready(this.choices.now)) this.maps.load(this.choices.now).catch(() => {});
  }

  point(token) {
    if (token === this.pointed) return;
    this.pointed = token;
    if (!this.shown) return;
    drawPointed(this.page, this.shown, token);
    if (document.activeElement === this.page.grid.frame) this.announce();
  }

  fail(error) {
    this.failure = error.message;
    this.tellState(false);
  }

  /** Problems and progress in words; the longer a wait, the more of them. */
  tellState(waiting) {
    const { page, choices } = this;
    page.el.classList.toggle("vbx-waiting", waiting);
    clearTimeout(this.late);
    page.tell(page.problem, choices.get("problem") || (waiting ? "" : this.failure) || "");
    page.again.hidden = waiting || !this.failure;
    page.tell(page.status, choices.get("status"));
    if (!waiting) return;
    this.late = setTimeout(() => {
      page.tell(page.status, "The map is on its way …");
      if (this.source.folder !== null) return;
      const words = "The kernel has not answered yet. It may be busy; if it was restarted, run this cell again.";
      this.late = setTimeout(() => page.tell(page.status, words), LATER);
    }, SOON);
  }

  announce() {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => this.page.say(summary(this.shown, this.pointed)), QUIET);
  }

  close() {
    this.stop.abort();
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
