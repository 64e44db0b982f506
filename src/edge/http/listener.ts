/**
 * An HTTP listener over implementations of HTTP (`transport.ts`). A connection is
 * one of HTTP/1 below, or one stream of HTTP/2.
 *
 * (1) A refused body is never stored: its announced length and then its received
 *     bytes are checked against the limit of its route and the budget of all
 *     bodies together (threats A-13).
 * (2) A refusal reaches a client that is still sending: the reply is sent at
 *     once, further bytes are dropped for a while, and then the socket is
 *     destroyed. The connection is not used again.
 * (3) The requests of a connection are handled in the order they came, and their
 *     complete replies leave in that order. While a request is unanswered, no
 *     other reply is written; a malformed request after it just ends the
 *     connection. Requests after a refused one are not handled. Requests of
 *     several tenants on one connection have no order among them.
 * (4) Once a drain has begun, every reply closes its connection.
 * (5) A drain waits only for complete requests: half a body is answered with 503,
 *     half a head or a handshake ends its connection.
 * (6) Unsent bytes count for the connection, for its tenant and in the budget of
 *     the thread. A request counts as answered when the system has taken its reply.
 *     A connection with too many unsent bytes delays its next requests, and so
 *     does a request that waits for its turn, since the size of its reply is
 *     unknown. A tenant with too many has its requests refused before they are
 *     handled. Others continue.
 *
 * The cost of a request was measured (bench/edge.bench.ts): a reply that is ready
 * at once is sent in the same call, without a promise, with one flat array of
 * headers and one write.
 */
import type { Socket } from "node:net";
import { AssertionFailure } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { readTraceContext, TRACE_PARENT, TRACE_STATE, type TraceContext } from "../../kernel/trace-context.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Tenant } from "../../kernel/turns.ts";
import {
  bodyTooSlow,
  busy,
  expectationFailed,
  headersTimedOut,
  headersTooLarge,
  internalFailure,
  malformedHttp,
  RequestFailure,
  requestTooLarge,
  tunnelRefused,
} from "../errors.ts";
import type { Handler, HeadMemo, HttpReply, HttpRequest, HttpService, HttpStream, Observe } from "../handler.ts";
import type { ByteBudget, Owner } from "../limits/byte-budget.ts";
import { byteMs } from "../limits/byte-cost.ts";
import { ConnectionGate, type ConnectionRefusal } from "../limits/connection-gate.ts";
import { BUDGETED_REPLY_BYTES_MIN, HeldBytes } from "../limits/held-bytes.ts";
import { defaultLimits, type ListenerLimits } from "../limits/listener.ts";
import { failureReport, type OnRefusal, REFUSAL_STATUS_MIN, REFUSED_ROUTE } from "../refusal.ts";
import { bodyBytes, encodingOf, refusalOf } from "../respond.ts";
import type { RequestEnd, Span, Tracer } from "../tracing.ts";
import { BodyBuffer } from "./bodies/body-buffer.ts";
import { type PacedBody, paceBodies } from "./bodies/body-pace.ts";
import { chooseTransport, type NewTransport, type TransportChoice } from "./choose-transport.ts";
import { type ConnectionState, ConnectionStates } from "./connection-state.ts";
import { framingFailure, headerOf, originForm } from "./framing.ts";
import { OpenConnections, type PlacedRequest } from "./open-connections.ts";
import { beginTunnel, endWithAnswer, startListening } from "./socket-server.ts";
import type {
  CertificatePair,
  Channel,
  ConnectionFault,
  Expectation,
  OnTunnel,
  StreamFault,
  TlsIdentity,
  Transport,
  TransportRequest,
  TransportResponse,
  TunnelHead,
} from "./transport.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

/** Request bodies and unsent bytes of all connections in one thread: room for the largest reply, and the reserve. */
export const IN_FLIGHT_BYTES_MAX = 320 * 1024 * 1024;

export interface ListenerOptions extends TransportChoice {
  readonly area: HttpService;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Shared by the listeners of a thread. */
  readonly budget: ByteBudget;
  /** Prefix of request ids, so that those of two listeners or two runs differ. */
  readonly idPrefix: string;
  /** Absent: connections are not encrypted. */
  readonly tls?: TlsIdentity | undefined;
  /** A peer has not completed its TLS handshake: it gets no other answer. */
  readonly onHandshakeFailed?: ((remoteAddress: string) => void) | undefined;
  readonly observe?: Observe;
  readonly onRefusal?: OnRefusal | undefined;
  /** Absent: refused connections are only logged. */
  readonly onConnectionRefused?: (reason: ConnectionRefusal) => void;
  /** Takes the connection of a CONNECT request, or refuses it. Absent: all are refused. */
  readonly onTunnel?: OnTunnel | undefined;
  /** Absent: the peer of a connection is its caller. */
  readonly proxies?: TrustedProxies | undefined;
  /** Absent: requests have no spans. */
  readonly tracer?: Tracer | undefined;
  readonly limits?: Partial<ListenerLimits>;
}

export interface Listener {
  readonly host: string;
  /** The real port, even if the options ask for any free port. */
  readonly port: number;
  readonly openRequestCount: number;
  /** New connections use this certificate. Throws if the pair is not valid. */
  renewCertificate(pair: CertificatePair): void;
  /**
   * Stops accepting, ends streams, lets complete requests finish and resolves when every connection is closed. Destroys
   * connections that are open after `graceMs`.
   */
  close(graceMs: number): Promise<void>;
}

/** Bodies above this size, and those of unknown length, are read only if the area accepts the head. */
const UNCHECKED_BODY_BYTES_MAX = 64 * 1024;
/** CPU time of a request outside the measured time, except that of its bytes: reading and parsing its head. */
const REQUEST_MS = 0.01;

const FORWARDED_FOR = "x-forwarded-for";

/** Starts to listen. Rejects with the system's error if the address cannot be used. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const listener = new HttpListener(options, await chooseTransport(options));
  await listener.start();
  return listener;
}

type Connection = ConnectionState<Exchange>;

class HttpListener implements Listener {
  readonly options: ListenerOptions;
  readonly limits: ListenerLimits;
  readonly connections = new ConnectionStates<Exchange>();
  /** Functions that end the open streams. */
  readonly streamEnders = new Set<() => void>();
  isDraining = false;
  openRequestCount = 0;
  readonly #transport: Transport;
  readonly #open = new OpenConnections<Exchange>((channel) => this.connections.find(channel));
  readonly proxies: TrustedProxies;
  readonly #gate: ConnectionGate;
  #stopPacing: () => void = () => {};
  #port = 0;
  #requestCount = 0;

  constructor(options: ListenerOptions, newTransport: NewTransport) {
    this.options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    const { limits } = this;
    const { tls, clock, log } = options;
    this.proxies = options.proxies ?? new TrustedProxies();
    this.#gate = new ConnectionGate({
      clock,
      log,
      proxies: this.proxies,
      perAddressMax: limits.connectionsPerAddressMax,
      descriptorsMax: limits.descriptorsMax,
      onRefused: options.onConnectionRefused,
    });
    const handlers = {
      request: (request: TransportRequest, response: TransportResponse, expectation: Expectation) =>
        this.#begin(request, response, expectation),
      refused: (request: TransportRequest, response: TransportResponse, fault: StreamFault) =>
        this.#refuse(request, response, fault),
      lateBody: (channel: Channel) => this.#requestIsLate(channel, () => this.#refuseHalf(channel)),
      tunnel: (socket: Socket, head: TunnelHead | undefined) => this.#tunnel(socket, head),
      silent: (channel: Channel) => this.#channelIsLate(channel),
      fault: (socket: Socket, fault: ConnectionFault) => this.#fault(socket, fault),
    };
    this.#transport = newTransport(handlers, { limits, tls, clock: clock.real });
    const { server } = this.#transport;
    server.maxConnections = limits.connectionsMax;
    this.#open.follow(server, {
      isEncrypted: tls !== undefined,
      channelOf: (socket) => this.#transport.channelOf?.(socket) ?? socket,
      admits: (socket) => this.#gate.refusalOf(socket) === undefined,
    });
    server.on("drop", (drop) => this.#gate.refused("port", drop?.remoteAddress));
    // Before the transport destroys the socket, which then has no address.
    server.prependListener("tlsClientError", (_fault: Error, socket: Socket) =>
      options.onHandshakeFailed?.(socket.remoteAddress ?? ""),
    );
  }

  #begin(request: TransportRequest, response: TransportResponse, expectation: Expectation): void {
    const exchange = this.#exchange(request, response, expectation !== "nothing");
    if (expectation === "unknown") exchange.refuse(this.worded(expectationFailed, exchange.target));
    else exchange.begin();
  }

  #exchange(request: TransportRequest, response: TransportResponse, isAsking: boolean): Exchange {
    this.#requestCount += 1;
    if (request.mayEndEarly && request.hasCome !== true) this.#open.add(request.channel);
    return new Exchange({ listener: this, request, response, number: this.#requestCount, isAsking });
  }

  #refuse(request: TransportRequest, response: TransportResponse, fault: StreamFault): void {
    const exchange = this.#exchange(request, response, false);
    exchange.refuse(this.worded(this.#failureOf(fault), exchange.target));
  }

  #failureOf(fault: StreamFault): RequestFailure {
    if (fault === "tunnel") return tunnelRefused;
    return fault === "malformed" ? malformedHttp : headersTooLarge(this.limits.headerBytesMax);
  }

  get host(): string {
    return this.options.host;
  }

  get port(): number {
    return this.#port;
  }

  renewCertificate(pair: CertificatePair): void {
    this.#transport.renewCertificate(pair);
  }

  async start(): Promise<void> {
    this.#port = await startListening(this.#transport.server, this.options);
    this.#paceBodies();
  }

  close(graceMs: number): Promise<void> {
    this.isDraining = true;
    this.#stopPacing();
    for (const end of this.streamEnders) end();
    const { clock } = this.options;
    return new Promise((resolve) => {
      const cancel = clock.after(graceMs, () => this.#open.destroyAll());
      this.#transport.server.close(() => {
        cancel();
        cancelDrain();
        resolve();
      });
      const cancelDrain = this.#open.drain(clock); // keeps (5)
    });
  }

  #paceBodies(): void {
    const { bodyBytesPerSecondMin, bodyGraceMs } = this.limits;
    if (bodyBytesPerSecondMin === undefined) return;
    this.#stopPacing = paceBodies({
      clock: this.options.clock,
      bytesPerSecondMin: bodyBytesPerSecondMin,
      graceMs: bodyGraceMs,
      bodies: () => this.#open.halfRequests(),
    });
  }

  connectionOf(channel: Channel): Connection {
    return this.connections.of(channel);
  }

  /** The reply to a failure outside the area, in the form that the area's clients expect. */
  worded(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.options.area, failure, target);
  }

  #fault(socket: Socket, fault: ConnectionFault): void {
    const connection = this.connectionOf(socket);
    if (connection.isBroken) return;
    const answer = (failure: RequestFailure): void => {
      // keeps (3)
      if (!socket.writable || connection.unansweredCount > 0) socket.destroy();
      else this.#answerRaw(socket, failure);
    };
    if (fault === "late") this.#requestIsLate(socket, () => answer(headersTimedOut));
    else if (fault === "reset") socket.destroy();
    else answer(this.#failureOf(fault));
  }

  /** Refuses the late request of a stream. */
  #refuseHalf(channel: Channel): void {
    const half = this.connectionOf(channel).waiting.at(-1);
    if (half !== undefined && !half.isWhole) half.refuse(this.worded(headersTimedOut, half.target));
  }

  /**
   * A request was not complete in time, as far as we have read. Timers run before the poll, so bytes that came while
   * the thread was busy may be unread: they are read first. If more bytes came, the rest gets the same time again.
   */
  #requestIsLate(channel: Channel, answer: () => void): void {
    const connection = this.connectionOf(channel);
    const { bytesRead } = channel;
    const { wholeCount } = connection;
    const end = (): void => {
      if (!connection.isBroken && connection.wholeCount === wholeCount) answer();
    };
    void nextTurn().then(() => {
      if (channel.bytesRead === bytesRead) {
        end();
        return;
      }
      const cancel = this.options.clock.after(this.limits.headersTimeoutMs, end);
      channel.once("close", cancel);
    });
  }

  /** A connection was idle for too long, or its peer does not read. Reads unread bytes first, as above. */
  #channelIsLate(channel: Channel): void {
    const { bytesRead, writableLength } = channel;
    void nextTurn().then(() => {
      // Otherwise its timeout has started again.
      if (channel.bytesRead === bytesRead && channel.writableLength === writableLength) channel.destroy();
    });
  }

  /** Answers on a connection without a readable request, and ends it. keeps (2) */
  #answerRaw(socket: Socket, failure: RequestFailure): void {
    const connection = this.connectionOf(socket);
    connection.isBroken = true;
    // The target is unknown.
    const reply = this.worded(failure, "");
    const { status, body } = reply;
    endWithAnswer(socket, reply, { clock: this.options.clock, dropMs: this.limits.refusedMs });
    this.options.observe?.({ route: REFUSED_ROUTE, status, durationMs: 0, bytesIn: 0, bytesOut: body.length });
    this.options.onRefusal?.({ head: undefined, status, reply: { body } });
  }

  #tunnel(socket: Socket, head: TunnelHead | undefined): void {
    const taker = head && !this.isDraining ? this.options.onTunnel?.(head, socket) : undefined;
    if (taker === undefined || taker instanceof RequestFailure) {
      this.#answerRaw(socket, taker ?? tunnelRefused);
      return;
    }
    this.#open.tunnel(socket);
    beginTunnel(socket);
    taker(socket);
  }
}

const NO_BODY = Buffer.alloc(0);

interface ExchangeOptions {
  readonly listener: HttpListener;
  readonly request: TransportRequest;
  readonly response: TransportResponse;
  readonly number: number;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly isAsking: boolean;
}

/**
 * One request and its reply.
 *
 *     begin -> (reading body ->) handling -> (held for the journal ->) sending -> answered
 *           -> refused, the rest of the body is dropped
 */
class Exchange implements HttpRequest, PacedBody, PlacedRequest {
  readonly method: string;
  readonly target: string;
  body: Buffer = NO_BODY;
  payer: Tenant | undefined = undefined;
  waitedMs = 0;
  readonly #listener: HttpListener;
  readonly #request: TransportRequest;
  readonly #response: TransportResponse;
  readonly #number: number;
  readonly #connection: Connection;
  #isAsking: boolean;
  #isBodyRead = false;
  #isClosed = false;
  /** It was handled, and the system has not taken all of its reply. */
  #isUnanswered = false;
  readonly #held: HeldBytes;
  #startedAtMs = 0;
  #observedAtMs = 0;
  #endStream: (() => void) | undefined;
  #span: Span<RequestEnd> | undefined;

  constructor({ listener, request, response, number, isAsking }: ExchangeOptions) {
    this.#listener = listener;
    this.#request = request;
    this.#response = response;
    this.#number = number;
    this.#isAsking = isAsking;
    this.#connection = listener.connectionOf(request.channel);
    this.#held = new HeldBytes(listener.options.budget, this.#connection);
    this.method = request.method;
    this.target = originForm(request.target) ?? "";
    listener.openRequestCount += 1;
    response.onClose(() => this.#close());
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  get memo(): HeadMemo | undefined {
    return this.#request.memo;
  }

  get remoteAddress(): string {
    return this.#listener.proxies.callerOf(this.#peerAddress, () => this.header(FORWARDED_FOR));
  }

  /** 0 for a caller behind a proxy. */
  get remotePort(): number {
    return this.#listener.proxies.trusts(this.#peerAddress) ? 0 : (this.#request.channel.remotePort ?? 0);
  }

  get #peerAddress(): string {
    return this.#request.channel.remoteAddress ?? "";
  }

  /** Received completely. */
  get isWhole(): boolean {
    return this.#isBodyRead;
  }

  get receivedBytes(): number {
    return this.#held.bodyBytes;
  }

  get isPaused(): boolean {
    return this.#request.isBodyPaused;
  }

  get id(): string {
    return `${this.#listener.options.idPrefix}-${this.#number.toString(36)}`;
  }

  get trace(): TraceContext | undefined {
    return this.#span?.trace;
  }

  get isAbandoned(): boolean {
    return this.#isClosed;
  }

  header(name: string): string | undefined {
    return headerOf(this.#request.rawHeaders, name);
  }

  /** keeps (6) */
  claim(owner: Owner): RequestFailure | undefined {
    return this.#held.claim(owner);
  }

  holdReply(bytes: number): void {
    if (!this.#isClosed) this.#held.addReply(bytes);
  }

  takeReply(bytes: number): boolean {
    return this.#isClosed || this.#held.takeReply(bytes);
  }

  get replyBytesMax(): number {
    return this.#held.replyBytesMax;
  }

  waitsForTurn(): void {
    this.#connection.hasQueued = true;
  }

  hadTurn(): void {
    this.#connection.hasQueued = false;
    if (this.#connection.waiting.length > 0) this.#handleWaiting();
  }

  begin(): void {
    if (this.#connection.isBroken) return;
    const { framing, httpVersion } = this.#request;
    const failure = this.target === "" ? malformedHttp : (framingFailure(framing, httpVersion) ?? this.#overload());
    if (failure !== undefined) this.refuse(this.#listener.worded(failure, this.target));
    else if (this.#request.hasBody) this.#readBody(framing.contentLength);
    else this.#ready();
  }

  /** Answers before the body has been read. keeps (2) */
  refuse(reply: HttpReply): void {
    const response = this.#response;
    const { waiting } = this.#connection;
    this.#connection.isBroken = true;
    // Requests before it are still handled; it is the last one.
    if (waiting.at(-1) === this) waiting.pop();
    this.#held.release();
    const { hasBody, mayEndEarly } = this.#request;
    // A client that waits for `100 Continue` will not send the body; one without a body has nothing to send.
    if (this.#isAsking || this.#isBodyRead || !hasBody || mayEndEarly) {
      this.#send(reply, true);
      return;
    }
    const { clock } = this.#listener.options;
    const { refusedMs, refusedBytesMax } = this.#listener.limits;
    const { channel } = this.#request;
    let droppedBytes = 0;
    this.#request.receive({
      data: (chunk) => {
        droppedBytes += chunk.length;
        if (droppedBytes > refusedBytesMax) channel.destroy();
      },
      end: () => response.end(),
    });
    const cancel = clock.after(refusedMs, () => channel.destroy());
    response.onClose(cancel);
    const headers = [...reply.headers, "Content-Length", String(bodyBytes(reply)), "Connection", "close"];
    response.writeHead(reply.status, headers);
    response.write(reply.body, encodingOf(reply));
    this.#observe(reply);
  }

  /** Refuses an incomplete request in a drain. */
  refuseHalf(): void {
    if (!this.#isBodyRead) this.refuse(this.#listener.worded(busy, this.target));
  }

  tooSlow(): void {
    const { bodyBytesPerSecondMin = 0 } = this.#listener.limits;
    this.refuse(this.#listener.worded(bodyTooSlow(bodyBytesPerSecondMin), this.target));
  }

  #overload(): RequestFailure | undefined {
    const { limits, openRequestCount } = this.#listener;
    const { unansweredCount, waiting } = this.#connection;
    const isOver =
      openRequestCount > limits.requestsMax || unansweredCount + waiting.length >= limits.requestsPerConnectionMax;
    return isOver ? busy : undefined;
  }

  /** keeps (1) */
  #readBody(announcedBytes: number | undefined): void {
    const { area, budget } = this.#listener.options;
    const bytesMax = area.bodyBytesMax(this.target);
    if (announcedBytes !== undefined && announcedBytes > bytesMax) {
      this.refuse(this.#listener.worded(requestTooLarge(bytesMax, announcedBytes), this.target));
      return;
    }
    if (this.#listener.isDraining) {
      this.refuse(this.#listener.worded(busy, this.target));
      return;
    }
    // While many bytes are held, bodies of callers without a token must not take the room of others.
    if (announcedBytes === undefined || announcedBytes > UNCHECKED_BODY_BYTES_MAX || !budget.isQuiet) {
      const refusal = area.refuseEarly?.(this);
      if (refusal !== undefined) {
        this.refuse(refusal);
        return;
      }
    }
    if (this.#isAsking) {
      this.#isAsking = false;
      this.#response.writeContinue();
    }
    this.#connection.waiting.push(this);
    const body = new BodyBuffer(announcedBytes ?? 0);
    this.#request.receive({
      data: (chunk) => {
        const length = body.length + chunk.length;
        if (length > bytesMax) this.refuse(this.#listener.worded(requestTooLarge(bytesMax, length), this.target));
        else if (this.#hasTooManyBytes() || !this.#held.takeBody(chunk.length))
          this.refuse(this.#listener.worded(busy, this.target));
        else body.add(chunk);
      },
      end: () => {
        this.body = body.take();
        this.#ready();
      },
    });
  }

  /** The request is complete. It is handled now, or after the requests before it on this connection. */
  #ready(): void {
    const { waiting } = this.#connection;
    this.#isBodyRead = true;
    this.#connection.owedCount += 1;
    this.#connection.wholeCount += 1;
    if (waiting.length === 0 && !this.#hasFullConnection()) {
      this.#handle();
      return;
    }
    // A request with a body is in `waiting` already.
    if (!this.#request.hasBody) waiting.push(this);
    this.#handleWaiting();
  }

  /** Handles the requests of this connection that may be handled now. keeps (3) */
  #handleWaiting(): void {
    const { waiting } = this.#connection;
    while (waiting.length > 0) {
      const first = waiting[0] as Exchange;
      if (!first.#isBodyRead || first.#hasFullConnection()) return;
      waiting.shift();
      first.#handle();
    }
  }

  /** Whether the other requests of the connection hold too many bytes. */
  #hasTooManyBytes(): boolean {
    return this.#held.bytesOfOthers > this.#listener.limits.bytesPerConnectionMax;
  }

  /** Whether this request must wait for the others of its connection. keeps (6) */
  #hasFullConnection(): boolean {
    const { hasQueued, unsentBytes } = this.#connection;
    return hasQueued || unsentBytes > this.#listener.limits.unsentPerConnectionMax || this.#hasTooManyBytes();
  }

  #handle(): void {
    const { area, clock, observe, tracer } = this.#listener.options;
    this.#connection.unansweredCount += 1;
    this.#isUnanswered = true;
    const startedAtMs = clock.monotonicMs();
    if (observe !== undefined) this.#startedAtMs = startedAtMs;
    if (tracer !== undefined) this.#span = this.#startSpan(tracer);
    let reply: ReturnType<Handler>;
    try {
      reply = area.handle(this);
    } catch (fault) {
      this.#fail(fault);
      return;
    }
    if (reply instanceof Promise) {
      reply.then(
        (late) => this.#answerLate(late),
        (fault: unknown) => this.#fail(fault),
      );
    } else this.#answer(reply);
    this.#charge(startedAtMs, this.body.length);
  }

  /** Sends a reply that waited for its turn or for the journal. */
  #answerLate(reply: HttpReply | HttpStream): void {
    const startedAtMs = this.#listener.options.clock.monotonicMs();
    this.#answer(reply);
    this.#charge(startedAtMs, "open" in reply ? 0 : reply.body.length);
  }

  /** Charges the tenant for the time since `sinceMs` and for the moved bytes. */
  #charge(sinceMs: number, bytes: number): void {
    const { payer } = this;
    if (payer === undefined) return;
    const { clock, tls } = this.#listener.options;
    // `#observe` may have read the clock after the reply.
    const nowMs = this.#observedAtMs > sinceMs ? this.#observedAtMs : clock.monotonicMs();
    payer.charge(nowMs - sinceMs + REQUEST_MS + bytes * byteMs(tls !== undefined), nowMs);
  }

  #answer(reply: HttpReply | HttpStream): void {
    if (this.#isClosed) {
      this.#answered();
      if ("open" in reply) this.#endSpan(reply);
      else this.#observe(reply);
      return;
    }
    if ("open" in reply) this.#stream(reply);
    else this.#send(reply, false);
  }

  /** Our bug: the caller gets an id, the log has the details. A failed assertion stops the process. */
  #fail(fault: unknown): void {
    this.#listener.options.log.error("request failed", { requestId: this.id, ...faultFields(fault) });
    const failure = internalFailure(this.id);
    this.#answer({ ...this.#listener.worded(failure, this.target), route: "failed" });
    if (!(fault instanceof AssertionFailure)) return;
    queueMicrotask(() => {
      throw fault;
    });
  }

  #send(reply: HttpReply, isLast: boolean): void {
    const { status, body } = reply;
    const response = this.#response;
    const byteCount = bodyBytes(reply);
    const isLarge = byteCount >= BUDGETED_REPLY_BYTES_MIN;
    const isHeld = isLarge && this.#held.unsentBytes >= byteCount;
    // Few bytes that waited for the journal are counted again: those that the system does not take.
    if (!isHeld) this.#held.releaseReply();
    if (isLarge && !isHeld && !this.#held.takeReply(byteCount)) {
      const worded = this.#listener.worded(busy, this.target);
      this.#send({ ...worded, ...(reply.route === undefined ? {} : { route: reply.route }) }, isLast);
      return;
    }
    const headers = reply.headers.slice();
    if (status !== 204) headers.push("Content-Length", String(byteCount));
    if (isLast || this.#listener.isDraining) headers.push("Connection", "close"); // keeps (4)
    response.writeHead(status, headers);
    response.end(body, encodingOf(reply));
    const waitingBytes = response.writableLength;
    if (waitingBytes === 0) {
      this.#held.releaseReply();
      this.#answered();
    } else {
      // The peer, or a reply before this one, delays it, but not permanently. keeps (6)
      this.#request.channel.setTimeout(this.#listener.limits.stalledTimeoutMs);
      if (this.#held.unsentBytes === 0) this.#held.addReply(waitingBytes);
    }
    this.#observe(reply);
  }

  /** keeps (6) */
  #answered(): void {
    if (!this.#isUnanswered) return;
    this.#isUnanswered = false;
    this.#connection.unansweredCount -= 1;
  }

  #stream({ status, headers, route, open }: HttpStream): void {
    const response = this.#response;
    const { streamEnders, isDraining } = this.#listener;
    if (isDraining) {
      this.#send(this.#listener.worded(busy, this.target), true);
      return;
    }
    response.writeHead(status, [...headers, "Connection", "close"]);
    response.flushHeaders();
    const closed = open({
      write: (chunk) => response.write(chunk, "utf8"),
      get queuedBytes() {
        return response.writableLength;
      },
      end: () => (this.#endStream === undefined ? response.end() : this.#endStream()),
      abort: () => this.#request.channel.destroy(),
    });
    const end = (): void => {
      if (this.#endStream === undefined) return;
      this.#endStream = undefined;
      streamEnders.delete(end);
      closed();
      response.end();
      // A peer that stops reading must not hold the queued bytes permanently.
      const { channel } = this.#request;
      if (response.writableLength > 0) channel.setTimeout(this.#listener.limits.stalledTimeoutMs);
      this.#observe({ status, headers, body: "", ...(route === undefined ? {} : { route }) });
    };
    this.#endStream = end;
    streamEnders.add(end);
    if (this.#isClosed) end();
  }

  #startSpan(tracer: Tracer): Span<RequestEnd> {
    const { method } = this;
    const scheme = this.#listener.options.tls === undefined ? "http" : "https";
    const parent = readTraceContext(this.header(TRACE_PARENT), this.header(TRACE_STATE));
    return tracer.request({ method, scheme, parent });
  }

  #endSpan({ route = REFUSED_ROUTE, status }: Pick<HttpReply, "route" | "status">): void {
    this.#span?.end({ route, status });
    this.#span = undefined;
  }

  get commandFailed(): HttpRequest["commandFailed"] {
    return failureReport(this, this.#listener.options.onRefusal);
  }

  #observe(reply: HttpReply): void {
    if (this.#span !== undefined) this.#endSpan(reply);
    const { observe, clock, onRefusal } = this.#listener.options;
    if (reply.status >= REFUSAL_STATUS_MIN) onRefusal?.({ head: this, status: reply.status, reply });
    if (observe === undefined) return;
    this.#observedAtMs = clock.monotonicMs();
    observe({
      route: reply.route ?? REFUSED_ROUTE,
      status: reply.status,
      durationMs: this.#startedAtMs === 0 ? 0 : this.#observedAtMs - this.#startedAtMs,
      bytesIn: this.body.length,
      bytesOut: bodyBytes(reply),
    });
  }

  /** The reply is sent, or the peer has disconnected. */
  #close(): void {
    this.#isClosed = true;
    this.#listener.openRequestCount -= 1;
    this.#held.release();
    // Otherwise the area is still handling it.
    if (this.#response.writableEnded) this.#answered();
    this.#endStream?.();
    if (this.#isBodyRead) this.#connection.owedCount -= 1;
    if (this.#connection.waiting.length > 0) this.#handleWaiting();
    // Its head may have been sent before the drain began, without `Connection: close`.
    if (this.#listener.isDraining && this.#connection.owedCount === 0) this.#request.channel.destroySoon();
  }
}
