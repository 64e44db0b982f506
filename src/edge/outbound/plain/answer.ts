/**
 * The short way for ordinary answers of HTTP/1.1: an answer that came whole, in one
 * packet, and that all readers understand in the same way. Returns undefined for
 * any other one, from which nothing was taken: the HTTP client reads it from its
 * first byte (`../connection.ts`). So whatever is rare, wrong or hostile has one
 * reader.
 *
 * (1) The status line has HTTP/1.1, a status from 200 to 599 except 304, and a
 *     reason. Lines end with CR LF and have no controls except tabs.
 * (2) A field is a name of token characters, a colon directly after it, at most
 *     one space, and a value that neither is empty nor begins or ends with a blank.
 * (3) The length of the body is known: one Content-Length of 1 to 9 digits, or
 *     status 204 without a body, or one `Transfer-Encoding: chunked`. The bytes end
 *     with the body.
 * (4) Chunks have a size of 1 to 6 hexadecimal digits, no extensions, and no
 *     trailers after the last one.
 * (5) No other field says anything about the transfer or the connection, except
 *     `Connection: keep-alive` and one Keep-Alive that lets us use the connection
 *     again.
 */

export interface PlainAnswer {
  readonly status: number;
  /** name, value, name, value … as received, in Latin-1. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** How long the connection may be idle after it. */
  readonly idleMs: number;
}

/** How long a connection may be idle, if the destination does not say how long it keeps it open. */
export const IDLE_MS = 4_000;
/** Less than the destination says, because the next request takes time to arrive. */
export const IDLE_MARGIN_MS = 2_000;

/** Longer heads go to the HTTP client, which has the limits. */
const HEAD_BYTES_MAX = 4_096;
const HEAD_END = Buffer.from("\r\n\r\n");
const STATUS_START = "HTTP/1.1 ".length;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** keeps (1) */
const STATUS = /^HTTP\/1\.1 [2-5]\d\d /;
const LINES = /^(?:[\t\x20-\x7e\x80-\xff]+\r\n)+$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const LENGTH = /^\d{1,9}$/;
/** As the HTTP client reads it. */
const KEEP_ALIVE_TIMEOUT = /(?:^|,)[\t ]*timeout=(\d{1,9})/i;

const SPACE = 32;
const TAB = 9;
const CR = 13;
const LF = 10;

/** More chunks go to the HTTP client. */
const CHUNKS_MAX = 64;
const SIZE_DIGITS_MAX = 6;

/** What a field is for the transfer. */
type Meaning = "none" | "length" | "coding" | "connection" | "keep-alive" | "not plain";

const meanings: Readonly<Record<string, Meaning>> = {
  "content-length": "length",
  connection: "connection",
  "keep-alive": "keep-alive",
  "transfer-encoding": "coding",
  "proxy-connection": "not plain",
  upgrade: "not plain",
};

/** By names as received: a destination sends the same ones with every answer. */
const knownNames = new Map<string, Meaning>();
const KNOWN_NAMES_MAX = 1_024;

/** Longer heads are not remembered. */
const REMEMBERED_BYTES_MAX = 1_024;

/**
 * Reads the answers of one connection. A destination sends the same head with many answers, or the same one for a
 * second if it has a Date: a head that is the last one, byte for byte, is not read again.
 */
export class PlainAnswerReader {
  #head: PlainHead | undefined;
  /** A copy of the bytes of that head, with the empty line. */
  #bytes = NO_BYTES;

  read(bytes: Buffer): PlainAnswer | undefined {
    const known = this.#bytes;
    const { length } = known;
    if (this.#head !== undefined && bytes.length >= length && bytes.compare(known, 0, length, 0, length) === 0) {
      return answerOf(this.#head, bytes, length);
    }
    const headEnd = bytes.indexOf(HEAD_END);
    const head = headEnd < 0 ? undefined : readHead(bytes, headEnd);
    if (head === undefined) return undefined;
    const bodyStart = headEnd + HEAD_END.length;
    if (bodyStart <= REMEMBERED_BYTES_MAX) {
      this.#head = head;
      this.#bytes = Buffer.from(bytes.subarray(0, bodyStart));
    }
    return answerOf(head, bytes, bodyStart);
  }
}

const NO_BYTES = Buffer.alloc(0);

interface PlainHead extends Framing {
  readonly headers: readonly string[];
  readonly isChunked: boolean;
  readonly idleMs: number;
}

function answerOf(head: PlainHead, bytes: Buffer, bodyStart: number): PlainAnswer | undefined {
  const { status, headers, isChunked, idleMs } = head;
  const body = isChunked ? readChunks(bytes, bodyStart, head) : readBody(bytes, bodyStart, head);
  return body === undefined ? undefined : { status, headers, body, idleMs };
}

/** `headEnd` is where the empty line after the head begins. */
function readHead(bytes: Buffer, headEnd: number): PlainHead | undefined {
  if (headEnd > HEAD_BYTES_MAX) return undefined;
  const head = bytes.latin1Slice(0, headEnd + 2);
  const status = statusOf(head);
  if (status === undefined || !LINES.test(head)) return undefined;
  const headers: string[] = [];
  let length: number | undefined;
  let isChunked = false;
  let idleMs: number | undefined;
  for (let at = head.indexOf("\r\n") + 2; at < head.length; ) {
    const end = head.indexOf("\r\n", at);
    const colon = head.indexOf(":", at);
    if (colon < 0 || colon > end) return undefined;
    const name = head.slice(at, colon);
    const value = valueIn(head, colon + 1, end);
    if (value === undefined) return undefined;
    switch (meaningOf(name)) {
      case "none":
        break;
      case "length":
        if (length !== undefined || !LENGTH.test(value)) return undefined;
        length = Number(value);
        break;
      case "coding":
        if (isChunked || value !== "chunked") return undefined;
        isChunked = true;
        break;
      case "connection":
        if (value.toLowerCase() !== "keep-alive") return undefined;
        break;
      case "keep-alive":
        if (idleMs !== undefined) return undefined;
        idleMs = idleMsOf(value);
        if (idleMs <= 0) return undefined;
        break;
      default:
        return undefined;
    }
    headers.push(name, value);
    at = end + 2;
  }
  return { status, headers, length, isChunked, idleMs: idleMs ?? IDLE_MS };
}

interface Framing {
  readonly status: number;
  /** The Content-Length. */
  readonly length: number | undefined;
}

/** The body from `from` on, if it ends with the bytes: keeps (3). */
function readBody(bytes: Buffer, from: number, { status, length }: Framing): Buffer | undefined {
  const bodyBytes = length ?? (status === NO_CONTENT ? 0 : undefined);
  if (bodyBytes === undefined || from + bodyBytes !== bytes.length) return undefined;
  return status === NO_CONTENT && bodyBytes > 0 ? undefined : bytes.subarray(from);
}

/** The body in chunks from `from` on, if it ends with the bytes: keeps (3) and (4). */
function readChunks(bytes: Buffer, from: number, { status, length }: Framing): Buffer | undefined {
  if (status === NO_CONTENT || length !== undefined) return undefined;
  const pieces: Buffer[] = [];
  for (let at = from; pieces.length < CHUNKS_MAX; ) {
    let size = 0;
    let digitsEnd = at;
    for (let digit = digitOf(bytes[at]); digit >= 0; digit = digitOf(bytes[digitsEnd])) {
      size = size * 16 + digit;
      digitsEnd += 1;
    }
    if (digitsEnd === at || digitsEnd > at + SIZE_DIGITS_MAX || !isLineEnd(bytes, digitsEnd)) return undefined;
    const start = digitsEnd + 2;
    const end = start + size;
    if (!isLineEnd(bytes, end)) return undefined;
    at = end + 2;
    if (size === 0) {
      if (at !== bytes.length) return undefined;
      const [first] = pieces;
      return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces);
    }
    pieces.push(bytes.subarray(start, end));
  }
  return undefined;
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** The value of a hexadecimal digit, or -1. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** keeps (1) */
function statusOf(head: string): number | undefined {
  if (!STATUS.test(head)) return undefined;
  const status = Number(head.slice(STATUS_START, STATUS_START + 3));
  return status === NOT_MODIFIED ? undefined : status;
}

/** The value in [at, end): keeps (2). */
function valueIn(head: string, at: number, end: number): string | undefined {
  const from = head.charCodeAt(at) === SPACE ? at + 1 : at;
  if (from >= end || isBlank(head.charCodeAt(from)) || isBlank(head.charCodeAt(end - 1))) return undefined;
  return head.slice(from, end);
}

function idleMsOf(keepAlive: string): number {
  const seconds = KEEP_ALIVE_TIMEOUT.exec(keepAlive)?.[1];
  return seconds === undefined ? IDLE_MS : Number(seconds) * 1_000 - IDLE_MARGIN_MS;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** keeps (2) and (5) */
function meaningOf(name: string): Meaning {
  let meaning = knownNames.get(name);
  if (meaning === undefined) {
    const lower = name.toLowerCase();
    meaning = !TOKEN.test(name) ? "not plain" : Object.hasOwn(meanings, lower) ? (meanings[lower] ?? "none") : "none";
    if (knownNames.size >= KNOWN_NAMES_MAX) knownNames.clear();
    knownNames.set(name, meaning);
  }
  return meaning;
}
