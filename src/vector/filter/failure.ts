/**
 * The error of an invalid filter. Every text gives the place in the filter and,
 * if there is one, the remedy. A filter fails while it is parsed, never while it
 * runs.
 */

/** An answer, not a bug, so it has no stack. */
export class FilterFailure {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error at an offset of the filter's text; the error text counts characters from 1. */
export function failureAt(filter: string, offset: number, problem: string): FilterFailure {
  let character = 1;
  for (let at = 0; at < offset; at += (filter.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) character += 1;
  return new FilterFailure(`Invalid filter at character ${character}: ${problem}`);
}

/** A filter exceeds one of its bounds, which has no place in the text. */
export function tooLarge(problem: string): FilterFailure {
  return new FilterFailure(`Invalid filter: ${problem}`);
}

/** Joins words: `a`, `a or b`, `a, b or c`. */
export function orList(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
