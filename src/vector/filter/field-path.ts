/**
 * Fields by name: `city`, `geography.continent`, `tags[0]`, `a.b[#-1].c`,
 * `items[*].price`.
 *
 *     path   name ( "." name | "[" index "]" )*
 *     name   letters, digits and _ # -
 *            or any characters in backticks; \` \\ mean ` \, any other backslash is an error
 *     index  digits, from 0; or #- and digits: counted from the end, [#-1] is the last element;
 *            or *: any element
 *
 * A dot always goes one object deeper, except in backticks. A name does not
 * select from an array, nor an index from an object; both are missing fields.
 */
import { assert } from "../../kernel/assert.ts";
import { failureAt } from "./failure.ts";
import { elementAt, type Json, ownMember } from "./json.ts";
import { endOfQuotedName, isDigit } from "./tokens.ts";

/** The step of `[*]`. */
export const ANY_ELEMENT = Symbol("any element");

/** A string is a member's name, a number an element's index, negative from the end. */
export type Step = string | number | typeof ANY_ELEMENT;

export interface FieldPath {
  /** Normalized, so that equal paths have one text: `a[007]` is `a[7]`, and a name has backticks only if it needs them. */
  readonly text: string;
  /** At least one. */
  readonly steps: readonly Step[];
  /** Whether a step is `ANY_ELEMENT`, so that the path leads to any number of fields of a record. */
  readonly isMany: boolean;
}

export type FieldReader = (metadata: Json) => Json | undefined;

/** Enough for any array, and still an exact number. */
const INDEX_DIGITS_MAX = 9;

const DOT = ".";
const OPEN = "[";
const CLOSE = "]";
const ANY = "*";
const BACKTICK = "`";
const BACKSLASH = "\\";

/** A name without backticks. The first name of a path does not begin with a digit or a sign. */
const PLAIN_NAME = /^[\w#-]+$/;
const PLAIN_FIRST_NAME = /^[A-Za-z_]/;

/** Parses the path in the word at `start` of the filter. Throws a `FilterFailure`. */
export function parseFieldPath(filter: string, start: number, end: number): FieldPath {
  const steps: Step[] = [];
  let text = "";
  let isMany = false;
  let at = start;
  while (at < end) {
    if (filter.charAt(at) === OPEN) {
      const close = filter.indexOf(CLOSE, at);
      if (close < 0 || close >= end) throw failureAt(filter, at, "the [ has no closing ]");
      const index = parseIndex(filter, at + 1, close);
      steps.push(index);
      isMany ||= index === ANY_ELEMENT;
      text += spelledIndex(index);
      at = close + 1;
      const next = filter.charAt(at);
      if (at < end && next !== DOT && next !== OPEN) throw failureAt(filter, at, "expected . or [ after ]");
      continue;
    }
    if (filter.charAt(at) === DOT) at += 1;
    const isFirst = steps.length === 0;
    let nameEnd: number;
    if (at < end && filter.charAt(at) === BACKTICK) {
      nameEnd = endOfQuotedName(filter, at);
      const name = parseQuotedName(filter, at + 1, nameEnd - 1);
      steps.push(name);
      text += isFirst ? spelledFirstName(name) : `.${spelledName(name)}`;
    } else {
      nameEnd = endOfPlainName(filter, at, end);
      const name = filter.slice(at, nameEnd);
      steps.push(name);
      text += isFirst ? name : `.${name}`;
    }
    at = nameEnd;
  }
  return { text, steps, isMany };
}

/**
 * Returns a function that finds the field of a path without `[*]`, or undefined if it is missing. The function
 * allocates nothing.
 */
export function fieldReader({ steps, isMany }: FieldPath): FieldReader {
  assert(!isMany, "the path leads to one field at most");
  const [first] = steps;
  if (typeof first === "string" && steps.length === 1) return (metadata) => ownMember(metadata, first);
  return (metadata) => {
    let value: Json | undefined = metadata;
    for (let i = 0; i < steps.length && value !== undefined; i += 1) {
      const step = steps[i] as string | number;
      value = typeof step === "string" ? ownMember(value, step) : elementAt(value, step);
    }
    return value;
  };
}

function endOfPlainName(filter: string, start: number, end: number): number {
  let at = start;
  while (at < end && !isDivider(filter.charAt(at))) at += 1;
  if (at === start) throw failureAt(filter, at, "expected a field name after the dot");
  if (at < end && filter.charAt(at) === CLOSE) throw failureAt(filter, at, "the ] has no opening [");
  return at;
}

function parseQuotedName(filter: string, start: number, end: number): string {
  let name = "";
  for (let at = start; at < end; at += 1) {
    if (filter.charAt(at) === BACKSLASH) {
      at += 1;
      if (filter.charAt(at) !== BACKTICK && filter.charAt(at) !== BACKSLASH)
        throw failureAt(filter, at - 1, "in a name, write \\\\ for a backslash and \\` for a backtick");
    }
    name += filter.charAt(at);
  }
  return name;
}

function spelledFirstName(name: string): string {
  return PLAIN_FIRST_NAME.test(name) ? spelledName(name) : quoted(name);
}

function spelledName(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoted(name);
}

function quoted(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

function spelledIndex(index: number | typeof ANY_ELEMENT): string {
  if (index === ANY_ELEMENT) return "[*]";
  return index < 0 ? `[#${index}]` : `[${index}]`;
}

function parseIndex(filter: string, start: number, end: number): number | typeof ANY_ELEMENT {
  if (end - start === 1 && filter.charAt(start) === ANY) return ANY_ELEMENT;
  const fromEnd = filter.startsWith("#-", start);
  const digitsStart = fromEnd ? start + 2 : start;
  let at = digitsStart;
  while (at < end && isDigit(filter.charCodeAt(at))) at += 1;
  const index = Number(filter.slice(digitsStart, end));
  if (at < end || at === digitsStart || (fromEnd && index === 0))
    throw failureAt(
      filter,
      start,
      "an array index is a number as in [0], or counted from the end as in [#-1], or any as in [*]",
    );
  if (end - digitsStart > INDEX_DIGITS_MAX)
    throw failureAt(filter, start, `an array index has at most ${INDEX_DIGITS_MAX} digits`);
  return fromEnd ? -index : index;
}

function isDivider(sign: string): boolean {
  return sign === DOT || sign === OPEN || sign === CLOSE;
}
