/**
 * The order of texts: by code points, which is the order of their UTF-8 bytes.
 * JavaScript's own `<` compares UTF-16 units, so it puts U+10000 and above, which
 * are pairs of surrogates (D800 to DFFF), before U+E000 to U+FFFF.
 */
import { filterWork } from "./work.ts";

const SURROGATE_FIRST = 0xd800;
const LOW_SURROGATE_FIRST = 0xdc00;

/** Returns a function that is negative for texts before `bound`, positive for texts after it, and 0 for itself. */
export function textOrder(bound: string): (text: string) => number {
  // At the first difference from such a text, a surrogate is the greater one in either order.
  if (isBelowSurrogates(bound)) return (text) => (text < bound ? -1 : text === bound ? 0 : 1);
  return (text) => compareCodePoints(text, bound);
}

function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  filterWork.steps += at;
  if (at === length) return one.length - other.length;
  // The difference may be in the second half of a pair.
  if (at > 0 && isHighSurrogate(one.charCodeAt(at - 1))) at -= 1;
  return (one.codePointAt(at) ?? 0) - (other.codePointAt(at) ?? 0);
}

function isBelowSurrogates(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) >= SURROGATE_FIRST) return false;
  return true;
}

function isHighSurrogate(code: number): boolean {
  return code >= SURROGATE_FIRST && code < LOW_SURROGATE_FIRST;
}
