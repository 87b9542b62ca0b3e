// The calculator: sizes in, parameters and multiply-adds out.
import { field, input, select } from "../kit/controls.js";
import { make, onChange, put, uid } from "../kit/dom.js";
import { count, FLAGS, letters, problems, SIZES } from "./counting.js";
import { fact, results } from "./results.js";

class Calculator {
  constructor(model, el) {
    Object.assign(this, { model, id: uid("vb-calc"), stop: new AbortController(), inputs: {}, notes: {}, boxes: {} });
    this.build(el);
    this.listen();
    this.pull();
  }

  build(el) {
    const presets = Object.keys(this.model.get("presets")).map((name) => [name, name]);
    this.preset = select([...presets, ["", "your own sizes"]], { id: `${this.id}-model` });
    this.preset.lastChild.disabled = true;
    const fields = SIZES.map((size) => this.field(...size));
    const flags = FLAGS.map((flag) => this.flag(...flag));
    this.summary = make("div", { class: "summary", "aria-live": "polite", role: "status" });
    this.results = make("div", { class: "results" });
    this.root = make("section", { class: "vb-widget vb-calc", "aria-label": "Calculator of parameters and multiply-adds" },
      make("div", { class: "choose" }, make("label", { for: this.preset.id }, "Start from "), this.preset),
      make("div", { class: "fields" }, ...fields), make("div", { class: "flags" }, ...flags), this.summary, this.results);
    el.replaceChildren(this.root);
  }

  field(letter, meaning, unit) {
    const id = `${this.id}-${letter}`;
    this.inputs[letter] = input({ inputmode: "numeric", "aria-describedby": `${id}-note` });
    this.notes[letter] = make("small", { id: `${id}-note` }, unit);
    const label = [make("i", {}, letter), ` ${letter === "heads" ? "" : meaning}`];
    return field(id, label, this.inputs[letter], this.notes[letter]);
  }

  flag(name, meaning) {
    this.boxes[name] = make("input", { type: "checkbox", id: `${this.id}-${name}` });
    return make("label", { for: this.boxes[name].id }, this.boxes[name], ` ${meaning}`);
  }

  listen() {
    this.preset.addEventListener("change", () => this.start(this.preset.value));
    for (const each of Object.values(this.inputs)) {
      each.addEventListener("input", () => this.draw());
      each.addEventListener("change", () => this.push());
    }
    for (const box of Object.values(this.boxes)) box.addEventListener("change", () => (this.draw(), this.push()));
    onChange(this.model, [...Object.keys(this.inputs), ...Object.keys(this.boxes)], () => this.differs() && this.pull(), this.stop.signal);
  }

  /** What stands in the fields, a BigInt a letter, null where it is no whole number. */
  get typed() {
    const read = (text) => (/^\d{1,18}$/.test(text) ? BigInt(text) : null);
    return Object.fromEntries(Object.entries(this.inputs).map(([letter, { value }]) => [letter, read(value.trim().replace(/[,\s_]/g, ""))]));
  }

  get flags() {
    return Object.fromEntries(Object.entries(this.boxes).map(([name, { checked }]) => [name, checked]));
  }

  /** Whether the model holds something else than the page shows. */
  differs() {
    const shown = { ...Object.fromEntries(Object.entries(this.inputs).map(([letter, { value }]) => [letter, value])), ...this.flags };
    return Object.entries(shown).some(([name, value]) => String(this.model.get(name)) !== String(value));
  }

  start(name) {
    for (const [letter, n] of Object.entries(this.model.get("presets")[name])) this.inputs[letter].value = String(n);
    this.draw();
    this.push();
  }

  pull() {
    for (const [letter, each] of Object.entries(this.inputs)) each.value = String(this.model.get(letter));
    for (const [name, box] of Object.entries(this.boxes)) box.checked = this.model.get(name);
    this.draw();
  }

  /** Tell Python, unless the sizes fit no model. */
  push() {
    const size = this.typed;
    if (Object.keys(problems(size)).length) return;
    const told = Object.entries(size).filter(([, n]) => n <= BigInt(Number.MAX_SAFE_INTEGER));
    put(this.model, { ...Object.fromEntries(told.map(([letter, n]) => [letter, Number(n)])), ...this.flags });
  }

  draw() {
    const size = this.typed;
    const wrong = problems(size);
    this.drawProblems(wrong);
    const fits = ([, sizes]) => Object.entries(sizes).every(([letter, n]) => size[letter] === BigInt(n));
    this.preset.value = Object.entries(this.model.get("presets")).find(fits)?.[0] ?? "";
    if (Object.keys(wrong).length) {
      this.summary.textContent = `No count: ${Object.values(wrong).join("; ")}.`;
      return;
    }
    const values = letters(size, this.flags);
    const parameters = count(this.model.get("parameters"), values);
    const cost = count(this.model.get("multiply_adds"), values);
    this.summary.replaceChildren(
      fact("parameters", parameters.total, "parameters"), fact("cost", cost.total, "multiply-adds a picture"),
      fact("tokens", values.N + 1n, "tokens"), fact("D_h", size.D / size.heads, "numbers a head"));
    this.results.replaceChildren(results("Parameters", parameters, true), results("Multiply-adds", cost, false));
  }

  drawProblems(wrong) {
    for (const [letter, , unit] of SIZES) {
      this.notes[letter].textContent = wrong[letter] ?? unit;
      this.inputs[letter].setAttribute("aria-invalid", letter in wrong);
    }
    this.root.classList.toggle("invalid", Object.keys(wrong).length > 0);
  }
}

export default {
  render({ model, el }) {
    const calculator = new Calculator(model, el);
    return () => calculator.stop.abort();
  },
};
