/** The JSON form of headers in records and in callbacks. */
import { isUtf8 } from "node:buffer";
import { isAscii } from "../../kernel/bytes.ts";
import { canonicalName } from "../../kernel/header-name.ts";

export type HeaderLists = Record<string, string[]>;

/**
 * `{ Name: [value, …] }` of name, value, name, value, … Names get the case of MIME, so different spellings of a name
 * are merged. No name can change the object's prototype. Values are bytes in the argument and text in the result.
 */
export function headerLists(headers: readonly string[]): HeaderLists {
  const lists: HeaderLists = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) {
    const name = canonicalName(headers[i] as string);
    lists[name] ??= [];
    lists[name].push(headerText(headers[i + 1] as string));
  }
  return lists;
}

/** The text of a value whose characters are bytes: valid UTF-8 is decoded, other bytes are Latin-1. */
export function headerText(value: string): string {
  if (isAscii(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.utf8Slice() : value;
}

/** The value whose text this is. */
export function headerBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text).latin1Slice();
}
