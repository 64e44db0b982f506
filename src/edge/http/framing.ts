/**
 * The framing of a request: where it ends and whether we can read it. Also that
 * it has one Host and one Authorization. Read first, in one pass over the raw headers.
 *
 * The parser of node has refused the combinations that are used for smuggling (a
 * length and a transfer encoding, two lengths, bare line feeds). Other framing
 * that we do not understand is refused here, never guessed (RFC 9112 section 6;
 * threats S-02, S-03).
 */
import {
  authorizationRepeated,
  contentEncodingRefused,
  malformedHttp,
  type RequestFailure,
  transferEncodingRefused,
} from "../errors.ts";
import { HeaderSet } from "../names.ts";

export interface Framing {
  hostCount: number;
  authorizationCount: number;
  expect: string | undefined;
  connection: string | undefined;
  contentLength: number | undefined;
  transferEncoding: string | undefined;
  contentEncoding: string | undefined;
}

const framingHeaders = new HeaderSet([
  "host",
  "expect",
  "connection",
  "authorization",
  "content-length",
  "content-encoding",
  "transfer-encoding",
]);

/** Values come without the spaces and tabs around them. `trim` would remove bytes that no other reader takes for blanks. */
export function readFraming(rawHeaders: readonly string[]): Framing {
  const framing: Framing = {
    hostCount: 0,
    authorizationCount: 0,
    expect: undefined,
    connection: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    contentEncoding: undefined,
  };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = framingHeaders.find(rawHeaders[i] as string);
    if (name === undefined) continue;
    const value = rawHeaders[i + 1] as string;
    switch (name) {
      case "host":
        framing.hostCount += 1;
        break;
      case "authorization":
        framing.authorizationCount += 1;
        break;
      case "expect":
        framing.expect = value;
        break;
      case "connection":
        framing.connection = joined(framing.connection, value);
        break;
      case "content-length":
        framing.contentLength = Number(value);
        break;
      case "content-encoding":
        framing.contentEncoding = joined(framing.contentEncoding, value);
        break;
      default:
        framing.transferEncoding = joined(framing.transferEncoding, value);
    }
  }
  return framing;
}

const VERSIONS = ["1.1", "1.0", "2"];

/** Whether a body follows the head of a request of HTTP/1. */
export function hasBody({ contentLength, transferEncoding }: Framing): boolean {
  return (contentLength !== undefined && contentLength > 0) || transferEncoding !== undefined;
}

/** Why a request with this framing is refused, or undefined. */
export function framingFailure(framing: Framing, httpVersion: string): RequestFailure | undefined {
  const { hostCount, authorizationCount, contentLength, transferEncoding, contentEncoding } = framing;
  if (!VERSIONS.includes(httpVersion)) return malformedHttp;
  // RFC 9110 section 11.6.2: one Authorization. A proxy in between may read the other one.
  if (authorizationCount > 1) return authorizationRepeated;
  // RFC 9112 section 3.2: one Host, which only HTTP/1.0 may omit.
  if (hostCount > 1 || (hostCount === 0 && httpVersion !== "1.0")) return malformedHttp;
  if (contentLength !== undefined && (transferEncoding !== undefined || !Number.isSafeInteger(contentLength)))
    return malformedHttp;
  if (transferEncoding !== undefined) {
    if (httpVersion === "1.0") return malformedHttp;
    if (transferEncoding.toLowerCase() !== "chunked") return transferEncodingRefused;
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity")
    return contentEncodingRefused(contentEncoding);
  return undefined;
}

/** A host and a port (RFC 3986 section 3.2), without the user that RFC 9110 section 4.2.4 calls an error. */
const ABSOLUTE_FORM = /^https?:\/\/[-.~!$&'()*+,;=:%[\]\w]+(?=[/?]|$)/i;

/** The target in origin form; undefined for the authority form, the asterisk form and a URL without a host. */
export function originForm(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function joined(known: string | undefined, value: string): string {
  return known === undefined ? value : `${known}, ${value}`;
}

/**
 * The value of a header, whatever the case of its name; several fields of that name are joined by ", " (RFC 9110, section 5.3).
 * `rawHeaders` are name, value, name, value, …; `name` is in lower case.
 */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  let value: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const rawName = rawHeaders[i] as string;
    if (rawName.length !== name.length || rawName.toLowerCase() !== name) continue;
    value = value === undefined ? rawHeaders[i + 1] : `${value}, ${rawHeaders[i + 1]}`;
  }
  return value;
}
