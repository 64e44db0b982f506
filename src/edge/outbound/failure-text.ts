/**
 * The failure of a call as one sentence: a row for each error of the system, of
 * TLS and of the HTTP client that a destination can cause.
 */
import { LookupTimeout } from "./resolver.ts";

/** The policy refuses an address; the message is the sentence. */
export class DestinationRefused extends Error {
  override name = "DestinationRefused";
}

/** No connection in time; the message is the sentence. */
export class ConnectTimeout extends Error {
  override name = "ConnectTimeout";
}

/** Texts before `: <host>`. */
const TEXTS: Readonly<Record<string, string>> = {
  ENOTFOUND: "The name could not be found",
  ENODATA: "The name has no address",
  EAI_AGAIN: "Temporary failure in name resolution",
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "Connection reset",
  ECONNABORTED: "Connection aborted",
  EPIPE: "Connection closed while the request was sent",
  ETIMEDOUT: "Connection timed out",
  EHOSTUNREACH: "No route to the host",
  ENETUNREACH: "No route to the network",
  EADDRNOTAVAIL: "No local address or port available",
  EMFILE: "Too many open files in this process",
  ENFILE: "Too many open files in this system",
  UND_ERR_SOCKET: "Connection closed before the answer was complete",
  UND_ERR_HEADERS_OVERFLOW: "The headers of the answer are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "The answer contradicts its Content-Length",
  ERR_TLS_CERT_ALTNAME_INVALID: "The certificate is for another name",
  CERT_HAS_EXPIRED: "The certificate has expired",
  CERT_NOT_YET_VALID: "The certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "The certificate is from an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The certificate is from an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "The certificate is from an unknown authority",
};

/** The sentence for any thrown value; it names `host`. */
export function failureText(error: unknown, host: string): string {
  if (!(error instanceof Error)) return `The call failed: ${host}`;
  if (error instanceof DestinationRefused || error instanceof ConnectTimeout || error instanceof LookupTimeout) {
    return error.message;
  }
  // Several addresses were tried; report the last one's error.
  if (error instanceof AggregateError) return failureText(error.errors.at(-1), host);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "UND_ERR_INVALID_ARG" || code === "UND_ERR_NOT_SUPPORTED") {
    return `The request cannot be sent: ${error.message}`;
  }
  if (code === "UND_ERR_SOCKET" && error.message === "bad response") {
    return `The destination sent an unexpected answer: ${host}`;
  }
  if (code === "UND_ERR_SOCKET" && error.message === "bad upgrade") {
    return `The destination switched to another protocol: ${host}`;
  }
  // An assertion of the client about the answer.
  if (code === "ERR_ASSERTION") return `The answer is not HTTP/1.1: ${host}`;
  if (error.name === "HTTPParserError") return `The answer is not HTTP/1.1${parserReason(error.message)}: ${host}`;
  const text = Object.hasOwn(TEXTS, code) ? TEXTS[code] : undefined;
  if (text !== undefined) return `${text}: ${host}`;
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return `TLS failed (${code}): ${host}`;
  return `The call failed (${code === "" ? error.name : code}): ${host}`;
}

/** The parser's reason, in brackets at the end of the client's sentence. */
function parserReason(message: string): string {
  return /( \([\w ,./:'-]{1,80}\))$/.exec(message)?.[1] ?? "";
}
