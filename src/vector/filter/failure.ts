/**
 * How a filter is refused. Every text says where in the filter the trouble is
 * and, where there is one, the remedy. A filter fails while it is read, never
 * while it runs.
 */

/** An answer, not a fault of ours: it carries no stack. */
export class FilterFailure {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Trouble at an offset of the filter's text, told as the number of the character there, from 1. */
export function failureAt(filter: string, offset: number, problem: string): FilterFailure {
  let character = 1;
  for (let at = 0; at < offset; at += (filter.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) character += 1;
  return new FilterFailure(`Invalid filter at character ${character}: ${problem}`);
}

/** A filter beyond one of its bounds, which has no place in the text. */
export function tooLarge(problem: string): FilterFailure {
  return new FilterFailure(`Invalid filter: ${problem}`);
}

/** Words as a sentence has them: `a`, `a or b`, `a, b or c`. */
export function orList(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
