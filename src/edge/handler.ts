/**
 * HTTP without a transport: a handler is a function from a request to a reply.
 * `http/listener.ts` binds it to an implementation of HTTP/1 (`http/transport.ts`).
 */
import type { TraceContext } from "../kernel/trace-context.ts";
import type { Tenant } from "../kernel/turns.ts";
import type { RequestFailure } from "./errors.ts";
import type { Owner } from "./limits/byte-budget.ts";

/**
 * What an area has learnt from a head, for the same head of later requests. Only the values of Content-Length and of the
 * sync token differ between them.
 */
export interface HeadMemo {
  learnt: unknown;
  /** How a node that forwards has named it to the owner. */
  sentAs?: unknown;
}

/** A request before its body has been read. */
export interface RequestHead {
  readonly method: string;
  /** Path and query as written on the request line, not decoded. Always starts with `/`. */
  readonly target: string;
  /** The value of a header by its lower-case name; several of one name are joined with `, `. */
  header(name: string): string | undefined;
  /** All headers in order: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /** Set if the head repeats an earlier one of its connection. */
  readonly memo?: HeadMemo | undefined;
  /** The address of the peer, without its port. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** A short id for log lines. */
  readonly id: string;
  /** The trace of the listener's span for this request, if there is a tracer (tracing.ts). */
  readonly trace?: TraceContext | undefined;
  /**
   * Sets the owner of the request's bytes, before any work for it. Returns a refusal while the tenant has too many
   * unread and unsent bytes.
   */
  claim?(owner: Owner): RequestFailure | undefined;
  /** Counts further bytes of a reply that must be sent, although it has to wait or is large. */
  holdReply?(bytes: number): void;
  /** Counts further bytes of a reply that need not be sent; false without room for them now. */
  takeReply?(bytes: number): boolean;
  /** A longer reply never has room. */
  readonly replyBytesMax?: number;
}

export interface HttpRequest extends RequestHead {
  /** The whole body, within its limit. Empty for a request without a body. */
  readonly body: Buffer;
  /** The tenant that is charged for the time on the thread; the area sets it as soon as it is known. */
  payer?: Tenant | undefined;
  /** True if the peer has disconnected: a request that has not begun need not run. */
  readonly isAbandoned?: boolean;
  /** One of its commands failed although its reply succeeds, as in a pipeline: for people who watch. */
  readonly commandFailed?: ((text: string) => void) | undefined;
  /** It waits for its turn. Later requests of its connection wait too, since their limits depend on its reply. */
  waitsForTurn?(): void;
  /** Its turn is over, and it has run as far as possible. */
  hadTurn?(): void;
}

export interface HttpReply {
  readonly status: number;
  /** name, value, name, value, … `content-length` is added by the transport. */
  readonly headers: readonly string[];
  /** A string is text, sent as UTF-8, unless `bodyIsBytes`: then its code units are bytes 0-255. */
  readonly body: string | Buffer;
  readonly bodyIsBytes?: boolean;
  /** The template of the route that answered, for metrics. Never contains text of the caller. */
  readonly route?: string;
}

/** A reply that stays open: an event stream. Headers are flushed at once. */
export interface HttpStream {
  readonly status: number;
  readonly headers: readonly string[];
  readonly route?: string;
  /**
   * Called once after the headers are written. The returned function is called once when the peer has disconnected or
   * the server drains.
   */
  readonly open: (sink: StreamSink) => () => void;
}

export interface StreamSink {
  /** Queues bytes; false if the peer reads more slowly than we write. */
  write(chunk: string | Buffer): boolean;
  /** Bytes queued and not yet taken by the peer. */
  readonly queuedBytes: number;
  /** Ends the reply after the queued bytes. */
  end(): void;
  /** Ends the connection at once, without the queued bytes. */
  abort(): void;
}

export type Handler = (request: HttpRequest) => HttpReply | HttpStream | Promise<HttpReply | HttpStream>;

/** The service behind a listener. */
export interface HttpService {
  readonly handle: Handler;
  /** The limit of the body of a request to this target. */
  bodyBytesMax(target: string): number;
  /**
   * Called before a body is read that is large or of unknown length. Returns a refusal, or undefined to continue. So a
   * caller without a token cannot make us hold its bytes.
   */
  refuseEarly?(head: RequestHead): HttpReply | undefined;
  /** The area's form of a failure outside the area. Absent: `{"error": text}`. */
  refusal?(failure: RequestFailure, target: string): HttpReply;
}

/** Reported for each answered request. */
export interface Observation {
  /** The template of the route, such as `A3 /pipeline`. */
  readonly route: string;
  readonly status: number;
  /** From the last byte of the request until the reply was passed to the system. */
  readonly durationMs: number;
  /** Bytes of the bodies. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export type Observe = (observation: Observation) => void;
