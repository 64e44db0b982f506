/**
 * Redaction: parts of a message that are never shown (C.redaction; threats C-21).
 *
 *     Redact-Fields: body, header[Authorization]
 *
 * The parts are stored and delivered unchanged, and shown as `REDACTED:` and their SHA-256. The hash has no salt, as
 * the interface requires, so short or common secrets can be guessed from it.
 */
import { hash } from "node:crypto";
import type { Redaction } from "./envelope.ts";

/** The message names the item. */
export class InvalidRedaction extends Error {
  override name = "InvalidRedaction";
}

/** In characters: enough to list each header of a request. */
const TEXT_LENGTH_MAX = 8_192;

/**
 * The parts that a comma-separated list of `body`, `header` or `headers` (all of them) and `header[Name]` or
 * `headers[Name]` names. Blanks around items and empty items do not count. Throws `InvalidRedaction`: a typo must not
 * show a secret.
 */
export function parseRedactFields(text: string): Redaction {
  if (text.length > TEXT_LENGTH_MAX) throw new InvalidRedaction(`Longer than ${TEXT_LENGTH_MAX} characters`);
  let body = false;
  let allHeaders = false;
  const names = new Set<string>();
  for (const item of text.split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const name = headerNameOf(item);
    if (item === "body") body = true;
    else if (item === "header" || item === "headers") allHeaders = true;
    else if (name !== undefined) names.add(name);
    else
      throw new InvalidRedaction(
        `Unknown field ${JSON.stringify(item)}; known fields are body, headers and header[<name>]`,
      );
  }
  return {
    ...(body && { body }),
    ...(allHeaders ? { headers: true } : names.size > 0 && { headers: [...names] }),
  };
}

/**
 * The redaction of a message that is published again with other settings: they may hide more, but never show what the
 * publisher hid.
 */
export function joinedRedaction(first: Redaction | undefined, added: Redaction | undefined): Redaction | undefined {
  if (first === undefined || added === undefined) return first ?? added;
  const body = first.body ?? added.body;
  const lists = [first.headers ?? [], added.headers ?? []];
  const names = new Set(lists.flatMap((names) => (names === true ? [] : names)));
  return {
    ...(body && { body }),
    ...(lists.includes(true) ? { headers: true } : names.size > 0 && { headers: [...names] }),
  };
}

/** What is shown instead of `content`. A text counts as its UTF-8 bytes. */
export function redactedText(content: Uint8Array | string): string {
  return `REDACTED:${hash("sha256", content, "hex")}`;
}

/**
 * Headers (name, value, name, value, …) with each hidden value replaced. Names stay, and are case-insensitive. The
 * characters of a value are its bytes, as sent.
 */
export function redactedHeaders({ headers: hidden }: Redaction, headers: readonly string[]): readonly string[] {
  if (hidden === undefined) return headers;
  return headers.map((text, index) => {
    const isHidden = index % 2 === 1 && (hidden === true || hidden.includes((headers[index - 1] ?? "").toLowerCase()));
    return isHidden ? redactedText(Buffer.from(text, "latin1")) : text;
  });
}

/** The name in `header[Name]` in lower case, or undefined if the form or the name is invalid (RFC 9110 §5.6.2). */
function headerNameOf(item: string): string | undefined {
  const [, name] = /^headers?\[\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*\]$/.exec(item) ?? [];
  return name?.toLowerCase();
}
