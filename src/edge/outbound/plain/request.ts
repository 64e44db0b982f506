/**
 * The short way for ordinary requests: the head of a request that the HTTP client
 * would send too, byte for byte. Returns undefined for any other one: the client
 * writes it, or refuses it.
 */
import type { OutboundCall } from "../call.ts";

/** Methods whose requests have a body. Others have rules of their own about length and reuse. */
const methods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Names that change the framing or the connection, or that the client refuses. */
const framingNames: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
]);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const PATH = /^\/[\x21-\xff]*$/;

/** Names as given that are plain: calls have the same ones again and again. */
const plainNames = new Set<string>();
const PLAIN_NAMES_MAX = 1_024;

/** With their heads, texts up to this length fit in the buffer on the stack from which Node writes them. */
const TEXT_BYTES_MAX = 12 * 1_024;
/** Longer bodies in pieces are sent in pieces. */
export const JOINED_BYTES_MAX = 128 * 1_024;

/** True if the call may take the short way. */
export function isPlainCall({ method, headers, body }: OutboundCall, path: string): boolean {
  if (!methods.has(method) || !PATH.test(path)) return false;
  if (isInPieces(body) && lengthOf(body) > JOINED_BYTES_MAX) return false;
  // Most of our headers are sent in two spellings, one after the other, so every second value is known.
  let plainValue = "";
  for (let i = 0; i < headers.length; i += 2) {
    if (!isPlainName(headers[i] as string)) return false;
    const value = headers[i + 1] as string;
    if (value === plainValue) continue;
    if (NOT_IN_VALUE.test(value)) return false;
    plainValue = value;
  }
  return true;
}

export interface PlainRequest {
  /** The head, and the body if it is short: in Latin-1. */
  readonly text: string;
  /** The body if it is long. */
  readonly body: Buffer | undefined;
}

export function plainRequest({ method, headers, body }: OutboundCall, path: string, host: string): PlainRequest {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  const length = lengthOf(body);
  text += `content-length: ${length}\r\n\r\n`;
  if (length > TEXT_BYTES_MAX) return { text, body: isInPieces(body) ? Buffer.concat(body, length) : body };
  if (!isInPieces(body)) return { text: text + body.latin1Slice(), body: undefined };
  for (const piece of body) text += piece.latin1Slice();
  return { text, body: undefined };
}

/** In bytes. */
export function lengthOf(body: OutboundCall["body"]): number {
  return isInPieces(body) ? body.reduce((sum, { length }) => sum + length, 0) : body.length;
}

export function isInPieces(body: OutboundCall["body"]): body is readonly Buffer[] {
  return Array.isArray(body);
}

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!TOKEN.test(name) || framingNames.has(name.toLowerCase())) return false;
  if (plainNames.size >= PLAIN_NAMES_MAX) plainNames.clear();
  plainNames.add(name);
  return true;
}
