/** One stream of HTTP/2: its request, its response, and the channel that they have for themselves. */
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Framing } from "../framing.ts";
import type { BodyReceiver, Channel, Expectation, TransportRequest, TransportResponse } from "../transport.ts";
import type { StreamHead } from "./head.ts";

/** RFC 9113 section 7. */
export const NO_ERROR = 0;
const CANCEL = 8;
/** Fields about one connection have no place in HTTP/2 (RFC 9113 section 8.2.2). */
const CONNECTION_FIELDS = ["connection", "keep-alive"];

export class StreamChannel implements Channel {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  /** Bytes of the body. */
  bytesRead = 0;
  listenerState: unknown = undefined;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, { remoteAddress, remotePort }: Socket) {
    this.#stream = stream;
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  get writableLength(): number {
    return this.#stream.writableLength;
  }

  readonly setTimeout = (ms: number): void => {
    if (!this.#stream.destroyed) this.#stream.setTimeout(ms);
  };

  once(event: "close", closed: () => void): void {
    this.#stream.once(event, closed);
  }

  /** Resets the stream: what waits to be sent is dropped. */
  destroy(): void {
    if (this.#stream.destroyed) return;
    this.#stream.close(CANCEL);
    this.#stream.destroy();
  }

  /** Does nothing: a stream ends with its response. */
  destroySoon(): void {}
}

export class StreamRequest implements TransportRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion = "2";
  readonly rawHeaders: readonly string[];
  readonly framing: Framing;
  readonly hasBody: boolean;
  readonly channel: StreamChannel;
  readonly mayEndEarly = true;
  readonly beganMs: number;
  /** Its last byte has come. */
  isWhole: boolean;
  readonly #stream: ServerHttp2Stream;
  #receiver: BodyReceiver | undefined;

  constructor(head: StreamHead, { stream, socket, hasBody, nowMs }: StreamFacts) {
    this.method = head.method;
    this.target = head.target;
    this.rawHeaders = head.rawHeaders;
    this.framing = head.framing;
    this.hasBody = hasBody;
    this.isWhole = !hasBody;
    this.beganMs = nowMs;
    this.channel = new StreamChannel(stream, socket);
    this.#stream = stream;
  }

  /** RFC 9110 section 10.1.1. */
  get expectation(): Expectation {
    const { expect } = this.framing;
    if (expect === undefined) return "nothing";
    return expect.toLowerCase() === "100-continue" ? "continue" : "unknown";
  }

  get isBodyPaused(): boolean {
    return this.#stream.isPaused();
  }

  receive(receiver: BodyReceiver): void {
    const isFirst = this.#receiver === undefined;
    this.#receiver = receiver;
    if (!isFirst) return;
    this.#stream.on("data", (chunk: Buffer) => {
      this.channel.bytesRead += chunk.length;
      this.#receiver?.data(chunk);
    });
    this.#stream.on("end", () => {
      // A reset ends it too.
      if (this.#stream.aborted || this.#stream.rstCode !== NO_ERROR) return;
      this.isWhole = true;
      this.#receiver?.end();
    });
  }

  /** Receives no more of the body. The window of the stream then ends what its peer may send. */
  stop(): void {
    this.#receiver = { data() {}, end() {} };
    this.#stream.pause();
  }
}

interface StreamFacts {
  readonly stream: ServerHttp2Stream;
  /** The socket below the session. */
  readonly socket: Socket;
  readonly hasBody: boolean;
  readonly nowMs: number;
}

export class StreamResponse implements TransportResponse {
  writableEnded = false;
  readonly #stream: ServerHttp2Stream;
  readonly #request: StreamRequest;
  /** The head, until it is sent. */
  #head: Record<string, string | number | string[]> | undefined;

  constructor(stream: ServerHttp2Stream, request: StreamRequest) {
    this.#stream = stream;
    this.#request = request;
  }

  get writableLength(): number {
    return this.#stream.destroyed ? 0 : this.#stream.writableLength;
  }

  writeHead(status: number, headers: string[]): void {
    const head: Record<string, string | number | string[]> = { ":status": status };
    for (let i = 0; i < headers.length; i += 2) {
      const name = (headers[i] as string).toLowerCase();
      const value = headers[i + 1] as string;
      if (CONNECTION_FIELDS.includes(name)) continue;
      const known = head[name];
      head[name] = known === undefined ? value : [known, value].flat().map(String);
    }
    this.#head = head;
  }

  flushHeaders(): void {
    this.#respond(false);
  }

  write(chunk: string | Buffer, encoding: BufferEncoding): boolean {
    this.#respond(false);
    if (!this.#hasBody || chunk.length === 0) return true;
    return this.#stream.write(chunk, encoding);
  }

  end(body: string | Buffer = "", encoding: BufferEncoding = "latin1"): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    const isSent = this.#head === undefined;
    this.#respond(body.length === 0);
    // A response without a body has ended with its head.
    if (this.#hasBody && (isSent || body.length > 0)) this.#stream.end(body, encoding);
    if (this.#request.isWhole) return;
    this.#request.stop();
    // RFC 9113 section 8.1: asks the peer not to send the rest of the body.
    const stopPeer = (): void => this.#stream.close(NO_ERROR);
    if (this.#stream.writableFinished) stopPeer();
    else this.#stream.once("finish", stopPeer);
  }

  writeContinue(): void {
    if (this.#isOpen) this.#stream.additionalHeaders({ ":status": 100 });
  }

  onClose(closed: () => void): void {
    this.#stream.once("close", closed);
  }

  get #isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  /** Bytes of a body may follow. Node ends the body of a response to HEAD before its head is sent. */
  get #hasBody(): boolean {
    return this.#isOpen && !this.#stream.writableEnded;
  }

  #respond(endStream: boolean): void {
    const head = this.#head;
    if (head === undefined) return;
    this.#head = undefined;
    if (this.#isOpen) this.#stream.respond(head, { endStream });
  }
}
