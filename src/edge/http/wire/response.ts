/**
 * A response of a connection. Its head is one string, and goes out with the first
 * bytes of the body.
 *
 * (1) Names and values of headers have no controls, so no value ends a line.
 * (2) A response without Content-Length is chunked; for HTTP/1.0 it ends with the
 *     connection. A response to HEAD has no body, nor has one with status 204 or 304.
 */
import { statusTexts } from "../status-texts.ts";
import type { TransportResponse } from "../transport.ts";
import type { WireConnection } from "./connection.ts";
import type { Head } from "./head.ts";

/** Bytes for the system: text in an encoding, or bytes as they are. */
export interface Output {
  readonly chunk: string | Buffer;
  readonly encoding: BufferEncoding;
  /** Bytes that go out before the chunk, in the same call to the system. */
  readonly head?: string | undefined;
}

export function lengthOf({ head, chunk }: Output): number {
  return head === undefined ? chunk.length : head.length + chunk.length;
}

/** RFC 9110 section 5.5, and characters beyond bytes. */
const FORBIDDEN_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const FORBIDDEN_IN_NAME = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/;
const BEYOND_ASCII = /[^\x20-\x7e\t\r\n]/;
const NO_BODY_STATUSES = [204, 304];
const LAST_CHUNK = "0\r\n\r\n";

export class WireResponse implements TransportResponse {
  /** The connection ends after it. */
  isLast: boolean;
  writableEnded = false;
  isClosed = false;
  /** Outputs that wait for the responses before this one, and their bytes. */
  readonly waiting: Output[] = [];
  waitingBytes = 0;
  readonly #connection: WireConnection;
  readonly #isHttp10: boolean;
  readonly #isHead: boolean;
  /** Bytes of its outputs so far; characters, if they are text. */
  #bytes = 0;
  #head: string | undefined;
  #isChunked = false;
  #hasBody = true;
  #closed: (() => void)[] = [];

  constructor(connection: WireConnection, { method, httpVersion, framing }: Head) {
    this.#connection = connection;
    this.#isHttp10 = httpVersion === "1.0";
    this.#isHead = method === "HEAD";
    this.isLast = !keepsConnection(framing.connection, this.#isHttp10);
  }

  get writableLength(): number {
    // Its bytes are the last ones of the socket, unless they all wait here.
    return this.waitingBytes > 0 ? this.waitingBytes : Math.min(this.#bytes, this.#connection.unsentBytes);
  }

  writeHead(status: number, headers: string[]): void {
    let lines = `HTTP/1.1 ${status} ${statusTexts[status] ?? "Unknown"}\r\n`;
    let hasLength = false;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      const value = headers[i + 1] as string;
      if (!isValue(value) || !isName(name))
        throw new TypeError(`Header ${JSON.stringify(name)} has a character that is not allowed`); // keeps (1)
      if (name.length === "Connection".length && name.toLowerCase() === "connection") {
        if (value.toLowerCase() === "close") this.isLast = true;
        continue;
      }
      hasLength ||= name.length === "Content-Length".length && name.toLowerCase() === "content-length";
      lines += `${name}: ${value}\r\n`;
    }
    this.#hasBody = !this.#isHead && !NO_BODY_STATUSES.includes(status);
    // keeps (2)
    if (!hasLength && !NO_BODY_STATUSES.includes(status)) {
      if (this.#isHttp10) this.isLast = true;
      else {
        lines += "Transfer-Encoding: chunked\r\n";
        this.#isChunked = this.#hasBody;
      }
    }
    this.#head = lines + this.#connection.headEnd(this.isLast);
  }

  flushHeaders(): void {
    if (this.#head === undefined) return;
    this.#output({ chunk: this.#takeHead(), encoding: "latin1" });
  }

  write(chunk: string | Buffer, encoding: BufferEncoding): boolean {
    if (!this.#hasBody || chunk.length === 0) {
      this.flushHeaders();
      return true;
    }
    if (!this.#isChunked) return this.#outputBody(chunk, encoding);
    const size = typeof chunk === "string" ? Buffer.byteLength(chunk, encoding) : chunk.length;
    if (typeof chunk === "string") return this.#outputBody(`${size.toString(16)}\r\n${chunk}\r\n`, encoding);
    this.#outputBody(`${size.toString(16)}\r\n`, "latin1");
    this.#output({ chunk, encoding: "latin1" });
    return this.#output({ chunk: "\r\n", encoding: "latin1" });
  }

  end(body: string | Buffer = "", encoding: BufferEncoding = "latin1"): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    if (!this.#hasBody) this.#finish({ chunk: this.#takeHead(), encoding: "latin1" });
    else if (this.#isChunked) {
      if (body.length > 0) this.write(body, encoding);
      this.#finish({ chunk: this.#takeHead() + LAST_CHUNK, encoding: "latin1" });
    } else this.#finish(this.#withHead(body, encoding));
  }

  writeContinue(): void {
    this.#output({ chunk: "HTTP/1.1 100 Continue\r\n\r\n", encoding: "latin1" });
  }

  onClose(closed: () => void): void {
    this.#closed.push(closed);
  }

  /** The system has taken it, or the connection has closed. */
  close(): void {
    this.isClosed = true;
    const closed = this.#closed;
    this.#closed = [];
    for (const callback of closed) callback();
  }

  #output(output: Output): boolean {
    this.#bytes += lengthOf(output);
    return this.#connection.output(this, output);
  }

  #finish(output: Output): void {
    this.#bytes += lengthOf(output);
    this.#connection.finish(this, output);
  }

  /** The head, once; then an empty string. */
  #takeHead(): string {
    const head = this.#head ?? "";
    this.#head = undefined;
    return head;
  }

  #outputBody(chunk: string | Buffer, encoding: BufferEncoding): boolean {
    return this.#output(this.#withHead(chunk, encoding));
  }

  /** A part of the body, after the head if that has not been sent. A head in ASCII may stand before any text. */
  #withHead(chunk: string | Buffer, encoding: BufferEncoding): Output {
    const isText = typeof chunk === "string";
    if (isText && (encoding === "latin1" || !BEYOND_ASCII.test(this.#head ?? "")))
      return { chunk: this.#takeHead() + chunk, encoding };
    if (this.#head === undefined) return { chunk, encoding };
    return { chunk, encoding, head: this.#takeHead() };
  }
}

/** Names of responses are few; this keeps the check of each for later. */
const knownNames = new Set<string>();
const KNOWN_NAMES_MAX = 256;

export function isName(name: string): boolean {
  if (knownNames.has(name)) return true;
  if (name === "" || FORBIDDEN_IN_NAME.test(name)) return false;
  if (knownNames.size < KNOWN_NAMES_MAX) knownNames.add(name);
  return true;
}

/** Up to this length a loop is faster than the pattern. */
const LOOP_LENGTH_MAX = 32;

export function isValue(value: string): boolean {
  if (value.length > LOOP_LENGTH_MAX) return !FORBIDDEN_IN_VALUE.test(value);
  for (let i = 0; i < value.length; i += 1) {
    const code = value.charCodeAt(i);
    // Anything but visible ASCII and spaces is left to the pattern.
    if (code < 0x20 || code > 0x7e) return !FORBIDDEN_IN_VALUE.test(value);
  }
  return true;
}

/** Whether the connection may be used after this request (RFC 9112 section 9.3). */
function keepsConnection(connection: string | undefined, isHttp10: boolean): boolean {
  if (connection === undefined || connection === "keep-alive") return !isHttp10 || connection !== undefined;
  const options = connection.toLowerCase().split(/[ \t]*,[ \t]*/);
  const has = (option: string): boolean => options.includes(option);
  return !has("close") && (!isHttp10 || has("keep-alive"));
}
