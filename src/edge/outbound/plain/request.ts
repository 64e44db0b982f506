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

/** Longer bodies are passed to the socket as they are. */
const JOINED_BYTES_MAX = 4_096;

export type PlainCall = OutboundCall & { readonly body: Buffer };

/** True if the call may take the short way. */
export function isPlainCall(call: OutboundCall, path: string): call is PlainCall {
  const { method, headers, body } = call;
  if (Array.isArray(body) || !methods.has(method) || !PATH.test(path)) return false;
  for (let i = 0; i < headers.length; i += 2) {
    if (!isPlainName(headers[i] as string) || NOT_IN_VALUE.test(headers[i + 1] as string)) return false;
  }
  return true;
}

/** The text of the request: its head, and its body if that is short. */
export function plainRequest({ method, headers, body }: PlainCall, path: string, host: string): string {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  text += `content-length: ${body.length}\r\n\r\n`;
  return isJoined(body) ? text + body.latin1Slice() : text;
}

/** Whether the text of the request has the body. */
export function isJoined(body: Buffer): boolean {
  return body.length <= JOINED_BYTES_MAX;
}

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!TOKEN.test(name) || framingNames.has(name.toLowerCase())) return false;
  if (plainNames.size >= PLAIN_NAMES_MAX) plainNames.clear();
  plainNames.add(name);
  return true;
}
