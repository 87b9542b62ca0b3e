// From a choice to the numbers that it shows: which are here, which must be asked for, and on what scale they are coloured.
import { colourTables } from "../kit/colours.js";
import { bytesOf, isDark } from "../kit/dom.js";
import { difference, mapOf, Rows, scaleOf, square } from "./stack.js";

export class Maps {
  constructor(choices, source) {
    Object.assign(this, { choices, source });
  }

  key(choice) {
    const { key } = this.choices.cards[choice.picture];
    const name = `${this.choices.get("fingerprint")}/${key}/${square(choice).layer}`;
    return choice.edit ? `${name}/${JSON.stringify(choice.edit)}` : name;
  }

  /** The whole stack of a choice if it is here, else null. */
  ready(choice) {
    return this.source.ready(this.key(choice));
  }

  load(choice) {
    const { L, heads, N } = this.choices.sizes;
    return this.source.load(this.key(choice), square(choice).layer === 0 ? L : heads + 1, N);
  }

  /** The stack, or the page's own rows where they hold what is asked, or null. */
  have(choice) {
    const stack = this.ready(choice);
    if (stack) return stack;
    const first = this.choices.get("first");
    if (first.key !== this.key(choice) || this.source.computes(first.key)) return null;
    const { heads, N } = this.choices.sizes;
    this.rows ??= new Rows(bytesOf(this.choices.get("first_rows")), heads + 1, N, first.query);
    return this.rows.holds(choice.query, choice.reverse, choice.scale === 1) ? this.rows : null;
  }

  missing() {
    return this.choices.all.filter((choice) => !this.have(choice));
  }

  /** The theme's colours, cut out of the model's bytes once a theme. */
  get tables() {
    const dark = isDark();
    if (this.dark !== dark) this.cut = colourTables(new Uint8Array(bytesOf(this.choices.get("tables"))), dark);
    this.dark = dark;
    return this.cut;
  }

  /**
   * Everything that is drawn, of numbers that are here. map: what is shown, a difference where one is pinned; own and
   * against: the two maps themselves; top: the scale of these; scale: of what is shown.
   */
  shown() {
    const [choice, pinned] = this.choices.all;
    const stack = this.have(choice);
    const own = mapOf(stack, choice);
    const against = pinned ? mapOf(this.have(pinned), pinned) : null;
    const map = against ? difference(own, against) : own;
    const { top: ownTop, peer } = scaleOf(stack, choice, own);
    const top = Math.max(ownTop, against ? scaleOf(this.have(pinned), pinned, against).top : 0);
    const scale = { top: against ? map.top : top, signed: Boolean(against), peer };
    const { sizes, cards } = this.choices;
    return { choice, pinned, stack, own, against, map, top, scale, sizes, cards, tables: this.tables, smooth: this.choices.get("smooth") };
  }
}
