/**
 * A listener over `node:http`. No other file sees an object of that module.
 *
 * (1) A body that is refused is never kept: its size is checked against the
 *     announced length and again as it arrives, against the limit of its route
 *     and against the budget of all bodies together (threats A-13).
 * (2) A refusal reaches a client that is still sending: the reply goes out at
 *     once, what still comes is dropped for a while, and then the socket is
 *     destroyed. The connection is not used again.
 * (3) The requests of a connection are handled in the order they came, and
 *     their replies leave in that order, each one whole. With a request
 *     unanswered nothing is written out of turn; a malformed request behind it
 *     just ends the connection. Behind a refused request nothing is handled.
 * (4) Once a drain has begun, every reply closes its connection.
 *
 * What a request costs here was measured (bench/edge.bench.ts): a handler that
 * answers at once is answered in the same call, without a promise, with one
 * flat array of headers and one write.
 */
import type { Server, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { AssertionFailure } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { faultFields, type Log } from "../kernel/log.ts";
import { readTraceContext, TRACE_PARENT, TRACE_STATE, type TraceContext } from "../kernel/trace-context.ts";
import { BodyBuffer } from "./body-buffer.ts";
import type { ByteBudget } from "./byte-budget.ts";
import {
  busy,
  expectationFailed,
  headersTimedOut,
  headersTooLarge,
  internalFailure,
  malformedHttp,
  type RequestFailure,
  requestTooLarge,
  tunnelRefused,
} from "./errors.ts";
import { type Framing, framingFailure, hasBody, originForm, readFraming } from "./framing.ts";
import type { Area, Handler, HttpReply, HttpRequest, HttpStream, Observe } from "./handler.ts";
import { failureReply } from "./respond.ts";
import type { RequestEnd, Span, Tracer } from "./tracing.ts";

// An import of the module by name reads all its properties, some of which load a whole client: 30 ms for each thread.
const { createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule("node:http");

export interface ListenerLimits {
  readonly headerBytesMax: number;
  /** From the first byte of a request to the end of its headers, and to the end of its body. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a connection may rest between requests. */
  readonly keepAliveTimeoutMs: number;
  /** How long a peer may refuse to read its reply. */
  readonly stalledTimeoutMs: number;
  readonly connectionsMax: number;
  /** Unanswered requests, all together and of one connection (HTTP pipelining). */
  readonly requestsMax: number;
  readonly requestsPerConnectionMax: number;
  /** Bodies and large replies of one connection; while it has more, its next request waits. */
  readonly bytesPerConnectionMax: number;
  /** How long, and how many bytes, a client may go on sending a body that was refused. */
  readonly refusedMs: number;
  readonly refusedBytesMax: number;
}

export const defaultLimits: ListenerLimits = {
  headerBytesMax: 64 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  stalledTimeoutMs: 60_000,
  connectionsMax: 10_000,
  requestsMax: 20_000,
  requestsPerConnectionMax: 1_000,
  bytesPerConnectionMax: 32 * 1024 * 1024,
  refusedMs: 2_000,
  refusedBytesMax: 16 * 1024 * 1024,
};

/** Bodies and large replies of all connections together, in one thread. */
export const IN_FLIGHT_BYTES_MAX = 256 * 1024 * 1024;

/** Texts in PEM. */
export interface CertificatePair {
  /** With those between it and its authority. */
  readonly certificate: string;
  readonly key: string;
}

export interface ListenerOptions {
  readonly area: Area;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Shared by the listeners of a thread. */
  readonly budget: ByteBudget;
  /** Begins the ids of requests, so that those of two listeners or two runs differ. */
  readonly idPrefix: string;
  /** Absent: connections are in the clear. */
  readonly tls?: CertificatePair | undefined;
  readonly observe?: Observe;
  /** Absent: requests have no spans. */
  readonly tracer?: Tracer | undefined;
  readonly limits?: Partial<ListenerLimits>;
}

export interface Listener {
  readonly host: string;
  /** The real port, also when any was asked for. */
  readonly port: number;
  readonly openRequestCount: number;
  /** Connections that come from now on are shown this certificate. Throws when it and the key are none. */
  renewCertificate(pair: CertificatePair): void;
  /**
   * Stops accepting, ends streams, lets requests finish and resolves when every connection is closed. Those that are
   * open after `graceMs` are destroyed.
   */
  close(graceMs: number): Promise<void>;
}

/** Bodies above this, and those of unknown length, are read only when the area has nothing against the head. */
const UNASKED_BYTES_MAX = 64 * 1024;
/** Replies from here on count in the budget until the peer has taken them; without room for it the caller gets 503. */
const COUNTED_REPLY_BYTES_MIN = 64 * 1024;
/** Longest time for a handshake of TLS, and the oldest version. */
const HANDSHAKE_MS_MAX = 10_000;
const TLS_MIN = "TLSv1.2";
/** How often timeouts of connections are looked at. */
const TIMEOUT_CHECK_MS = 1_000;
/** For what was refused before a route was found. */
const REFUSED_ROUTE = "refused";

/** Starts to listen. Rejects with the system's error when the address cannot be used. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const listener = new HttpListener(options);
  await listener.start();
  return listener;
}

/**
 * `node:http` looks at `headers.expect` of each request and would build an object of all headers for it; the framing
 * that we read anyway answers the same question (10 % of a small request: bench/edge.bench.ts).
 */
class FramedMessage extends IncomingMessage {
  #framing: Framing | undefined;

  get framing(): Framing {
    this.#framing ??= readFraming(this.rawHeaders);
    return this.#framing;
  }
}
Object.defineProperty(FramedMessage.prototype, "headers", {
  get(this: FramedMessage): Framing {
    return this.framing;
  },
});

/** What we know of a connection. */
interface Connection {
  /** Whole requests without a whole reply. */
  unansweredCount: number;
  /** Bytes of its bodies and large replies. */
  heldBytes: number;
  /** Requests that are not handled yet, in the order they came: one whose body is being read, and those behind it. */
  readonly waiting: Exchange[];
  /** A request was refused; whatever else comes is dropped. */
  isBroken: boolean;
}

type TlsServer = HttpsServer<typeof FramedMessage>;

class HttpListener implements Listener {
  readonly options: ListenerOptions;
  readonly limits: ListenerLimits;
  readonly connections = new WeakMap<Socket, Connection>();
  /** Ends the streams that are open. */
  readonly streamEnders = new Set<() => void>();
  isDraining = false;
  openRequestCount = 0;
  readonly #server: Server<typeof FramedMessage>;
  readonly #tlsServer: TlsServer | undefined;
  /** Below TLS, the ones within their handshake too. */
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #requestCount = 0;

  constructor(options: ListenerOptions) {
    this.options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    const { limits } = this;
    const { tls } = options;
    const wishes = {
      IncomingMessage: FramedMessage,
      insecureHTTPParser: false,
      // framing.ts asks for the host and words the refusal.
      requireHostHeader: false,
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      noDelay: true,
    } as const;
    const tlsServer = tls === undefined ? undefined : this.#createTlsServer(wishes, tls);
    const server = tlsServer ?? createServer(wishes);
    server.maxConnections = limits.connectionsMax;
    // Headers are bounded by their bytes. Beyond a count node would drop them silently.
    server.maxHeadersCount = 0;
    const begin = (message: FramedMessage, response: ServerResponse, isAsking: boolean): void => {
      this.#requestCount += 1;
      new Exchange({ listener: this, message, response, number: this.#requestCount, isAsking }).begin();
    };
    server.on("request", (message, response) => begin(message, response, false));
    server.on("checkContinue", (message, response) => begin(message, response, true));
    server.on("checkExpectation", (message, response) => {
      this.#requestCount += 1;
      new Exchange({ listener: this, message, response, number: this.#requestCount, isAsking: true }).refuse(
        failureReply(expectationFailed),
      );
    });
    server.on("connect", (_message, socket) => this.#answerRaw(socket as Socket, tunnelRefused));
    server.on("clientError", (error, socket) => this.#clientError(error, socket as Socket));
    this.#server = server;
    this.#tlsServer = tlsServer;
  }

  #createTlsServer<Wishes extends object>(wishes: Wishes, { certificate: cert, key }: CertificatePair): TlsServer {
    // Loaded only where it is used, as TLS takes a thread some milliseconds.
    const { createServer: createTlsServer } = process.getBuiltinModule("node:https");
    const server = createTlsServer({ ...wishes, cert, key, minVersion: TLS_MIN, handshakeTimeout: HANDSHAKE_MS_MAX });
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    server.on("tlsClientError", (_fault, socket) => socket.destroy());
    return server;
  }

  get host(): string {
    return this.options.host;
  }

  get port(): number {
    return this.#port;
  }

  renewCertificate({ certificate: cert, key }: CertificatePair): void {
    this.#tlsServer?.setSecureContext({ cert, key, minVersion: TLS_MIN });
  }

  start(): Promise<void> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  close(graceMs: number): Promise<void> {
    this.isDraining = true;
    for (const end of this.streamEnders) end();
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(graceMs, () => {
        this.#server.closeAllConnections();
        for (const socket of this.#sockets) socket.destroy();
      });
      this.#server.close(() => {
        cancel();
        resolve();
      });
    });
  }

  connectionOf(socket: Socket): Connection {
    let connection = this.connections.get(socket);
    if (connection === undefined) {
      connection = { unansweredCount: 0, heldBytes: 0, waiting: [], isBroken: false };
      this.connections.set(socket, connection);
    }
    return connection;
  }

  #clientError(error: Error, socket: Socket): void {
    const code = "code" in error ? error.code : undefined;
    const connection = this.connectionOf(socket);
    if (connection.isBroken) return;
    // keeps (3)
    if (code === "ECONNRESET" || !socket.writable || connection.unansweredCount > 0) {
      socket.destroy();
      return;
    }
    if (code === "HPE_HEADER_OVERFLOW") this.#answerRaw(socket, headersTooLarge(this.limits.headerBytesMax));
    else if (code === "ERR_HTTP_REQUEST_TIMEOUT") this.#answerRaw(socket, headersTimedOut);
    else this.#answerRaw(socket, malformedHttp);
  }

  /** Answers on a connection that has no request to answer to, and ends it. keeps (2) */
  #answerRaw(socket: Socket, failure: RequestFailure): void {
    const connection = this.connectionOf(socket);
    connection.isBroken = true;
    const { status, headers, body } = failureReply(failure);
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`];
    for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
    lines.push(`Content-Length: ${body.length}`, "Connection: close", "", "");
    socket.on("error", () => socket.destroy());
    socket.end(lines.join("\r\n") + body, "latin1");
    const cancel = this.options.clock.after(this.limits.refusedMs, () => socket.destroy());
    socket.once("close", cancel);
    socket.resume();
    this.options.observe?.({ route: REFUSED_ROUTE, status, durationMs: 0, bytesIn: 0, bytesOut: body.length });
  }
}

const NO_BODY = Buffer.alloc(0);

interface ExchangeOptions {
  readonly listener: HttpListener;
  readonly message: FramedMessage;
  readonly response: ServerResponse;
  readonly number: number;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly isAsking: boolean;
}

/**
 * One request and its reply.
 *
 *     begin -> (reading body ->) handling -> answered
 *           -> refused, the rest of the body is dropped
 */
class Exchange implements HttpRequest {
  readonly method: string;
  readonly target: string;
  body: Buffer = NO_BODY;
  readonly #listener: HttpListener;
  readonly #message: FramedMessage;
  readonly #response: ServerResponse;
  readonly #number: number;
  readonly #connection: Connection;
  #isAsking: boolean;
  #isBodyRead = false;
  #isClosed = false;
  #heldBytes = 0;
  #startedAtMs = 0;
  #endStream: (() => void) | undefined;
  #span: Span<RequestEnd> | undefined;

  constructor({ listener, message, response, number, isAsking }: ExchangeOptions) {
    this.#listener = listener;
    this.#message = message;
    this.#response = response;
    this.#number = number;
    this.#isAsking = isAsking;
    this.#connection = listener.connectionOf(message.socket);
    this.method = message.method ?? "";
    this.target = originForm(message.url ?? "") ?? "";
    listener.openRequestCount += 1;
    response.on("close", () => this.#close());
  }

  get rawHeaders(): readonly string[] {
    return this.#message.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? "";
  }

  get remotePort(): number {
    return this.#message.socket.remotePort ?? 0;
  }

  get id(): string {
    return `${this.#listener.options.idPrefix}-${this.#number.toString(36)}`;
  }

  get trace(): TraceContext | undefined {
    return this.#span?.trace;
  }

  header(name: string): string | undefined {
    const { rawHeaders } = this.#message;
    let value: string | undefined;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const given = rawHeaders[i] as string;
      if (given.length !== name.length || given.toLowerCase() !== name) continue;
      value = value === undefined ? rawHeaders[i + 1] : `${value}, ${rawHeaders[i + 1]}`;
    }
    return value;
  }

  begin(): void {
    if (this.#connection.isBroken) return;
    const { framing, httpVersion } = this.#message;
    const failure = this.target === "" ? malformedHttp : (framingFailure(framing, httpVersion) ?? this.#overload());
    if (failure !== undefined) this.refuse(failureReply(failure));
    else if (hasBody(framing)) this.#readBody(framing.contentLength);
    else this.#ready();
  }

  /** Answers before the body has been read. keeps (2) */
  refuse(reply: HttpReply): void {
    const response = this.#response;
    const { waiting } = this.#connection;
    this.#connection.isBroken = true;
    // Those before it are still handled; behind it there is none.
    if (waiting.at(-1) === this) waiting.pop();
    this.#release();
    // A client that waits for `100 Continue` will not send the body; one without a body has nothing to send.
    if (this.#isAsking || this.#isBodyRead || !hasBody(this.#message.framing)) {
      this.#send(reply, true);
      return;
    }
    const { clock } = this.#listener.options;
    const { refusedMs, refusedBytesMax } = this.#listener.limits;
    const { socket } = this.#message;
    let droppedBytes = 0;
    this.#message.removeAllListeners("data").removeAllListeners("end");
    this.#message.on("data", (chunk: Buffer) => {
      droppedBytes += chunk.length;
      if (droppedBytes > refusedBytesMax) socket.destroy();
    });
    this.#message.on("end", () => response.end());
    const cancel = clock.after(refusedMs, () => socket.destroy());
    response.on("close", cancel);
    const headers = [...reply.headers, "Content-Length", String(bodyBytes(reply)), "Connection", "close"];
    response.writeHead(reply.status, headers);
    response.write(reply.body, encodingOf(reply));
    this.#observe(reply);
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
    const { area } = this.#listener.options;
    const bytesMax = area.bodyBytesMax(this.target);
    if (announcedBytes !== undefined && announcedBytes > bytesMax) {
      this.refuse(failureReply(requestTooLarge(bytesMax, announcedBytes)));
      return;
    }
    if (announcedBytes === undefined || announcedBytes > UNASKED_BYTES_MAX) {
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
    this.#message.on("data", (chunk: Buffer) => {
      const length = body.length + chunk.length;
      if (length > bytesMax) this.refuse(failureReply(requestTooLarge(bytesMax, length)));
      else if (this.#hasFullConnection() || !this.#hold(chunk.length)) this.refuse(failureReply(busy));
      else body.add(chunk);
    });
    this.#message.on("end", () => {
      this.body = body.take();
      this.#ready();
    });
  }

  /** The request is whole. It is handled now, or behind those that came before it on this connection. */
  #ready(): void {
    const { waiting } = this.#connection;
    this.#isBodyRead = true;
    if (waiting.length === 0 && !this.#hasFullConnection()) {
      this.#handle();
      return;
    }
    // A request with a body has its place already.
    if (!hasBody(this.#message.framing)) waiting.push(this);
    this.#handleWaiting();
  }

  /** Handles what may be handled on this connection now. keeps (3) */
  #handleWaiting(): void {
    const { waiting } = this.#connection;
    while (waiting.length > 0) {
      const first = waiting[0] as Exchange;
      if (!first.#isBodyRead || first.#hasFullConnection()) return;
      waiting.shift();
      first.#handle();
    }
  }

  /** Whether the other requests of the connection hold as much as one may. */
  #hasFullConnection(): boolean {
    return this.#connection.heldBytes - this.#heldBytes > this.#listener.limits.bytesPerConnectionMax;
  }

  #handle(): void {
    const { area, clock, observe, tracer } = this.#listener.options;
    this.#connection.unansweredCount += 1;
    if (observe !== undefined) this.#startedAtMs = clock.monotonicMs();
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
        (late) => this.#answer(late),
        (fault: unknown) => this.#fail(fault),
      );
    } else this.#answer(reply);
  }

  #answer(reply: HttpReply | HttpStream): void {
    this.#connection.unansweredCount -= 1;
    if (this.#isClosed) {
      if ("open" in reply) this.#endSpan(reply);
      else this.#observe(reply);
      return;
    }
    if ("open" in reply) this.#stream(reply);
    else this.#send(reply, false);
  }

  /** Our own mistake: the caller learns an id, the log has the rest. A broken assertion stops the process. */
  #fail(fault: unknown): void {
    this.#listener.options.log.error("request failed", { requestId: this.id, ...faultFields(fault) });
    const failure = internalFailure(this.id);
    const { area } = this.#listener.options;
    this.#answer({ ...(area.refusal?.(failure, this.target) ?? failureReply(failure)), route: "failed" });
    if (!(fault instanceof AssertionFailure)) return;
    queueMicrotask(() => {
      throw fault;
    });
  }

  #send(reply: HttpReply, isLast: boolean): void {
    const { status, body } = reply;
    const response = this.#response;
    const byteCount = bodyBytes(reply);
    if (byteCount >= COUNTED_REPLY_BYTES_MIN && !this.#hold(byteCount)) {
      this.#send({ ...failureReply(busy), ...(reply.route === undefined ? {} : { route: reply.route }) }, isLast);
      return;
    }
    const headers = reply.headers.slice();
    if (status !== 204) headers.push("Content-Length", String(byteCount));
    if (isLast || this.#listener.isDraining) headers.push("Connection", "close"); // keeps (4)
    response.writeHead(status, headers);
    response.end(body, encodingOf(reply));
    // The peer has not taken all of it: it may rest, but not for ever.
    const { socket } = response;
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#listener.limits.stalledTimeoutMs);
    this.#observe(reply);
  }

  #stream({ status, headers, route, open }: HttpStream): void {
    const response = this.#response;
    const { streamEnders, isDraining } = this.#listener;
    if (isDraining) {
      this.#send(failureReply(busy), true);
      return;
    }
    response.writeHead(status, [...headers, "Connection", "close"]);
    response.flushHeaders();
    const closed = open({
      write: (chunk) => response.write(chunk),
      get queuedBytes() {
        return response.writableLength;
      },
      end: () => (this.#endStream === undefined ? response.end() : this.#endStream()),
      abort: () => this.#message.socket.destroy(),
    });
    const end = (): void => {
      if (this.#endStream === undefined) return;
      this.#endStream = undefined;
      streamEnders.delete(end);
      closed();
      response.end();
      // A peer that reads no more must not keep what is queued for ever.
      const { socket } = response;
      if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#listener.limits.stalledTimeoutMs);
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

  #observe(reply: HttpReply): void {
    if (this.#span !== undefined) this.#endSpan(reply);
    const { observe, clock } = this.#listener.options;
    if (observe === undefined) return;
    observe({
      route: reply.route ?? REFUSED_ROUTE,
      status: reply.status,
      durationMs: this.#startedAtMs === 0 ? 0 : clock.monotonicMs() - this.#startedAtMs,
      bytesIn: this.body.length,
      bytesOut: bodyBytes(reply),
    });
  }

  /** The reply is out, or the peer has gone. */
  #close(): void {
    this.#isClosed = true;
    this.#listener.openRequestCount -= 1;
    this.#release();
    this.#endStream?.();
    if (this.#connection.waiting.length > 0) this.#handleWaiting();
  }

  #hold(bytes: number): boolean {
    if (!this.#listener.options.budget.take(bytes)) return false;
    this.#heldBytes += bytes;
    this.#connection.heldBytes += bytes;
    return true;
  }

  #release(): void {
    if (this.#heldBytes === 0) return;
    this.#listener.options.budget.release(this.#heldBytes);
    this.#connection.heldBytes -= this.#heldBytes;
    this.#heldBytes = 0;
  }
}

function bodyBytes({ body, bodyIsBytes }: HttpReply): number {
  return typeof body === "string" && bodyIsBytes !== true ? Buffer.byteLength(body) : body.length;
}

function encodingOf({ bodyIsBytes }: HttpReply): "latin1" | "utf8" {
  return bodyIsBytes === true ? "latin1" : "utf8";
}
