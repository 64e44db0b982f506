/** A listener over real sockets with an area of the test, and clients that send exactly the given bytes. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import type { Handler, HttpReply, HttpService, Observation } from "../../src/edge/handler.ts";
import type { Listener, ListenerOptions } from "../../src/edge/http/listener.ts";
import { type OnTunnel, type TransportName, transportNames } from "../../src/edge/http/transport.ts";
import type { TrustedProxies } from "../../src/edge/http/trusted-proxies.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import type { ListenerLimits } from "../../src/edge/limits/listener.ts";
import type { Tracer } from "../../src/edge/tracing.ts";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { createLog } from "../../src/kernel/log.ts";
import { listenForSuite } from "./cluster/suite-front.ts";
import { Http2Peer, type TextPeer } from "./http2-peer.ts";
import { localCertificates } from "./local-certificates.ts";

export const BODY_BYTES_MAX = 1_000;

export interface Bench<Client extends TextPeer = TextPeer> {
  listener: Listener;
  budget: ByteBudget;
  observations: Observation[];
  logLines: string[];
  /** Opens a connection. */
  open(): Client;
}

export interface Options {
  area?: Partial<HttpService>;
  limits?: Partial<ListenerLimits>;
  budgetBytes?: number;
  tracer?: Tracer;
  clock?: Clock;
  proxies?: TrustedProxies;
  tls?: ListenerOptions["tls"];
  onHandshakeFailed?: ListenerOptions["onHandshakeFailed"];
  /** Absent: 127.0.0.1. */
  host?: string;
  onTunnel?: OnTunnel;
  besideHttp1?: ListenerOptions["besideHttp1"];
}

export interface Case {
  readonly transport: TransportName;
  after(task: () => unknown): void;
}

export interface EachCase extends Case {
  readonly isHttp2: boolean;
}

/** A test with each implementation of HTTP/1, and with HTTP/2. */
export function testEach(name: string, run: (context: EachCase) => unknown): void {
  for (const transport of transportNames) testWith(`${name} (${transport})`, { transport, isHttp2: false }, run);
  testWith(`${name} (http2)`, { transport: "larder", isHttp2: true }, run);
}

/** A test with each implementation of HTTP/1: of bytes that HTTP/2 does not have, or of their order. */
export function testHttp1(name: string, run: (context: Case) => unknown): void {
  for (const transport of transportNames) testWith(`${name} (${transport})`, { transport, isHttp2: false }, run);
}

/** A test with HTTP/2. */
export function testHttp2(name: string, run: (context: EachCase) => unknown): void {
  testWith(name, { transport: "larder", isHttp2: true }, run);
}

function testWith(name: string, over: Omit<EachCase, "after">, run: (context: EachCase) => unknown): void {
  test(name, async (context) => {
    await run({ ...over, after: (task) => context.after(async () => void (await task())) });
  });
}

/** A listener whose peers speak HTTP/1 byte for byte. */
export async function start(context: Case, handle: Handler, options: Options = {}): Promise<Bench<Peer>> {
  const bench = await startListener(context, handle, options);
  return { ...bench, open: () => new Peer(bench.listener.port) };
}

/** A listener whose peers speak the protocol of the case. */
export async function startEach(context: EachCase, handle: Handler, options: Options = {}): Promise<Bench> {
  if (!context.isHttp2) return start(context, handle, options);
  const bench = await startListener(context, handle, options, { tls: localCertificates[0], http2: true });
  return {
    ...bench,
    open() {
      const peer = new Http2Peer(bench.listener.port);
      context.after(() => peer.destroy());
      return peer;
    },
  };
}

async function startListener(
  context: Case,
  handle: Handler,
  options: Options,
  encryption: Pick<ListenerOptions, "tls" | "http2"> = {},
): Promise<Omit<Bench, "open">> {
  const budgetBytes = options.budgetBytes ?? 1_000_000;
  const budget = new ByteBudget(budgetBytes);
  const observations: Observation[] = [];
  const logLines: string[] = [];
  const listener = await listenForSuite({
    ...{ name: "store", frontBytesMax: budgetBytes },
    area: { handle, bodyBytesMax: () => BODY_BYTES_MAX, ...options.area },
    host: options.host ?? "127.0.0.1",
    port: 0,
    tls: options.tls,
    onHandshakeFailed: options.onHandshakeFailed,
    clock: options.clock ?? systemClock,
    proxies: options.proxies,
    onTunnel: options.onTunnel,
    besideHttp1: options.besideHttp1,
    log: createLog({ level: "debug", format: "json", clock: systemClock, sink: (line) => logLines.push(line) }),
    budget,
    idPrefix: "t",
    transport: context.transport,
    observe: (observation) => observations.push(observation),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    tracer: options.tracer,
    ...encryption,
  });
  context.after(() => listener.close(0));
  return { listener, budget, observations, logLines };
}

/** A client that sends exactly the given bytes. */
export class Peer implements TextPeer {
  readonly socket: Socket;
  readonly opened: Promise<unknown>;
  received = "";
  readonly closed: Promise<void>;
  #wake = (): void => {};

  /** On a port, or on a connection of another kind. */
  constructor(to: number | Socket) {
    this.socket = typeof to === "number" ? connect({ host: "127.0.0.1", port: to }) : to;
    this.socket.setEncoding("latin1");
    this.socket.on("data", (chunk) => {
      this.received += chunk;
      this.#wake();
    });
    // A reset also closes.
    this.socket.on("error", () => {});
    this.opened = new Promise((resolve) => this.socket.once("connect", resolve));
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
  }

  send(bytes: string): this {
    this.socket.write(bytes, "latin1");
    return this;
  }

  /** Resolves with all received bytes once they match. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      assert.ok(!this.socket.closed, `closed before ${pattern}: ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.socket.once("close", () => resolve());
      });
    }
    return this.received;
  }

  async untilClosed(): Promise<string> {
    await this.closed;
    return this.received;
  }

  pause(): void {
    this.socket.pause();
  }

  discard(): void {
    this.socket.removeAllListeners("data").resume();
  }

  destroy(): void {
    this.socket.destroy();
  }
}

export function reply(body: string): HttpReply {
  return { status: 200, headers: ["Content-Type", "text/plain"], body, route: "test" };
}

/** Resolves when the listener has this number of open requests. */
export async function untilOpen(listener: Listener, count: number): Promise<void> {
  while (listener.openRequestCount !== count) await new Promise((resolve) => setImmediate(resolve));
}

export const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
export const post = (path: string, body: string, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;

/** A promise and its resolver. */
export function gate<T>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
