/**
 * The head of a request of HTTP/2, as the one that it would have in HTTP/1 (RFC
 * 9113 section 8.3). Before, nghttp2 has reset streams with repeated, unknown,
 * late or missing pseudo-headers, with names in upper case, with characters that
 * no name or value has, with fields of one connection (section 8.2.2), and with
 * an invalid or repeated Content-Length.
 *
 * (1) A method is as in `wire/head.ts` (2), and a target is a path of visible
 *     ASCII characters. A stream with CONNECT, or with `:protocol`, would be a
 *     tunnel.
 * (2) `:authority` becomes the Host. A Host beside it must have the same value: a
 *     proxy in between may read either of them (threats S-02).
 * (3) The bytes of a head are those of RFC 9113 section 6.5.2: 32 for each field,
 *     and its name and value.
 */
import { type Framing, readFraming } from "../framing.ts";
import type { StreamFault } from "../transport.ts";

export interface StreamHead {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly framing: Framing;
  /** Why the request is refused. */
  readonly fault: StreamFault | undefined;
}

export const FIELDS_MAX = 1_000;
const FIELD_BYTES = 32;
const METHOD = /^[A-Z-]+$/;
/** A path, or the asterisk, which the listener refuses as it does in HTTP/1. */
const TARGET = /^(?:\/[\x21-\x7e]*|\*)$/;

/** `fields`: name, value, name, value, … in lower case, with the pseudo-headers. */
export function readStreamHead(fields: readonly string[], headerBytesMax: number): StreamHead {
  const pseudo = new Map<string, string>();
  const rawHeaders: string[] = [];
  let bytes = 0;
  for (let i = 0; i < fields.length; i += 2) {
    const [name = "", value = ""] = [fields[i], fields[i + 1]];
    bytes += name.length + value.length + FIELD_BYTES;
    if (name.startsWith(":")) pseudo.set(name, value);
    else rawHeaders.push(name, value);
  }
  const authority = pseudo.get(":authority");
  const host = fieldOf(rawHeaders, "host");
  if (authority !== undefined && host === undefined) rawHeaders.unshift("host", authority);
  const method = pseudo.get(":method") ?? "";
  const target = pseudo.get(":path") ?? "";
  const framing = readFraming(rawHeaders);
  const isSameHost = host === undefined || authority === undefined || host.toLowerCase() === authority.toLowerCase();
  let fault: StreamFault | undefined;
  // keeps (1), (2) and (3)
  if (bytes > headerBytesMax || fields.length > 2 * FIELDS_MAX) fault = "head too large";
  else if (method === "CONNECT" || pseudo.has(":protocol")) fault = "tunnel";
  else if (!METHOD.test(method) || !TARGET.test(target) || !isSameHost) fault = "malformed";
  return { method, target, rawHeaders, framing, fault };
}

/** The first value of a field. Whether it is repeated, `framing.ts` says. */
function fieldOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i] === name) return rawHeaders[i + 1];
  return undefined;
}
