/**
 * Fields by name: `city`, `geography.continent`, `tags[0]`, `a.b[#-1].c`.
 *
 *     path   name ( "." name | "[" index "]" )*
 *     name   letters, digits and _ # -
 *     index  digits, from 0; or #- and digits: counted from the end, [#-1] is the last element
 *
 * A dot always goes one object deeper: members whose own name has a dot, or a
 * character not allowed in names, cannot be used in filters. A name does not
 * select from an array, nor an index from an object; both are missing fields.
 */
import { failureAt } from "./failure.ts";
import { elementAt, type Json, ownMember } from "./json.ts";
import { isDigit } from "./tokens.ts";

export interface FieldPath {
  /** Normalized, so that equal paths have one text: `a[007]` is `a[7]`. */
  readonly text: string;
  /** At least one step: a string is a member's name, a number an element's index, negative from the end. */
  readonly steps: readonly (string | number)[];
}

export type FieldReader = (metadata: Json) => Json | undefined;

/** Enough for any array, and still an exact number. */
const INDEX_DIGITS_MAX = 9;

const DOT = ".";
const OPEN = "[";
const CLOSE = "]";

/** Parses the path in the word at `start` of the filter. Throws a `FilterFailure`. */
export function parseFieldPath(filter: string, start: number, end: number): FieldPath {
  const steps: (string | number)[] = [];
  let text = "";
  let at = start;
  while (at < end) {
    const sign = filter.charAt(at);
    if (sign === OPEN) {
      const close = filter.indexOf(CLOSE, at);
      if (close < 0 || close >= end) throw failureAt(filter, at, "the [ has no closing ]");
      const index = parseIndex(filter, at + 1, close);
      steps.push(index);
      text += index < 0 ? `[#${index}]` : `[${index}]`;
      at = close + 1;
      const next = filter.charAt(at);
      if (at < end && next !== DOT && next !== OPEN) throw failureAt(filter, at, "expected . or [ after ]");
      continue;
    }
    if (sign === DOT) at += 1;
    const nameStart = at;
    while (at < end && !isDivider(filter.charAt(at))) at += 1;
    if (at === nameStart) throw failureAt(filter, at, "expected a field name after the dot");
    if (filter.charAt(at) === CLOSE && at < end) throw failureAt(filter, at, "the ] has no opening [");
    const name = filter.slice(nameStart, at);
    steps.push(name);
    text += text === "" ? name : `.${name}`;
  }
  return { text, steps };
}

/** Returns a function that finds the field, or undefined if it is missing. The function allocates nothing. */
export function fieldReader({ steps }: FieldPath): FieldReader {
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

function parseIndex(filter: string, start: number, end: number): number {
  const fromEnd = filter.startsWith("#-", start);
  const digitsStart = fromEnd ? start + 2 : start;
  let at = digitsStart;
  while (at < end && isDigit(filter.charCodeAt(at))) at += 1;
  const index = Number(filter.slice(digitsStart, end));
  if (at < end || at === digitsStart || (fromEnd && index === 0))
    throw failureAt(filter, start, "an array index is a number as in [0], or counted from the end as in [#-1]");
  if (end - digitsStart > INDEX_DIGITS_MAX)
    throw failureAt(filter, start, `an array index has at most ${INDEX_DIGITS_MAX} digits`);
  return fromEnd ? -index : index;
}

function isDivider(sign: string): boolean {
  return sign === DOT || sign === OPEN || sign === CLOSE;
}
