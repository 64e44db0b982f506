/** How a response reaches the system, and when it closes: its last bytes are taken, or its connection has closed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { nextTurn } from "../../../kernel/turn.ts";
import type { TransportHandlers, TransportRequest, TransportResponse } from "../transport.ts";
import { wireTransport } from "./transport.ts";

const LIMITS = {
  headerBytesMax: 2_000,
  headersTimeoutMs: 1e6,
  requestTimeoutMs: 1e6,
  keepAliveTimeoutMs: 1e6,
  stalledTimeoutMs: 1e6,
};
const REQUEST = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/** More than the buffers of the system take from a client that does not read. */
const LONG = Buffer.alloc(32 * 1024 * 1024, "v");

/** A server whose responses report here, in order, when they end and when they close. */
class Server implements AsyncDisposable {
  readonly events: string[] = [];
  readonly #answer: (response: TransportResponse, count: number) => void;
  #count = 0;
  #closed: { readonly count: number; readonly done: () => void } | undefined;
  readonly #transport = wireTransport(this.#handlers(), { limits: LIMITS, tls: undefined, clock: new VirtualClock() });

  constructor(answer: (response: TransportResponse, count: number) => void) {
    this.#answer = answer;
  }

  /** A connected client, which reads nothing yet. */
  async connect(): Promise<Socket> {
    const { server } = this.#transport;
    if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => {});
    await once(client, "connect");
    return client;
  }

  /** Opens a connection over a socket that is not one of the system. */
  open(socket: Duplex): void {
    this.#transport.server.emit("connection", socket);
  }

  /** Resolves when so many responses have closed. */
  closed(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#closed = { count, done: resolve };
      this.#check();
    });
  }

  #check(): void {
    if (this.#closed === undefined) return;
    const closedCount = this.events.filter((event) => event.startsWith("closed")).length;
    if (closedCount >= this.#closed.count) this.#closed.done();
  }

  #handlers(): TransportHandlers {
    const fail = (): never => assert.fail("the client sends whole requests");
    return {
      request: (_request: TransportRequest, response: TransportResponse) => {
        this.#count += 1;
        const number = this.#count;
        response.onClose(() => {
          this.events.push(`closed ${number}`);
          this.#check();
        });
        this.#answer(response, number);
        this.events.push(`ended ${number}`);
      },
      refused: fail,
      lateBody: fail,
      tunnel: fail,
      silent: fail,
      fault: fail,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport.server.close();
  }
}

function answerWith(body: Buffer): (response: TransportResponse) => void {
  return (response) => {
    response.writeHead(200, ["Content-Length", String(body.length)]);
    response.end(body, "latin1");
  };
}

test("a short response closes after the call that ended it, once", async () => {
  await using server = new Server(answerWith(Buffer.from("v")));
  const client = await server.connect();
  client.write(REQUEST);
  await server.closed(1);
  client.write(REQUEST);
  await server.closed(2);
  assert.deepEqual(server.events, ["ended 1", "closed 1", "ended 2", "closed 2"]);
  client.destroy();
});

test("the responses to several requests of a packet close, each once", async () => {
  await using server = new Server(answerWith(Buffer.from("v")));
  const client = await server.connect();
  client.write(REQUEST.repeat(3));
  await server.closed(3);
  await nextTurn();
  assert.deepEqual(server.events.filter((event) => event.startsWith("closed")).toSorted(), [
    "closed 1",
    "closed 2",
    "closed 3",
  ]);
  client.destroy();
});

test("a long response closes when the client has read it, and the next one after it", async () => {
  await using server = new Server((response, count) => answerWith(count === 1 ? LONG : Buffer.from("v"))(response));
  const client = await server.connect();
  client.pause();
  client.write(REQUEST);
  while (server.events.length === 0) await nextTurn();
  await nextTurn();
  assert.deepEqual(server.events, ["ended 1"]);
  client.resume();
  await server.closed(1);
  client.write(REQUEST);
  await server.closed(2);
  assert.deepEqual(server.events, ["ended 1", "closed 1", "ended 2", "closed 2"]);
  client.destroy();
});

test("a long response that nobody reads closes with its connection, once", async () => {
  await using server = new Server(answerWith(LONG));
  const client = await server.connect();
  client.pause();
  client.write(REQUEST);
  while (server.events.length === 0) await nextTurn();
  client.resetAndDestroy();
  await server.closed(1);
  await nextTurn();
  assert.deepEqual(server.events, ["ended 1", "closed 1"]);
});

/** A socket that takes all bytes within the call, as the system mostly does. */
class TakingSocket extends Duplex {
  readonly timeout = 0;
  /** The number of chunks of each call. */
  readonly calls: number[] = [];
  written = "";

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: unknown, done: () => void): void {
    this._writev([{ chunk }], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.calls.push(chunks.length);
    for (const { chunk } of chunks) this.written += chunk.latin1Slice();
    done();
  }
}

test("a head and a body of bytes leave in one call to the system", async () => {
  await using server = new Server(answerWith(Buffer.from("v\xff", "latin1")));
  const socket = new TakingSocket();
  server.open(socket);
  socket.push(REQUEST);
  await server.closed(1);
  assert.deepEqual(socket.calls, [2]);
  assert.match(socket.written, /^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\n.+\r\n\r\nv\xff$/s);
  socket.destroy();
});

test("heads and bodies of bytes of several requests of a packet leave in one call, in order", async () => {
  await using server = new Server((response, count) => answerWith(Buffer.from(`body ${count}`))(response));
  const socket = new TakingSocket();
  server.open(socket);
  socket.push(REQUEST.repeat(2));
  await server.closed(2);
  assert.deepEqual(socket.calls, [4]);
  assert.match(socket.written, /^HTTP.+\r\n\r\nbody 1HTTP.+\r\n\r\nbody 2$/s);
  socket.destroy();
});
