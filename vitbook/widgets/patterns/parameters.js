// The parameters of a pattern, each a number to choose.
import { field, input } from "../kit/controls.js";
import { make } from "../kit/dom.js";
import { evaluate } from "../kit/formulas.js";

export const idOf = (id, words) => `${id}-${words.replace(/\W+/g, "-")}`;

/** choose({letter: number}) is called when a reader changes one. */
export class Parameters {
  constructor(id, choose) {
    Object.assign(this, { id, choose, element: make("div", { class: "vb-pw-parameters" }), inputs: [] });
  }

  /** One field a parameter, with what is chosen or else the pattern's own; letters: H, W and N. */
  draw(pattern, letters, chosen) {
    const key = JSON.stringify([pattern.name, letters]);
    if (this.element.dataset.of !== key) this.build(pattern.parameters);
    this.element.dataset.of = key;
    pattern.parameters.forEach(({ letter, default: own }, n) => {
      const [line, value] = [this.inputs[n], chosen[letter] ?? evaluate(own, letters)];
      if (line.valueAsNumber !== value && document.activeElement !== line) line.value = value;
    });
  }

  build(parameters) {
    this.inputs = parameters.map(({ letter, least }) => {
      const line = input({ type: "number", min: least, step: letter === "k" ? 2 : 1 });
      line.addEventListener("input", () => this.choose({ [letter]: line.valueAsNumber }));
      return line;
    });
    const words = parameters.map(({ letter, meaning }) => `${letter}: ${meaning}`);
    this.element.replaceChildren(...words.map((each, n) => field(idOf(this.id, each), each, this.inputs[n])));
  }
}
