/**
 * Parses the text of a filter into its expression (B2.filter.grammar).
 *
 *     or         and ( OR and )*
 *     and        primary ( AND primary )*             AND binds tighter
 *     primary    "(" or ")" | prefix field | field infix operand
 *     operand    literal | string | "(" literal ( "," literal )* ")" | nothing, depending on the operator's row
 *     literal    string | number | TRUE | FALSE
 *
 * Keywords are accepted in any case and recognised only where the grammar allows
 * them, so a field may be called `in` or `has`. NOT is not an operator by itself.
 *
 * (1) Neither this recursion nor any over the expression goes deeper than
 *     `DEPTH_MAX` allows.
 * (2) Parsing takes time linear in the text, which has at most `LENGTH_MAX`
 *     characters.
 * (3) Matching a record takes at most `GLOB_LENGTH_SUM_MAX` steps for each
 *     character of its texts and one for each element of its arrays and each
 *     condition.
 */
import { type FilterFailure, failureAt, orList, tooLarge } from "./failure.ts";
import { type FieldPath, parseFieldPath } from "./field-path.ts";
import type { Scalar } from "./json.ts";
import { type Operator, operators } from "./operators.ts";
import { shown, type Token, tokensOf } from "./tokens.ts";

export interface Condition {
  readonly kind: "condition";
  readonly path: FieldPath;
  readonly operator: Operator;
  /** As many as the operator's kind of operand requires. */
  readonly operands: readonly Scalar[];
}

export type Expression =
  | Condition
  | {
      readonly kind: "and" | "or";
      /** At least two. */
      readonly parts: readonly Expression[];
    };

/** Characters of a filter (threats B-04). */
export const LENGTH_MAX = 4_096;
/** Parentheses around a condition (threats B-04). */
export const DEPTH_MAX = 32;
/** Characters of all GLOB patterns of a filter. At worst 0.1 s for a record with a text of 48 KB. */
export const GLOB_LENGTH_SUM_MAX = 256;

const WORDS_MAX = Math.max(...operators.map(({ words }) => words.split(" ").length));

/** The expression, or undefined if the text is only white space. Throws a `FilterFailure`. */
export function parseFilter(text: string): Expression | undefined {
  // keeps (2)
  if (text.length > LENGTH_MAX) throw tooLarge(`it has ${text.length} characters. Limit: ${LENGTH_MAX}`);
  const parser = new Parser(text);
  return parser.isAtEnd() ? undefined : parser.parseWhole();
}

/** Reads the tokens of one filter from left to right. */
class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #globLengthSum = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  isAtEnd(): boolean {
    return this.#peek().kind === "end";
  }

  parseWhole(): Expression {
    const expression = this.#parseOr();
    if (!this.isAtEnd()) throw this.#unexpected("AND, OR or the end");
    return expression;
  }

  #parseOr(): Expression {
    const parts = [this.#parseAnd()];
    while (this.#takeKeyword("OR")) parts.push(this.#parseAnd());
    return joined("or", parts);
  }

  #parseAnd(): Expression {
    const parts = [this.#parsePrimary()];
    while (this.#takeKeyword("AND")) parts.push(this.#parsePrimary());
    return joined("and", parts);
  }

  #parsePrimary(): Expression {
    if (this.#isSymbol("(")) return this.#parseGroup();
    const prefix = this.#takeOperator("before the field");
    if (prefix !== undefined) return { ...this.#parseField(), operator: prefix, operands: [] };
    const name = this.#peek();
    const field = this.#parseField();
    const operator = this.#takeOperator("after the field");
    if (operator === undefined) throw this.#noOperator(name);
    return { ...field, operator, operands: this.#parseOperands(operator) };
  }

  #parseGroup(): Expression {
    // keeps (1)
    if (this.#depth === DEPTH_MAX)
      throw failureAt(this.#text, this.#peek().start, `parentheses are nested more than ${DEPTH_MAX} deep`);
    this.#depth += 1;
    this.#at += 1;
    const expression = this.#parseOr();
    if (!this.#isSymbol(")")) throw this.#unexpected("AND, OR or )");
    this.#at += 1;
    this.#depth -= 1;
    return expression;
  }

  #parseField(): { readonly kind: "condition"; readonly path: FieldPath } {
    const token = this.#peek();
    if (token.kind !== "word") throw this.#unexpected("a field name");
    const path = parseFieldPath(this.#text, token.start, token.start + token.text.length);
    this.#at += 1;
    return { kind: "condition", path };
  }

  #parseOperands({ operand, words }: Operator): readonly Scalar[] {
    switch (operand) {
      case "none":
        return [];
      case "literal":
        return [this.#parseLiteral(words)];
      case "string":
        return [this.#parsePattern(words)];
      case "list":
        return this.#parseList(words);
      default: {
        const never: never = operand;
        return never;
      }
    }
  }

  #parseList(words: string): readonly Scalar[] {
    if (!this.#isSymbol("(")) throw this.#unexpected(`( after ${words}`);
    const values: Scalar[] = [];
    do {
      this.#at += 1;
      values.push(this.#parseLiteral(values.length === 0 ? "(" : ","));
    } while (this.#isSymbol(","));
    if (!this.#isSymbol(")")) throw this.#unexpected(", or )");
    this.#at += 1;
    return values;
  }

  #parsePattern(words: string): string {
    const token = this.#peek();
    if (token.kind !== "string") throw this.#unexpected(`a string in quotes after ${words}`);
    this.#globLengthSum += token.value.length;
    // keeps (3)
    if (this.#globLengthSum > GLOB_LENGTH_SUM_MAX)
      throw tooLarge(`its patterns have more than ${GLOB_LENGTH_SUM_MAX} characters together`);
    this.#at += 1;
    return token.value;
  }

  #parseLiteral(precedingText: string): Scalar {
    const token = this.#peek();
    const value = literalOf(token);
    if (value === undefined)
      throw this.#unexpected(`a string in quotes, a number, true or false after ${precedingText}`);
    this.#at += 1;
    return value;
  }

  /** Takes the operator with the most words that is next and fits this place, if any. */
  #takeOperator(place: Operator["place"]): Operator | undefined {
    for (let count = WORDS_MAX; count > 0; count -= 1) {
      const words = this.#wordsHere(count);
      const operator = operators.find((row) => row.words === words && row.place === place);
      if (operator === undefined) continue;
      this.#at += count;
      return operator;
    }
    return undefined;
  }

  #wordsHere(count: number): string {
    return this.#tokens
      .slice(this.#at, this.#at + count)
      .map(({ kind, text }) => (kind === "word" || kind === "symbol" ? text.toUpperCase() : ""))
      .join(" ");
  }

  /** The error if no operator follows a field: one of the two may be half an operator, or neither. */
  #noOperator(field: Token): FilterFailure {
    const name = field.text.toUpperCase();
    const here = this.#peek().text.toUpperCase();
    for (const [begun, place] of [
      [`${name} ${here}`, "before the field"],
      [here, "after the field"],
    ] as const) {
      const next = wordsAfter(begun, place);
      if (next.length === 0) continue;
      this.#at += 1;
      return this.#unexpected(`${orList(next)} after ${begun}`);
    }
    const prefixes = wordsAfter(name, "before the field");
    if (prefixes.length > 0) return this.#unexpected(`${orList(prefixes)} after ${name}`);
    const infixes = wordsAfter(name, "after the field");
    if (infixes.length > 0)
      return failureAt(this.#text, field.start, `${name} must follow a field, before ${orList(infixes)}`);
    const all = operators.filter(({ place }) => place === "after the field").map(({ words }) => words);
    return this.#unexpected(`one of ${all.join(" ")} after ${shown(field)}`);
  }

  #unexpected(expected: string): FilterFailure {
    const token = this.#peek();
    const problem = token.kind === "broken" ? token.problem : `expected ${expected}, found ${shown(token)}`;
    return failureAt(this.#text, token.start, problem);
  }

  #takeKeyword(keyword: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "word" || text.toUpperCase() !== keyword) return false;
    this.#at += 1;
    return true;
  }

  #isSymbol(symbol: string): boolean {
    const { kind, text } = this.#peek();
    return kind === "symbol" && text === symbol;
  }

  #peek(): Token {
    // The last token is an `end` or `broken`, which is never taken.
    return this.#tokens[this.#at] as Token;
  }
}

function joined(kind: "and" | "or", parts: readonly Expression[]): Expression {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind, parts };
}

function literalOf(token: Token): Scalar | undefined {
  if (token.kind === "string" || token.kind === "number") return token.value;
  if (token.kind !== "word") return undefined;
  const word = token.text.toUpperCase();
  return word === "TRUE" ? true : word === "FALSE" ? false : undefined;
}

/** The words that may follow the beginning of an operator: GLOB, IN and CONTAINS for NOT. Empty for other words. */
function wordsAfter(begun: string, place: Operator["place"]): readonly string[] {
  return operators
    .filter((row) => row.place === place && row.words.startsWith(`${begun} `))
    .map(({ words }) => words.slice(begun.length + 1));
}
