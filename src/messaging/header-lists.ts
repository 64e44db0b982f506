/** Headers as JSON shows them, in records and in callbacks. */
import { canonicalName } from "./forwarded-headers.ts";

export type HeaderLists = Record<string, string[]>;

/**
 * `{ Name: [value, …] }` of name, value, name, value, … Names are in the case of MIME, so that one of which there are
 * several spellings is one. No name can touch the object's prototype.
 */
export function headerLists(headers: readonly string[]): HeaderLists {
  const lists: HeaderLists = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) {
    const name = canonicalName(headers[i] as string);
    lists[name] ??= [];
    lists[name].push(headers[i + 1] as string);
  }
  return lists;
}
