/**
 * A connection that speaks HTTP/2, by `node:http2` over a socket. Each of its
 * streams is a channel with one request.
 *
 * (1) A peer has at most `STREAMS_MAX` streams at a time. Further ones are refused,
 *     and nothing of them is handled.
 * (2) Streams that end early, because the peer resets them (CVE-2023-44487) or
 *     makes us reset them, and frames that we must answer (PING, SETTINGS) have a
 *     rate. A connection above it ends with ENHANCE_YOUR_CALM.
 * (3) A head has bounds before it is complete (`nativeLimits`): its bytes, its
 *     fields and its frames (CVE-2024-27983).
 *     The bytes have theirs once the peer has acknowledged our SETTINGS, so a peer
 *     that has not done so within `headersTimeoutMs` is disconnected.
 * (4) A peer whose window stays closed keeps a response for `stalledTimeoutMs`, a
 *     peer that does not answer PING keeps the connection for as long, and one
 *     without streams for `keepAliveTimeoutMs`.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { nextTurn } from "../../../kernel/turn.ts";
import { TokenBucket } from "../../limits/token-bucket.ts";
import type { Channel, TransportHandlers, TransportLimits } from "../transport.ts";
import { FIELDS_MAX, readStreamHead } from "./head.ts";
import { NO_ERROR, StreamRequest, StreamResponse } from "./stream.ts";

/** RFC 9113 section 6.5.2 recommends no fewer. */
export const STREAMS_MAX = 100;
/** Streams that end early, and frames to answer: in a second, and at once after a pause. */
export const RESET_RATE = { perSecond: 100, burst: 500 } as const;
export const CONTROL_RATE = { perSecond: 100, burst: 500 } as const;
/** After so much silence of a peer with open streams, it is asked whether it is alive. */
const PING_AFTER_MS = 15_000;

/** RFC 9113 section 7. */
const ENHANCE_YOUR_CALM = 11;
const END_STREAM = 1;

/** What the connections of a server share. */
export interface Shared {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  /** Of the monotonic clock. */
  nowMs(): number;
}

/** Limits that `node:http2` and nghttp2 keep. A head between ours and twice ours is 431; a longer one resets its stream. */
export function nativeLimits({ headerBytesMax }: Pick<TransportLimits, "headerBytesMax">) {
  return {
    maxSessionMemory: SESSION_MEGABYTES_MAX,
    maxHeaderListPairs: 2 * FIELDS_MAX,
    maxOutstandingPings: 1,
    maxOutstandingSettings: 1,
    maxSettings: 32,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    streamResetBurst: RESET_RATE.burst,
    streamResetRate: RESET_RATE.perSecond,
    settings: {
      maxConcurrentStreams: STREAMS_MAX,
      maxHeaderListSize: 2 * headerBytesMax,
      initialWindowSize: 65_535,
      maxFrameSize: 16_384,
      headerTableSize: 4_096,
      enableConnectProtocol: false,
    },
  } as const;
}

/** For frames and tables, in megabytes; above it, new streams are refused. */
const SESSION_MEGABYTES_MAX = 16;

export class Http2Connection {
  /** The whole connection: to destroy it is to let its streams finish. */
  readonly channel: Channel;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #shared: Shared;
  /** Requests whose stream is open. */
  readonly #requests = new Set<StreamRequest>();
  readonly #reported = new WeakSet<StreamRequest>();
  readonly #resets: TokenBucket;
  readonly #controls: TokenBucket;
  readonly #openedMs: number;
  #isAcknowledged = false;
  /** When it opened, or its last stream closed. */
  #idleSinceMs: number;
  /** When bytes of the peer were last noticed, and their count. */
  #heardMs: number;
  #heardBytes = 0;
  /** When an unanswered PING was sent. */
  #askedMs: number | undefined;

  constructor(session: ServerHttp2Session, socket: Socket, shared: Shared) {
    this.#session = session;
    this.#socket = socket;
    this.#shared = shared;
    const nowMs = shared.nowMs();
    this.#openedMs = nowMs;
    this.#idleSinceMs = nowMs;
    this.#heardMs = nowMs;
    this.#resets = new TokenBucket(RESET_RATE, nowMs);
    this.#controls = new TokenBucket(CONTROL_RATE, nowMs);
    this.channel = this.#channel();
    // The session destroys itself, and its streams.
    session.on("error", () => {});
    session.on("localSettings", () => {
      this.#isAcknowledged = true;
    });
    session.on("remoteSettings", () => this.#count(this.#controls));
    session.on("ping", () => this.#count(this.#controls));
    session.on("stream", (stream, _headers, flags, rawHeaders) => this.#begin(stream, flags, rawHeaders));
  }

  #channel(): Channel {
    const [session, socket] = [this.#session, this.#socket];
    const { remoteAddress, remotePort } = socket;
    return {
      remoteAddress,
      remotePort,
      bytesRead: 0,
      writableLength: 0,
      setTimeout: () => {},
      once: (event, closed) => socket.once(event, closed),
      destroy: () => session.close(),
      destroySoon: () => session.close(),
    };
  }

  /** Called about once a second. keeps (4) */
  check(): void {
    const { handlers, limits } = this.#shared;
    const nowMs = this.#shared.nowMs();
    // keeps (3)
    if (!this.#isAcknowledged && nowMs - this.#openedMs > limits.headersTimeoutMs) {
      // Timers run before the poll, so it may lie unread.
      void nextTurn().then(() => {
        if (!this.#isAcknowledged) this.#socket.destroy();
      });
      return;
    }
    if (this.#requests.size === 0) {
      if (nowMs - this.#idleSinceMs <= limits.keepAliveTimeoutMs) return;
      if (this.#session.closed) this.#socket.destroy();
      else this.#session.close();
      return;
    }
    this.#listen(nowMs);
    for (const request of this.#requests) {
      if (request.isWhole || nowMs - request.beganMs <= limits.requestTimeoutMs || this.#reported.has(request))
        continue;
      this.#reported.add(request);
      handlers.lateBody(request.channel);
    }
  }

  /** Asks a silent peer whether it is alive. */
  #listen(nowMs: number): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#heardBytes) {
      this.#heardBytes = bytesRead;
      this.#heardMs = nowMs;
    }
    if (this.#askedMs !== undefined) {
      if (nowMs - this.#askedMs <= this.#shared.limits.stalledTimeoutMs) return;
      void nextTurn().then(() => {
        if (this.#askedMs !== undefined) this.#socket.destroy();
      });
      return;
    }
    if (nowMs - this.#heardMs <= Math.min(PING_AFTER_MS, this.#shared.limits.stalledTimeoutMs)) return;
    this.#askedMs = nowMs;
    this.#session.ping(() => {
      this.#askedMs = undefined;
    });
  }

  #begin(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    const { handlers, limits } = this.#shared;
    // A stream that fails closes, and its request ends with it.
    stream.on("error", () => {});
    stream.once("close", () => {
      if (stream.rstCode !== NO_ERROR) this.#count(this.#resets);
    });
    // Reset in the packet that began it.
    if (stream.destroyed || stream.closed) return;
    const hasBody = (flags & END_STREAM) === 0;
    const head = readStreamHead(rawHeaders, limits.headerBytesMax);
    const request = new StreamRequest(head, { stream, socket: this.#socket, hasBody, nowMs: this.#shared.nowMs() });
    const response = new StreamResponse(stream, request);
    this.#requests.add(request);
    stream.once("close", () => this.#closed(request));
    stream.on("timeout", () => handlers.silent(request.channel));
    if (!hasBody) stream.resume();
    if (head.fault === undefined) handlers.request(request, response, request.expectation);
    else handlers.refused(request, response, head.fault);
  }

  #closed(request: StreamRequest): void {
    this.#requests.delete(request);
    if (this.#requests.size === 0) this.#idleSinceMs = this.#shared.nowMs();
  }

  /** keeps (2) */
  #count(bucket: TokenBucket): void {
    if (bucket.take(this.#shared.nowMs()) === 0 || this.#session.destroyed) return;
    this.#session.destroy(new Error("Too many frames of a peer"), ENHANCE_YOUR_CALM);
  }
}
