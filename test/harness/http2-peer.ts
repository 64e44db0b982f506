/**
 * A client of HTTP/2 for tests that are written for HTTP/1: a proxy in small. It
 * sends each request of a text in its own stream as soon as the bytes come, and
 * has the responses as texts of HTTP/1, in the order of the requests.
 */
import assert from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { TLSSocket } from "node:tls";
import { localCertificates } from "./local-certificates.ts";

const OF_CONNECTION = ["connection", "transfer-encoding", "host"];

/** A client whose responses come as text. */
export interface TextPeer {
  readonly received: string;
  /** Resolves when the connection is open. */
  readonly opened: Promise<unknown>;
  /** Resolves when the connection has closed; for HTTP/2, or when all requests have their responses. */
  readonly closed: Promise<void>;
  send(bytes: string): this;
  /** Resolves with all received bytes once they match. */
  until(pattern: RegExp): Promise<string>;
  untilClosed(): Promise<string>;
  /** Reads no more. */
  pause(): void;
  /** Reads again, and forgets what it reads. */
  discard(): void;
  destroy(): void;
}

interface Exchange {
  readonly stream: ClientHttp2Stream;
  text: string;
  isClosed: boolean;
}

export class Http2Peer implements TextPeer {
  readonly session: ClientHttp2Session;
  readonly opened: Promise<unknown>;
  readonly #exchanges: Exchange[] = [];
  #unsent = "";
  /** The request whose body is being sent, and the bytes that it lacks; undefined for a body in chunks. */
  #body: { stream: ClientHttp2Stream; left: number | undefined } | undefined;
  #isPaused = false;
  #wake: (() => void)[] = [];

  constructor(port: number) {
    this.session = connect(`https://localhost:${port}`, { ca: localCertificates[0].certificate });
    // When the answer to PING has come, the server has seen our acknowledgement of its SETTINGS.
    this.opened = new Promise((resolve) => {
      this.session.once("remoteSettings", () => this.session.ping(() => resolve(undefined)));
    });
    this.session.on("error", () => {});
    this.session.on("close", () => this.#woken());
  }

  get received(): string {
    return this.#exchanges.map(({ text }) => text).join("");
  }

  get closed(): Promise<void> {
    return this.#until(() => this.#isClosed);
  }

  get #isClosed(): boolean {
    const all = this.#exchanges;
    return this.session.destroyed || (all.length > 0 && all.every(({ isClosed }) => isClosed));
  }

  send(bytes: string): this {
    this.#unsent += bytes;
    while (this.#sendPart());
    return this;
  }

  async until(pattern: RegExp): Promise<string> {
    await this.#until(() => pattern.test(this.received) || this.#isClosed);
    assert.match(this.received, pattern);
    return this.received;
  }

  async untilClosed(): Promise<string> {
    await this.closed;
    return this.received;
  }

  pause(): void {
    this.#isPaused = true;
    for (const { stream } of this.#exchanges) stream.pause();
  }

  discard(): void {
    this.#isPaused = false;
    for (const { stream } of this.#exchanges) stream.removeAllListeners("data").resume();
  }

  destroy(): void {
    // The socket, so that nothing says goodbye.
    (this.session.socket as TLSSocket | undefined)?.destroySoon?.();
    this.session.destroy();
  }

  /** Sends a head or a part of a body. False if it needs more text. */
  #sendPart(): boolean {
    if (this.#unsent === "") return false;
    if (this.#body === undefined) return this.#sendHead();
    const { stream, left } = this.#body;
    if (left === undefined) return this.#sendChunk(stream);
    const part = this.#unsent.slice(0, left);
    this.#unsent = this.#unsent.slice(left);
    const rest = left - part.length;
    this.#body = rest === 0 ? undefined : { stream, left: rest };
    stream.write(part, "latin1");
    if (rest === 0) stream.end();
    return true;
  }

  #sendChunk(stream: ClientHttp2Stream): boolean {
    const [line, hex] = /^([0-9a-f]+)\r\n/i.exec(this.#unsent) ?? [];
    if (line === undefined) return false;
    const size = Number.parseInt(hex ?? "", 16);
    const end = line.length + size;
    if (this.#unsent.length < end + 2) return false;
    if (size > 0) stream.write(this.#unsent.slice(line.length, end), "latin1");
    else {
      stream.end();
      this.#body = undefined;
    }
    this.#unsent = this.#unsent.slice(end + 2);
    return true;
  }

  #sendHead(): boolean {
    const end = this.#unsent.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [first = "", ...lines] = this.#unsent.slice(0, end).split("\r\n");
    this.#unsent = this.#unsent.slice(end + 4);
    const [, method, path] = /^(\S+) (\S+) HTTP\/1\.1$/.exec(first) ?? assert.fail(`not a request: ${first}`);
    const fields = lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    });
    const fieldOf = (name: string): string | undefined => fields.find(([each]) => each === name)?.[1];
    const headers: Record<string, string | string[]> = {};
    for (const [name, value] of fields) {
      if (OF_CONNECTION.includes(name)) continue;
      const known = headers[name];
      headers[name] = known === undefined ? value : [known, value].flat();
    }
    const length = fieldOf("content-length");
    const isChunked = fieldOf("transfer-encoding") !== undefined;
    const endStream = !isChunked && (length === undefined || length === "0");
    const pseudo = { ":method": method, ":path": path, ":authority": fieldOf("host") ?? assert.fail("no Host") };
    const stream = this.session.request({ ...pseudo, ...headers }, { endStream });
    this.#follow(stream);
    if (!endStream) this.#body = { stream, left: isChunked ? undefined : Number(length) };
    return true;
  }

  #follow(stream: ClientHttp2Stream): void {
    const exchange: Exchange = { stream, text: "", isClosed: false };
    this.#exchanges.push(exchange);
    const add = (text: string): void => {
      exchange.text += text;
      this.#woken();
    };
    stream.on("error", () => {});
    stream.on("continue", () => add("HTTP/1.1 100 Continue\r\n\r\n"));
    stream.on("response", (headers) => {
      const status = Number(headers[":status"]);
      const lines = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
      add(
        [
          `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
          ...lines.map(([name, value]) => `${capitalized(name)}: ${value}`),
          "\r\n",
        ].join("\r\n"),
      );
      if (this.#isPaused) stream.pause();
    });
    if (!this.#isPaused) stream.on("data", (chunk: Buffer) => add(chunk.latin1Slice()));
    stream.on("close", () => {
      exchange.isClosed = true;
      this.#woken();
    });
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  #woken(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }
}

/** `Content-Length` */
function capitalized(name: string): string {
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
