/**
 * What a reader of HTTP sees in a stream of bytes: the requests with their heads
 * and bodies, and how the stream ended. No network: the bytes are events of a
 * socket, and many streams are read in one turn of the event loop.
 */
import { Duplex } from "node:stream";
import { framingFailure, originForm } from "../../../src/edge/http/framing.ts";
import { nodeTransport } from "../../../src/edge/http/node-transport.ts";
import type {
  TransportHandlers,
  TransportName,
  TransportRequest,
  TransportResponse,
} from "../../../src/edge/http/transport.ts";
import { wireTransport } from "../../../src/edge/http/wire/transport.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";

const LIMITS = {
  headerBytesMax: 2_000,
  headersTimeoutMs: 1e6,
  requestTimeoutMs: 1e6,
  keepAliveTimeoutMs: 1e6,
  stalledTimeoutMs: 1e6,
};

export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  expectation: string;
  readonly rawHeaders: readonly string[];
  body: string;
}

export interface Reading {
  readonly requests: SeenRequest[];
  end: "open" | "closed" | "refused";
  /** The bytes of the packets up to the one with the last complete request, and up to the one that was refused. */
  completeBytes: number;
  refusedBytes: number;
}

/** Reads streams, each of them in packets, refuses what the listener refuses, and answers every other request. */
export async function readAll(name: TransportName, streams: readonly (readonly Buffer[])[]): Promise<Reading[]> {
  const connections = streams.map((): ReadSocket => (name === "node" ? new NodeSocket() : new WireSocket()));
  const { server } = transports[name];
  // Node makes an error of each stream that ends early, and nobody reads its stack.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  for (const [i, socket] of connections.entries()) {
    server.emit("connection", socket);
    for (const packet of streams[i] as readonly Buffer[]) {
      socket.receivedBytes += packet.length;
      socket.emit("data", packet);
    }
  }
  // The module of Node gives bodies, and ends connections, in ticks that follow.
  await nextTurn();
  for (const socket of connections) {
    if (socket.reading.end === "open" && socket.isEnded) socket.reading.end = "closed";
    socket.destroy();
  }
  Error.stackTraceLimit = stackTraceLimit;
  return connections.map(({ reading }) => reading);
}

export async function read(name: TransportName, packets: readonly Buffer[]): Promise<Reading> {
  return (await readAll(name, [packets]))[0] as Reading;
}

export function isSame(one: Reading, other: Reading): boolean {
  return one.end === other.end && areSameRequests(one.requests, other.requests);
}

export function areSameRequests(some: readonly SeenRequest[], others: readonly SeenRequest[]): boolean {
  return some.length === others.length && some.every((each, i) => isSameRequest(each, others[i] as SeenRequest));
}

function isSameRequest(one: SeenRequest, other: SeenRequest): boolean {
  return (
    one.method === other.method &&
    one.target === other.target &&
    one.httpVersion === other.httpVersion &&
    one.expectation === other.expectation &&
    one.body === other.body &&
    one.rawHeaders.length === other.rawHeaders.length &&
    one.rawHeaders.every((text, i) => text === other.rawHeaders[i])
  );
}

interface ReadSocket {
  readonly reading: Reading;
  receivedBytes: number;
  readonly isEnded: boolean;
  destroy(): unknown;
  emit(event: "data", packet: Buffer): boolean;
}

const handlers: TransportHandlers = {
  request(request, response, expectation) {
    const socket = socketOf(request.channel);
    const { reading } = socket;
    if (reading.end === "refused") return;
    const isReadable = framingFailure(request.framing, request.httpVersion) === undefined;
    if (!isReadable || originForm(request.target) === undefined) {
      refuse(request.channel);
      return;
    }
    const seen = seenRequest(request, expectation);
    reading.requests.push(seen);
    if (expectation === "continue") response.writeContinue();
    const end = (): void => {
      reading.completeBytes = socket.receivedBytes;
      answer(response);
    };
    const data = (chunk: Buffer): void => {
      seen.body += chunk.latin1Slice();
    };
    if (request.hasBody) request.receive({ data, end });
    else end();
  },
  refused() {},
  lateBody() {},
  tunnel: refuse,
  silent() {},
  fault: refuse,
};

function socketOf(socket: unknown): ReadSocket {
  if (socket instanceof NodeSocket || socket instanceof WireSocket) return socket;
  throw new TypeError("a socket of another test");
}

function refuse(socket: unknown): void {
  const { reading, receivedBytes } = socketOf(socket);
  reading.end = "refused";
  reading.refusedBytes = receivedBytes;
  socketOf(socket).destroy();
}

function answer(response: TransportResponse): void {
  response.writeHead(200, ["Content-Length", "0"]);
  response.end();
}

function seenRequest(request: TransportRequest, expectation: string): SeenRequest {
  const { method, target, httpVersion, rawHeaders } = request;
  return { method, target, httpVersion, expectation, rawHeaders, body: "" };
}

function emptyReading(): Reading {
  return { requests: [], end: "open", completeBytes: 0, refusedBytes: 0 };
}

/** A stream, since `node:http` uses all of one. */
class NodeSocket extends Duplex implements ReadSocket {
  readonly timeout = 0;
  readonly reading = emptyReading();
  receivedBytes = 0;

  get isEnded(): boolean {
    return this.destroyed;
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}

/** As much of a socket as our reader uses. Every write is taken at once. */
class WireSocket implements ReadSocket {
  readonly timeout = 0;
  readonly writableCorked = 0;
  readonly writableLength = 0;
  readonly writableHighWaterMark = 65_536;
  readonly reading = emptyReading();
  receivedBytes = 0;
  isEnded = false;
  readonly #dataListeners: ((packet: Buffer) => void)[] = [];
  readonly #closeListeners: (() => void)[] = [];

  /** The other events never come. */
  on(event: string, listener: (packet?: Buffer) => void): this {
    if (event === "data") this.#dataListeners.push(listener);
    if (event === "close") this.#closeListeners.push(listener);
    return this;
  }

  once(event: string, listener: () => void): this {
    return this.on(event, listener);
  }

  emit(_event: "data", packet: Buffer): boolean {
    for (const listener of this.#dataListeners) listener(packet);
    return true;
  }

  write(_chunk: unknown, _encoding: unknown, taken?: () => void): boolean {
    if (taken !== undefined) process.nextTick(taken);
    return true;
  }

  cork(): void {}

  uncork(): void {}

  isPaused(): boolean {
    return false;
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    process.nextTick(() => {
      for (const listener of this.#closeListeners) listener();
    });
  }
}

const options = { limits: LIMITS, tls: undefined, clock: new VirtualClock() };
const transports = { node: nodeTransport(handlers, options), larder: wireTransport(handlers, options) };
