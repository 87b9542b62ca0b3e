// Formulas as the book's Python writes them (vitbook/studies/formulas.py), read by a parser of their few signs: no eval.

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

/** The signs of a text, one by one. */
class Signs {
  constructor(text) {
    Object.assign(this, { text, signs: [], at: 0 });
    for (SIGNS.lastIndex = 0; SIGNS.lastIndex < text.trimEnd().length; ) {
      const found = SIGNS.exec(text) ?? this.refuse("the formula");
      this.signs.push(found[1] ?? found[2] ?? found[3]);
    }
  }

  get next() {
    return this.signs[this.at];
  }

  take(sign) {
    return this.next === sign && Boolean(++this.at);
  }

  must(sign) {
    if (!this.take(sign)) this.refuse(`${this.next ?? "the end"} where ${sign} should be in`);
  }

  refuse(what) {
    throw new Error(`cannot read ${what} ${this.text}`);
  }
}

/** A text -> a function without arguments. letter: name -> such a function, or undefined; number: makes a literal's value. */
class Parser {
  constructor(text, letter, number) {
    Object.assign(this, { signs: new Signs(text), letter, number });
    this.whole = this.comparison();
    if (this.signs.next !== undefined) this.signs.refuse(`${this.signs.next} in`);
  }

  comparison() {
    const left = this.level(0);
    const compare = COMPARE[this.signs.next];
    if (!compare) return left;
    this.signs.at++;
    const right = this.level(0);
    return () => compare(left(), right());
  }

  level(depth) {
    if (depth === LEVELS.length) return this.signed();
    let left = this.level(depth + 1);
    while (LEVELS[depth].includes(this.signs.next)) {
      const [apply, before] = [ARITHMETIC[this.signs.signs[this.signs.at++]], left];
      const after = this.level(depth + 1);
      left = () => apply(before(), after());
    }
    return left;
  }

  signed() {
    if (this.signs.take("-")) {
      const inner = this.signed();
      return () => -inner();
    }
    const base = this.atom();
    if (!this.signs.take("**")) return base;
    const exponent = this.signed();
    return () => base() ** exponent();
  }

  atom() {
    const { signs } = this;
    if (signs.take("(")) {
      const inner = this.comparison();
      signs.must(")");
      return inner;
    }
    const sign = signs.next ?? signs.refuse("the end of");
    signs.at++;
    if (/^\d/.test(sign)) {
      const value = this.number(sign);
      return () => value;
    }
    if (Object.hasOwn(FUNCTIONS, sign)) return this.call(FUNCTIONS[sign]);
    return this.letter(sign) ?? signs.refuse(`${sign}: there is no letter ${sign} in`);
  }

  call(apply) {
    this.signs.must("(");
    const args = [this.comparison()];
    while (this.signs.take(",")) args.push(this.comparison());
    this.signs.must(")");
    return args.length === 1 ? () => apply(args[0]()) : () => apply(...args.map((arg) => arg()));
  }
}

/** A formula in the given letters -> a function of their numbers, in the same order. Throws on any other sign. */
export function compile(text, letters, number = Number) {
  let values = [];
  const letter = (name) => {
    const slot = letters.indexOf(name);
    return slot < 0 ? undefined : () => values[slot];
  };
  const { whole } = new Parser(text, letter, number);
  return (...numbers) => {
    values = numbers;
    return whole();
  };
}

/** A formula's value for these letters: numbers, or BigInts for whole numbers of any length (then + - * ** and brackets only). */
export function evaluate(text, letters) {
  const values = Object.values(letters);
  return compile(text, Object.keys(letters), typeof values[0] === "bigint" ? BigInt : Number)(...values);
}
