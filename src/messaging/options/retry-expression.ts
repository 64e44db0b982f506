/**
 * The expressions of `Retry-Delay` (C.retry-expression): numbers, `retried`,
 * + - * / %, a minus sign in front, parentheses, and nine functions.
 *
 *     sum       = product { ("+" | "-") product }
 *     product   = operand { ("*" | "/" | "%") operand }
 *     operand   = "-" operand | number | "retried" | "(" sum ")" | function "(" sum { "," sum } ")"
 *     number    = digits with at most one point, then perhaps an exponent: 1500, .5, 1e3
 *
 * A user's text becomes closures, never code: libraries for such expressions have run code of users (threats C-18).
 *
 * (1) At most 256 characters, and parentheses, calls and minus signs at most 32 deep: neither parsing nor evaluation
 *     can exhaust the stack or take long.
 * (2) Evaluation never throws. Undefined values (0/0, x/0, sqrt(-1)) are NaN; values that are too large are infinite.
 */

/** Its value after `retried` retries. */
export type Expression = (retried: number) => number;

/** The message has the fault of the expression and its place. */
export class InvalidRetryDelay extends Error {
  override name = "InvalidRetryDelay";
}

/** In characters. */
export const EXPRESSION_LENGTH_MAX = 256;
const DEPTH_MAX = 32;

/** Throws `InvalidRetryDelay`. */
export function parseExpression(text: string): Expression {
  if (text.length > EXPRESSION_LENGTH_MAX)
    throw new InvalidRetryDelay(`Longer than ${EXPRESSION_LENGTH_MAX} characters`);
  return new Parser(text).parseAll();
}

interface Operator {
  readonly power: number;
  readonly apply: (left: number, right: number) => number;
}

/** Operators by precedence. */
const operators: ReadonlyMap<string, Operator> = new Map([
  ["+", { power: 1, apply: (left, right) => left + right }],
  ["-", { power: 1, apply: (left, right) => left - right }],
  ["*", { power: 2, apply: (left, right) => left * right }],
  // keeps (2): a division by zero is an error, not an endless delay.
  ["/", { power: 2, apply: (left, right) => (right === 0 ? Number.NaN : left / right) }],
  ["%", { power: 2, apply: (left, right) => left % right }],
]);

interface Unary {
  readonly arity: 1;
  readonly apply: (x: number) => number;
}

interface Binary {
  readonly arity: 2;
  readonly apply: (x: number, y: number) => number;
}

/** In the order of C.retry-expression. */
const functions: ReadonlyMap<string, Unary | Binary> = new Map<string, Unary | Binary>([
  ["pow", { arity: 2, apply: Math.pow }],
  ["exp", { arity: 1, apply: Math.exp }],
  ["sqrt", { arity: 1, apply: Math.sqrt }],
  ["abs", { arity: 1, apply: Math.abs }],
  ["floor", { arity: 1, apply: Math.floor }],
  ["ceil", { arity: 1, apply: Math.ceil }],
  ["round", { arity: 1, apply: Math.round }],
  ["min", { arity: 2, apply: Math.min }],
  ["max", { arity: 2, apply: Math.max }],
]);

/** A Pratt parser: an operand, then operators of sufficient precedence. */
class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parseAll(): Expression {
    const expression = this.#parse(1);
    if (this.#next() !== "") throw this.#unexpected();
    return expression;
  }

  /** Operators of at least `powerMin` belong to this expression, weaker ones to the caller's. */
  #parse(powerMin: number): Expression {
    let left = this.#parseOperand();
    for (;;) {
      const operator = operators.get(this.#next());
      if (operator === undefined || operator.power < powerMin) return left;
      this.#at += 1;
      left = binary(operator.apply, left, this.#parse(operator.power + 1));
    }
  }

  #parseOperand(): Expression {
    const character = this.#next();
    if (character === "-") return this.#deeper(() => this.#parseNegative());
    if (character === "(") return this.#deeper(() => this.#parseGroup());
    if (isDigit(character) || character === ".") return this.#parseNumber();
    if (isLetter(character)) return this.#parseName();
    throw this.#unexpected();
  }

  #parseNegative(): Expression {
    this.#expect("-");
    const operand = this.#parseOperand();
    return (retried) => -operand(retried);
  }

  #parseGroup(): Expression {
    this.#expect("(");
    const expression = this.#parse(1);
    this.#expect(")");
    return expression;
  }

  #parseNumber(): Expression {
    const [spelled = ""] = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/.exec(this.#text.slice(this.#at)) ?? [];
    const value = Number(spelled);
    if (spelled === "") throw this.#unexpected();
    if (!Number.isFinite(value)) throw new InvalidRetryDelay(`The number ${spelled} is too large`);
    this.#at += spelled.length;
    return () => value;
  }

  #parseName(): Expression {
    const [name = ""] = /^\w+/.exec(this.#text.slice(this.#at)) ?? [];
    if (name === "retried") {
      this.#at += name.length;
      return (retried) => retried;
    }
    const called = functions.get(name);
    if (called === undefined)
      throw new InvalidRetryDelay(
        `Unknown name ${JSON.stringify(name)}; known names are retried and ${[...functions.keys()].join(", ")}`,
      );
    this.#at += name.length;
    return this.#deeper(() => this.#parseCall(name, called));
  }

  #parseCall(name: string, called: Unary | Binary): Expression {
    const given: Expression[] = [];
    this.#expect("(");
    if (this.#next() !== ")") {
      given.push(this.#parse(1));
      while (this.#next() === ",") {
        this.#at += 1;
        given.push(this.#parse(1));
      }
    }
    this.#expect(")");
    const [x, y] = given;
    if (called.arity === 2 && x !== undefined && y !== undefined && given.length === 2)
      return binary(called.apply, x, y);
    if (called.arity === 1 && x !== undefined && given.length === 1) return (retried) => called.apply(x(retried));
    throw new InvalidRetryDelay(
      `${name} takes ${called.arity} argument${called.arity === 1 ? "" : "s"}, not ${given.length}`,
    );
  }

  /** keeps (1) */
  #deeper(parse: () => Expression): Expression {
    if (this.#depth === DEPTH_MAX) throw new InvalidRetryDelay(`Nested deeper than ${DEPTH_MAX} levels`);
    this.#depth += 1;
    const expression = parse();
    this.#depth -= 1;
    return expression;
  }

  /** The next character that is not a blank, or "" at the end. */
  #next(): string {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
    return this.#text[this.#at] ?? "";
  }

  #expect(character: string): void {
    if (this.#next() !== character) throw this.#unexpected(character);
    this.#at += 1;
  }

  #unexpected(wanted?: string): InvalidRetryDelay {
    const character = this.#next();
    const remedy = character === "^" || this.#text.startsWith("**", this.#at - 1) ? "; a power is pow(x, y)" : "";
    const found =
      character === "" ? "end of the expression" : `${JSON.stringify(character)} at character ${this.#at + 1}`;
    const expected = wanted === undefined ? "" : `, expected ${JSON.stringify(wanted)}`;
    return new InvalidRetryDelay(`Unexpected ${found}${expected}${remedy}`);
  }
}

function binary(apply: (x: number, y: number) => number, left: Expression, right: Expression): Expression {
  return (retried) => apply(left(retried), right(retried));
}

function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

function isLetter(character: string): boolean {
  return (character >= "a" && character <= "z") || (character >= "A" && character <= "Z") || character === "_";
}
