// The widgets of a page without a kernel: models from the state that the build wrote, a view in the place of each view tag.
// The same models and views as ipywidgets' own html-manager, without what the book has no use for (other versions, output areas,
// code editors): a quarter of its size, and nothing in it evaluates text.
import * as base from "@jupyter-widgets/base";
import { ManagerBase } from "@jupyter-widgets/base-manager";
import * as controls from "@jupyter-widgets/controls";
import { MessageLoop } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import { amd } from "./amd.js";
import "anywidget.js";

const MODULES = { "@jupyter-widgets/base": base, "@jupyter-widgets/controls": controls, anywidget: amd.anywidget(base) };
const SILENT = { on_close() {}, on_msg() {}, close() {}, send() {} };

// Lets the browser answer the reader between one piece of work and the next, as soon as they have taken a frame's time.
let rested = 0; // never yet: this script has just been read, which takes longest of all
async function breathe() {
  if (performance.now() - rested < 16) return;
  await new Promise((done) => setTimeout(done));
  rested = performance.now();
}

class PageManager extends ManagerBase {
  async _make_model(options, state) {
    await breathe();
    return super._make_model(options, state);
  }

  async create_view(model, options) {
    await breathe();
    return super.create_view(model, options);
  }

  async loadClass(name, module) {
    if (!MODULES[module]?.[name]) throw new Error(`a widget needs ${name} of ${module}, which this page does not carry`);
    return MODULES[module][name];
  }

  // There is no kernel: nobody listens, and nothing is known beforehand.
  async _create_comm() {
    return SILENT;
  }

  async _get_comm_info() {
    return {};
  }
}

const carried = (kind) => document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${kind}+json"]`);

async function show(manager, tag) {
  const place = document.createElement("div");
  place.className = "widget-subarea";
  tag.before(place);
  const view = await manager.create_view(await manager.get_model(JSON.parse(tag.textContent).model_id));
  Widget.attach(view.luminoWidget, place);
  addEventListener("resize", () => MessageLoop.postMessage(view.luminoWidget, Widget.ResizeMessage.UnknownSize));
}

async function start() {
  for (const state of carried("state")) {
    const manager = new PageManager();
    await manager.set_state(JSON.parse(state.textContent));
    await Promise.all([...carried("view")].filter((tag) => manager.has_model(JSON.parse(tag.textContent).model_id)).map((tag) => show(manager, tag)));
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
