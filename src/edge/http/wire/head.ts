/**
 * The head of a request of HTTP/1, read from its bytes (RFC 9112). Anything that
 * two readers could understand differently is malformed (threats S-02):
 *
 * (1) A line ends with CR LF. A bare CR, a bare LF or a NUL is malformed anywhere.
 * (2) The request line is a method of upper-case letters and hyphens, a target of
 *     visible ASCII characters, and `HTTP/1.1` or `HTTP/1.0`, with one space
 *     between them. The target is a path, `*` or a URL of HTTP; that of CONNECT
 *     has any form. Empty lines before it are skipped.
 * (3) A field is a name of token characters, a colon directly after it, and a
 *     value. Spaces and tabs around the value are not part of it. Inside, it has
 *     no controls except tabs. A field that begins with a space or a tab, the old
 *     way to continue a line, is malformed.
 * (4) Content-Length stands there at most once, with 1 to 15 digits, and never
 *     beside Transfer-Encoding. HTTP/1.0 has no Transfer-Encoding.
 * (5) A head has at most `headerBytesMax` bytes and `FIELDS_MAX` fields, those of
 *     empty lines before it included.
 *
 * Whether there is exactly one Host, and what else we cannot read, `framing.ts`
 * says for every transport.
 */
import type { HeadMemo } from "../../handler.ts";
import { type Framing, readFraming } from "../framing.ts";
import { RepeatedHead } from "./repeated-head.ts";

export const FIELDS_MAX = 1_000;

export interface Head {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: "1.0" | "1.1";
  readonly rawHeaders: string[];
  readonly framing: Framing;
  /** Set if it repeats an earlier head and its target (`repeated-head.ts`). */
  readonly memo?: HeadMemo | undefined;
}

export type HeadFault = "malformed" | "head too large";

const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const COLON = 58;

/** 1 for each byte of a class. */
function bytesWhere(isMember: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (isMember(byte) ? 1 : 0));
}

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";
/** RFC 9110 section 5.6.2. */
export const tokenBytes = bytesWhere(
  (byte) => /[0-9A-Za-z]/.test(String.fromCharCode(byte)) || TOKEN_MARKS.includes(String.fromCharCode(byte)),
);
const methodBytes = bytesWhere((byte) => /[A-Z-]/.test(String.fromCharCode(byte)));
const targetBytes = bytesWhere((byte) => byte > SPACE && byte < 127);
const valueBytes = bytesWhere((byte) => (byte >= SPACE && byte !== 127) || byte === TAB);

/** After so many heads that were remembered and not repeated, none is remembered. */
const MISSES_MAX = 4;

const VERSION_BYTES = "HTTP/1.1".length;

/**
 * Reads heads from the bytes of a connection, one after the other. A line is read when it is complete, and only once,
 * so a head that comes byte by byte costs no more than its bytes.
 */
export class HeadReader {
  /** The first byte after the head, once `read` has returned one. */
  end = 0;
  readonly #headerBytesMax: number;
  #requestLine: Pick<Head, "method" | "target" | "httpVersion"> | undefined;
  #rawHeaders: string[] = [];
  /** Bytes of the head in the lines that have been read. */
  #readBytes = 0;
  /** The last head, if it may be repeated. */
  #repeated: RepeatedHead | undefined;
  #hasReadOne = false;
  #missCount = 0;

  constructor(headerBytesMax: number) {
    this.#headerBytesMax = headerBytesMax;
  }

  /** Bytes of complete lines, after which the next call continues. */
  get readBytes(): number {
    return this.#readBytes;
  }

  /**
   * Reads the lines of a head that begins at `from` and of which `readBytes` have been read already. `undefined`: the
   * head is not complete.
   */
  read(bytes: Buffer, from: number): Head | HeadFault | undefined {
    const isWhole = this.#readBytes === 0;
    if (isWhole && this.#repeated !== undefined) {
      const head = this.#repeated.read(bytes, from, this.#headerBytesMax);
      if (head !== undefined) {
        this.end = this.#repeated.end;
        return head;
      }
    }
    let at = from + this.#readBytes;
    for (;;) {
      const end = bytes.indexOf(LF, at);
      const headBytes = (end < 0 ? bytes.length : end + 1) - from;
      if (headBytes > this.#headerBytesMax) return "head too large";
      if (end < 0) {
        this.#readBytes = at - from;
        return undefined;
      }
      if (end === at || bytes[end - 1] !== CR) return "malformed"; // keeps (1)
      if (end - 1 > at) {
        if (!this.#readLine(bytes, at, end - 1)) return "malformed";
        if (this.#rawHeaders.length > 2 * FIELDS_MAX) return "head too large";
      } else if (this.#requestLine !== undefined) {
        this.end = end + 1;
        const head = this.#take();
        if (isWhole && typeof head !== "string") this.#remember(head, bytes.subarray(from, this.end));
        return head;
      }
      at = end + 1;
    }
  }

  /** Remembers a head, unless it is the first, since many connections have only one, or earlier ones have not repeated. */
  #remember(head: Head, bytes: Buffer): void {
    if (this.#repeated !== undefined) this.#missCount += 1;
    const mayRepeat = this.#hasReadOne && this.#missCount < MISSES_MAX && head.method !== "CONNECT";
    this.#repeated = mayRepeat ? RepeatedHead.of(head, bytes) : undefined;
    this.#hasReadOne = true;
  }

  /** The head is complete. */
  #take(): Head | HeadFault {
    const rawHeaders = this.#rawHeaders;
    const requestLine = this.#requestLine as Pick<Head, "method" | "target" | "httpVersion">;
    this.#requestLine = undefined;
    this.#rawHeaders = [];
    this.#readBytes = 0;
    const framing = readFraming(rawHeaders);
    if (!hasPlainLength(rawHeaders, framing, requestLine.httpVersion)) return "malformed";
    return { ...requestLine, rawHeaders, framing };
  }

  /** Reads the line in [at, end), without its CR LF. False: it is malformed. */
  #readLine(bytes: Buffer, at: number, end: number): boolean {
    if (this.#requestLine !== undefined) return this.#readField(bytes, at, end);
    const methodEnd = endOf(methodBytes, bytes, at, end);
    const targetEnd = endOf(targetBytes, bytes, methodEnd + 1, end);
    const version = versionAt(bytes, targetEnd + 1, end);
    if (methodEnd === at || bytes[methodEnd] !== SPACE || targetEnd === methodEnd + 1) return false;
    if (bytes[targetEnd] !== SPACE || version === undefined) return false;
    const target = bytes.latin1Slice(methodEnd + 1, targetEnd);
    const method = bytes.latin1Slice(at, methodEnd);
    if (!/^(?:\/|\*$|https?:\/\/)/i.test(target) && method !== "CONNECT") return false;
    this.#requestLine = {
      method,
      target,
      httpVersion: version,
    };
    return true;
  }

  /** keeps (3) */
  #readField(bytes: Buffer, at: number, end: number): boolean {
    const nameEnd = endOf(tokenBytes, bytes, at, end);
    if (nameEnd === at || bytes[nameEnd] !== COLON) return false;
    let from = nameEnd + 1;
    let to = end;
    while (from < to && isBlank(bytes[from])) from += 1;
    while (to > from && isBlank(bytes[to - 1])) to -= 1;
    if (endOf(valueBytes, bytes, from, to) !== to) return false;
    // Copies, since a name or a value can live longer than the packet.
    this.#rawHeaders.push(bytes.latin1Slice(at, nameEnd), bytes.latin1Slice(from, to));
    return true;
  }
}

/** The first position in [at, end) whose byte is not of the class, or `end`. */
function endOf(members: Uint8Array, bytes: Buffer, at: number, end: number): number {
  let position = at;
  while (position < end && members[bytes[position] as number] === 1) position += 1;
  return position;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function versionAt(bytes: Buffer, at: number, end: number): Head["httpVersion"] | undefined {
  if (end - at !== VERSION_BYTES) return undefined;
  const version = bytes.latin1Slice(at, end);
  if (version === "HTTP/1.1") return "1.1";
  return version === "HTTP/1.0" ? "1.0" : undefined;
}

/** keeps (4) */
function hasPlainLength(rawHeaders: readonly string[], framing: Framing, httpVersion: string): boolean {
  const { contentLength, transferEncoding } = framing;
  if (transferEncoding !== undefined) return contentLength === undefined && httpVersion === "1.1";
  if (contentLength === undefined) return true;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== "content-length".length || name.toLowerCase() !== "content-length") continue;
    count += 1;
    if (!/^[0-9]{1,15}$/.test(rawHeaders[i + 1] as string)) return false;
  }
  return count === 1;
}
