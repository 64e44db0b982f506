/**
 * A connection that speaks HTTP/1: from its bytes to requests, and from responses
 * to its bytes.
 *
 * (1) Requests are read one after the other. After one that is malformed, the last
 *     of its connection, or asks for a tunnel, nothing is read.
 * (2) Responses leave in the order of their requests. The first one that has not
 *     ended writes to the socket; the outputs of the others wait.
 * (3) While many bytes wait for the peer, the socket is not read.
 * (4) No buffer of the socket is reused, so a receiver may keep parts of a packet.
 *     What is kept here of an incomplete head is a copy.
 */
import type { Socket } from "node:net";
import type { HeadMemo } from "../../handler.ts";
import { hasBody } from "../framing.ts";
import type { BodyReceiver, Expectation, TransportHandlers, TransportLimits, TransportRequest } from "../transport.ts";
import { ChunkedBody } from "./chunked-body.ts";
import { type Head, HeadReader } from "./head.ts";
import type { HeadEnds } from "./head-ends.ts";
import { lengthOf, type Output, WireResponse } from "./response.ts";

/** What the next byte belongs to. */
type Phase =
  /** The head of a request, or the time between two requests. */
  | "head"
  | "body"
  | "chunked body"
  /** A body whose end we cannot know: the request is refused, and the handler counts the bytes. */
  | "endless body"
  /** Nothing that is read. */
  | "nothing";

/** What the connections of a server share. */
export interface Shared {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  readonly headEnds: HeadEnds;
  readonly takenResponses: TakenResponses;
  /** Moves forward with each check of the timeouts. */
  nowMs: number;
}

const NO_BYTES = Buffer.alloc(0);
/** A buffer for the beginnings of heads is kept up to this size. */
const KEPT_BYTES_MAX = 4_096;

class WireRequest implements TransportRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly framing: Head["framing"];
  readonly memo: HeadMemo | undefined;
  readonly hasBody: boolean;
  readonly channel: Socket;
  readonly mayEndEarly = false;
  receiver: BodyReceiver | undefined = undefined;
  readonly #head: Head;

  constructor(head: Head, socket: Socket) {
    const { method, target, httpVersion, framing, memo } = head;
    this.#head = head;
    this.method = method;
    this.target = target;
    this.httpVersion = httpVersion;
    this.framing = framing;
    this.memo = memo;
    this.hasBody = hasBody(framing);
    this.channel = socket;
  }

  get rawHeaders(): readonly string[] {
    return this.#head.rawHeaders;
  }

  get isBodyPaused(): boolean {
    return this.channel.isPaused();
  }

  receive(receiver: BodyReceiver): void {
    this.receiver = receiver;
  }
}

/** Responses whose last bytes the system has taken within the call that wrote them. One tick closes those of a turn. */
export class TakenResponses {
  #waiting: WireResponse[] = [];

  add(response: WireResponse): void {
    if (this.#waiting.push(response) === 1) process.nextTick(this.#closeAll);
  }

  readonly #closeAll = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const response of waiting) response.close();
  };
}

export class WireConnection {
  readonly #socket: Socket;
  readonly #shared: Shared;
  readonly #reader: HeadReader;
  #phase: Phase = "head";
  /** The beginning of a head whose rest has not come, in a buffer that may be larger. */
  #partial = NO_BYTES;
  #partialBytes = 0;
  /** The request whose body is being read, and its response. */
  #request: WireRequest | undefined;
  #response: WireResponse | undefined;
  /** Bytes of its body that have not come. */
  #left = 0;
  #chunked: ChunkedBody | undefined;
  /** Responses that have not ended, or wait for one that has not, in the order of their requests. keeps (2) */
  readonly #responses: WireResponse[] = [];
  /** Ended responses whose last bytes the system has not taken, in order. */
  readonly #untaken: WireResponse[] = [];
  /** Bytes that wait for earlier responses. */
  #waitingBytes = 0;
  /** When the connection opened, its last request began, or its last response ended. */
  #sinceMs: number;
  #hadRequest = false;
  #isReportedLate = false;
  readonly #isEncrypted: boolean;

  constructor(socket: Socket, shared: Shared) {
    this.#socket = socket;
    this.#shared = shared;
    this.#isEncrypted = "encrypted" in socket;
    this.#reader = new HeadReader(shared.limits.headerBytesMax);
    this.#sinceMs = shared.nowMs;
    socket.on("data", (bytes: Buffer) => this.#data(bytes));
    socket.on("drain", () => this.#resumeIfRoom());
    socket.on("timeout", () => shared.handlers.silent(socket));
    // The socket closes itself then.
    socket.on("error", () => {});
    socket.on("close", () => this.#close());
  }

  /** Looks for a request that is late, and for a connection that is idle. */
  check(): void {
    const { handlers, limits, nowMs } = this.#shared;
    const waitedMs = nowMs - this.#sinceMs;
    if (this.#phase === "nothing" || this.#isReportedLate) return;
    const isInHead = this.#phase === "head" && (this.#partialBytes > 0 || !this.#hadRequest);
    if (isInHead || this.#phase !== "head") {
      if (waitedMs <= (isInHead ? limits.headersTimeoutMs : limits.requestTimeoutMs)) return;
      this.#isReportedLate = true;
      handlers.fault(this.#socket, "late");
    } else if (this.#isIdle && waitedMs > limits.keepAliveTimeoutMs) handlers.silent(this.#socket);
  }

  get #isIdle(): boolean {
    return this.#responses.length === 0 && this.#untaken.length === 0;
  }

  #data(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && this.#phase !== "nothing") at = this.#read(bytes, at);
    if (this.#socket.writableCorked > 0) this.#socket.uncork();
  }

  /** Reads bytes from `at` on, at least one. Returns the position after them. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#phase) {
      case "head":
        return this.#partialBytes === 0 ? this.#readHead(bytes, at) : this.#readRestOfHead(bytes, at);
      case "body": {
        const to = Math.min(bytes.length, at + this.#left);
        this.#left -= to - at;
        this.#request?.receiver?.data(bytes.subarray(at, to));
        if (this.#left === 0) this.#endBody();
        return to;
      }
      case "chunked body": {
        const end = (this.#chunked as ChunkedBody).read(bytes, at, () => this.#request?.receiver);
        if (typeof end === "number") this.#endBody();
        else if (end === "malformed") this.#fault("malformed");
        return typeof end === "number" ? end : bytes.length;
      }
      default:
        this.#request?.receiver?.data(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    this.#sinceMs = this.#shared.nowMs;
    this.#isReportedLate = false;
    const head = this.#reader.read(bytes, at);
    if (head === undefined) {
      this.#keep(bytes, at);
      return bytes.length;
    }
    if (typeof head === "string") this.#fault(head);
    else this.#begin(head, bytes.length - this.#reader.end);
    return this.#reader.end;
  }

  #readRestOfHead(bytes: Buffer, at: number): number {
    const knownBytes = this.#partialBytes;
    this.#keep(bytes, at);
    const head = this.#reader.read(this.#partial.subarray(0, this.#partialBytes), 0);
    if (head === undefined) return bytes.length;
    this.#partialBytes = 0;
    if (this.#partial.length > KEPT_BYTES_MAX) this.#partial = NO_BYTES;
    const end = at + this.#reader.end - knownBytes;
    if (typeof head === "string") this.#fault(head);
    else this.#begin(head, bytes.length - end);
    return end;
  }

  /** Copies the bytes from `at` on behind the partial head. The buffer doubles, so a head costs at most twice its bytes. */
  #keep(bytes: Buffer, at: number): void {
    const length = this.#partialBytes + bytes.length - at;
    if (length > this.#partial.length) {
      const grown = Buffer.allocUnsafeSlow(2 * length);
      this.#partial.copy(grown, 0, 0, this.#partialBytes);
      this.#partial = grown;
    }
    bytes.copy(this.#partial, this.#partialBytes, at);
    this.#partialBytes = length;
  }

  /** keeps (1) */
  #fault(fault: "malformed" | "head too large"): void {
    this.#phase = "nothing";
    this.#shared.handlers.fault(this.#socket, fault);
  }

  /** A head is complete, with so many bytes of the packet behind it. */
  #begin(head: Head, bytesBehind: number): void {
    const { handlers } = this.#shared;
    this.#hadRequest = true;
    if (head.method === "CONNECT") {
      this.#phase = "nothing";
      if (this.#responses.length === 0) handlers.tunnel(this.#socket, bytesBehind > 0 ? undefined : head);
      else this.#socket.destroy();
      return;
    }
    const request = new WireRequest(head, this.#socket);
    const response = new WireResponse(this, head);
    this.#responses.push(response);
    this.#phase = this.#phaseAfter(head);
    // One write for all responses to the requests of this packet.
    if (bytesBehind > this.#left && this.#phase !== "endless body" && this.#socket.writableCorked === 0)
      this.#socket.cork();
    if (this.#phase === "head") this.#phase = response.isLast ? "nothing" : "head";
    else {
      this.#request = request;
      this.#response = response;
    }
    handlers.request(request, response, expectationOf(head));
    if (this.#hasManyBytes) this.#socket.pause(); // keeps (3)
  }

  /** The phase after a head; prepares to read the body. */
  #phaseAfter({ framing: { contentLength = 0, transferEncoding } }: Head): Phase {
    this.#left = contentLength;
    if (transferEncoding === undefined) return contentLength > 0 ? "body" : "head";
    if (transferEncoding.toLowerCase() !== "chunked") return "endless body";
    this.#chunked = new ChunkedBody(this.#shared.limits.headerBytesMax);
    return "chunked body";
  }

  #endBody(): void {
    const request = this.#request;
    // A receiver may have refused the request meanwhile.
    if (this.#phase !== "nothing") this.#phase = this.#response?.isLast === true ? "nothing" : "head";
    this.#request = undefined;
    this.#response = undefined;
    this.#chunked = undefined;
    request?.receiver?.end();
  }

  /** Bytes that the system has not taken. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Sends a part of a response, or lets it wait. False if the peer reads more slowly than we write. */
  output(response: WireResponse, output: Output): boolean {
    if (this.#responses[0] === response) return this.#write(output);
    this.#wait(response, output);
    return !this.#hasManyBytes;
  }

  /** Sends the last part of a response. */
  finish(response: WireResponse, output: Output): void {
    if (this.#responses[0] !== response) {
      this.#wait(response, output);
      return;
    }
    this.#writeLast(response, output);
    for (let next = this.#responses[0]; next !== undefined; next = this.#responses[0]) {
      const last = next.writableEnded ? next.waiting.pop() : undefined;
      for (const output of next.waiting) this.#write(output);
      this.#waitingBytes -= next.waitingBytes;
      next.waiting.length = 0;
      next.waitingBytes = 0;
      if (last === undefined) break;
      this.#writeLast(next, last);
    }
    this.#resumeIfRoom();
  }

  #wait(response: WireResponse, output: Output): void {
    // The connection has closed.
    if (response.isClosed) return;
    response.waiting.push(output);
    response.waitingBytes += lengthOf(output);
    this.#waitingBytes += lengthOf(output);
  }

  /** Writes an output, in one call to the system if it takes all of it. */
  #write({ head, chunk, encoding }: Output, taken?: () => void): boolean {
    const socket = this.#socket;
    if (head === undefined) return socket.write(chunk, encoding, taken);
    socket.cork();
    socket.write(head, "latin1");
    const mayContinue = socket.write(chunk, encoding, taken);
    socket.uncork();
    return mayContinue;
  }

  #writeLast(response: WireResponse, output: Output): void {
    const socket = this.#socket;
    this.#responses.shift();
    // Mostly the system takes all bytes within the call. A callback would then cost a tick for each response.
    const mayTakeAtOnce = !this.#isEncrypted && socket.writableLength === 0 && socket.writableCorked === 0;
    if (mayTakeAtOnce) this.#write(output);
    if (mayTakeAtOnce && socket.writableLength === 0) {
      this.#checkIdle();
      this.#shared.takenResponses.add(response);
    } else {
      this.#untaken.push(response);
      // An empty output is taken after the bytes before it.
      if (mayTakeAtOnce) socket.write("", "latin1", this.#taken);
      else this.#write(output, this.#taken);
    }
    if (!response.isLast) return;
    this.#phase = "nothing";
    socket.uncork();
    socket.destroySoon();
  }

  /** The system has taken the last bytes of the oldest ended response. */
  readonly #taken = (): void => {
    const response = this.#untaken.shift();
    this.#checkIdle();
    response?.close();
  };

  /** After the last bytes of a response. */
  #checkIdle(): void {
    if (!this.#isIdle) return;
    const { timeout } = this.#socket;
    this.#sinceMs = this.#shared.nowMs;
    // It was set while the peer did not read.
    if (timeout !== undefined && timeout > 0) this.#socket.setTimeout(0);
  }

  /** Date and Connection of a response, and the empty line after its head. */
  headEnd(isLast: boolean): string {
    const { headEnds } = this.#shared;
    return isLast ? headEnds.closing : headEnds.keeping;
  }

  get #hasManyBytes(): boolean {
    return this.#waitingBytes + this.#socket.writableLength > this.#socket.writableHighWaterMark;
  }

  #resumeIfRoom(): void {
    if (this.#socket.isPaused() && !this.#hasManyBytes) this.#socket.resume();
  }

  #close(): void {
    this.#phase = "nothing";
    this.#request = undefined;
    const responses = [...this.#untaken.splice(0), ...this.#responses.splice(0)];
    for (const response of responses) response.close();
  }
}

/** RFC 9110 section 10.1.1. HTTP/1.0 has no expectations. */
function expectationOf({ framing: { expect }, httpVersion }: Head): Expectation {
  if (expect === undefined || httpVersion === "1.0") return "nothing";
  return expect.toLowerCase() === "100-continue" ? "continue" : "unknown";
}
