/** The address of a key's page. The name is in the query: a path could not hold an empty name, `..`, or bytes that are not text. */
import { pagePath } from "../../../places.ts";
import { type Bytes, bytesOfHex, bytesOfText, hexOfBytes, textOfBytes } from "../values/bytes.ts";

export function storePath(database: string, rest: string): string {
  return `${pagePath("store", database)}/${rest}`;
}

export function keyPath(database: string, key: Bytes): string {
  const text = textOfBytes(key);
  const query = text === undefined ? `hex=${hexOfBytes(key)}` : `name=${encodeURIComponent(text)}`;
  return storePath(database, `keys/key?${query}`);
}

/** The key of an address; undefined if it has none. */
export function keyOfQuery({ name, hex }: Readonly<Record<string, string>>): Bytes | undefined {
  if (hex !== undefined) return bytesOfHex(hex);
  return name === undefined ? undefined : bytesOfText(name);
}

/** The path with a changed query; empty values are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}
