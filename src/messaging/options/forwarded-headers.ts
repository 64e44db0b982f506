/**
 * Headers that a publisher forwards to the destination: which may be forwarded,
 * and the syntax of names and values (C.delivery.forwarded, C.header-maps; threats
 * C-10, C-11).
 *
 * (1) Headers that frame a message or belong to one connection are never
 *     forwarded, nor are names that a delivery sets itself.
 * (2) A name is a token, and a value has no control characters and no characters
 *     outside Latin-1, so a value cannot inject further headers.
 */
import { badRequest } from "../failure.ts";

/** Names of our own headers of a delivery, in lower case without prefix. */
const ownNames = ["message-id", "retried", "signature", "caller-ip", "topic-name", "schedule-id", "region", "hops"];

/** Lower case. Names that start with `proxy-` are not forwarded either. */
const heldBack: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "expect",
  // A compressed answer could not be read by a failure function.
  "accept-encoding",
  // The publisher's own Content-Type goes to the destination; a forwarded one would be a second.
  "content-type",
  // Nodes of a cluster say with it for whom they pass a request on.
  "larder-forwarded",
  ...ownNames.flatMap((name) => [`service-${name}`, `upstash-${name}`]),
]);

/** True if a publisher's header of this name, in lower case, is forwarded. keeps (1) */
export function isForwarded(lowerName: string): boolean {
  return !heldBack.has(lowerName) && !lowerName.startsWith("proxy-");
}

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9110 section 5.5: visible characters, blanks, and bytes above ASCII. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Throws a `MessagingFailure` that names the header. keeps (2) */
export function checkHeaderName(name: string): void {
  if (!TOKEN.test(name)) throw badRequest(`Invalid header name: ${JSON.stringify(name.slice(0, SHOWN_LENGTH_MAX))}`);
}

/** Throws a `MessagingFailure` that names the header. keeps (2) */
export function checkHeaderValue(name: string, value: string): void {
  if (!VALUE.test(value)) {
    throw badRequest(
      `Invalid value for the header ${name}: control characters and characters outside Latin-1 are not allowed`,
    );
  }
}

const SHOWN_LENGTH_MAX = 100;
