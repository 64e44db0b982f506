/** The text of metadata filters: made from rows, and the place in it that an error of larder names. */

export interface FilterOperator {
  readonly words: string;
  readonly operand: "literal" | "string" | "list" | "none";
  /** Before the field. */
  readonly isPrefix?: true;
}

/** As in docs/reference/filter-operators.md. */
export const filterOperators: readonly FilterOperator[] = [
  { words: "=", operand: "literal" },
  { words: "!=", operand: "literal" },
  { words: "<", operand: "literal" },
  { words: "<=", operand: "literal" },
  { words: ">", operand: "literal" },
  { words: ">=", operand: "literal" },
  { words: "GLOB", operand: "string" },
  { words: "NOT GLOB", operand: "string" },
  { words: "IN", operand: "list" },
  { words: "NOT IN", operand: "list" },
  { words: "CONTAINS", operand: "literal" },
  { words: "NOT CONTAINS", operand: "literal" },
  { words: "HAS FIELD", operand: "none", isPrefix: true },
  { words: "HAS NOT FIELD", operand: "none", isPrefix: true },
];

export interface Condition {
  readonly field: string;
  /** Of an operator. */
  readonly words: string;
  /** As typed. */
  readonly value: string;
}

export interface FilterParts {
  /** Typed as a filter. */
  readonly typed: string;
  readonly conditions: readonly Condition[];
  readonly joint: "AND" | "OR";
}

/** The filter that has what was typed and the conditions with a field. */
export function filterText({ typed, conditions, joint }: FilterParts): string {
  const texts = conditions.filter(({ field }) => field.trim() !== "").map(conditionText);
  if (texts.length === 0) return typed;
  const all = texts.join(` ${joint} `);
  if (typed.trim() === "") return all;
  return `(${typed.trim()}) AND ${texts.length > 1 && joint === "OR" ? `(${all})` : all}`;
}

function conditionText({ field, words, value }: Condition): string {
  const operator = filterOperators.find((one) => one.words === words);
  const path = fieldPath(field.trim());
  if (operator?.isPrefix === true) return `${words} ${path}`;
  return `${path} ${words} ${operandText(operator?.operand ?? "literal", value.trim())}`;
}

function operandText(kind: FilterOperator["operand"], value: string): string {
  if (kind === "string") return stringText(value);
  if (kind === "list") return `(${listItems(value).map(literalText).join(", ")})`;
  return literalText(value);
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i;
const TRUTH = /^(?:true|false)$/i;
/** A string as the grammar has it: one that ends with its first closing quote. */
const QUOTED = /^(?:'(?:\\['"\\]|[^'])*'|"(?:\\['"\\]|[^"])*")$/s;

/** What looks like a number or like true and false is one; everything else is a text, and so is what has quotes. */
function literalText(value: string): string {
  return NUMBER.test(value) || TRUTH.test(value) ? value : stringText(value);
}

function stringText(value: string): string {
  return QUOTED.test(value) ? value : `'${value.replace(/[\\']/g, "\\$&")}'`;
}

/** The items between commas that are not in quotes. */
function listItems(value: string): readonly string[] {
  return (value.match(/(?:'(?:\\['"\\]|[^'])*'|"(?:\\['"\\]|[^"])*"|[^,])+/gs) ?? [""]).map((item) => item.trim());
}

const FIRST_NAME = /^[A-Za-z_][\w#-]*$/;
const NAME = /^[\w#-]*$/;

/** Names with other signs get backticks, unless some are typed. */
function fieldPath(typed: string): string {
  if (typed.includes("`")) return typed;
  return typed
    .split(".")
    .map((part, index) => {
      const [, name = "", indexes = ""] = /^(.*?)((?:\[[^\]]*\])*)$/s.exec(part) ?? [];
      const isPlain = (index === 0 ? FIRST_NAME : NAME).test(name);
      return (isPlain ? name : quotedName(name)) + indexes;
    })
    .join(".");
}

function quotedName(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

/** More are not offered. */
const PATHS_MAX = 200;

/** The paths of all fields in metadata that are no objects, each once, in the order of their appearance. */
export function fieldPaths(metadata: readonly unknown[]): readonly string[] {
  const paths = new Set<string>();
  const visit = (value: unknown, before: string): void => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      if (before !== "" && paths.size < PATHS_MAX) paths.add(before.slice(1));
      return;
    }
    for (const [name, inner] of Object.entries(value))
      visit(inner, `${before}.${NAME.test(name) ? name : quotedName(name)}`);
  };
  for (const value of metadata) if (value !== undefined) visit(value, "");
  return [...paths];
}

export interface ErrorPlace {
  /** What is wrong there. */
  readonly problem: string;
  /** Code units before it. */
  readonly start: number;
  /** After it; the start at the end of the filter. */
  readonly end: number;
}

const ERROR = /^Invalid filter at character (\d+): (.*)$/s;
/** What is marked: a word, an operator, a string or one sign. */
const MARKED = /^(?:[\w`][\w.[\]#*`-]*|[=!<>]+|'[^']*'?|"[^"]*"?|.)/su;

/** Whether an error is about the filter. */
export function isFilterError(error: string): boolean {
  return error.startsWith("Invalid filter");
}

/** The place in the filter that an error names, which counts characters from 1; undefined if it names none. */
export function errorPlace(error: string, filter: string): ErrorPlace | undefined {
  const [, character, problem = ""] = ERROR.exec(error) ?? [];
  if (character === undefined) return undefined;
  const start = Array.from(filter)
    .slice(0, Number(character) - 1)
    .join("").length;
  const [marked = ""] = MARKED.exec(filter.slice(start)) ?? [];
  return { problem, start, end: start + marked.length };
}
