/**
 * The edge without a transport: a handler is a function from a request to a
 * reply. `http/listener.ts` binds it to `node:http`; a stricter, faster listener
 * can take its place because nothing else in `edge/` sees a `node:http` object.
 */
import type { TraceContext } from "../kernel/trace-context.ts";
import type { Tenant } from "../kernel/turns.ts";
import type { RequestFailure } from "./errors.ts";
import type { Owner } from "./limits/byte-budget.ts";

/** What is known of a request before its body has been read. */
export interface RequestHead {
  readonly method: string;
  /** Path and query as written on the request line, not decoded. Always starts with `/`. */
  readonly target: string;
  /** The value of a header by its lower-case name; several of one name are joined with `, `. */
  header(name: string): string | undefined;
  /** All headers in the order they came: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /** The address of the peer, without its port. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** A short id for log lines. */
  readonly id: string;
  /** Of the span that the listener made for this request, if it makes any (tracing.ts). */
  readonly trace?: TraceContext | undefined;
  /**
   * Says whose request it is, before anything is done for it: what it holds counts for that tenant. Returns a refusal
   * while too much that belongs to the tenant waits to be sent or read.
   */
  claim?(owner: Owner): RequestFailure | undefined;
  /** A reply of about so many bytes was made and has to wait before it may leave: it counts until then. */
  holdReply?(bytes: number): void;
}

export interface HttpRequest extends RequestHead {
  /** The whole body, already within the byte limit. Empty when there is none. */
  readonly body: Buffer;
  /** Who pays for the time that the request takes of the thread: the area says it as soon as it knows. */
  payer?: Tenant | undefined;
  /** True when the peer has gone: a request that has not begun need not run. */
  readonly isAbandoned?: boolean;
  /** It waits for its turn: those behind it on its connection wait with it, so that each finds what it may hold. */
  waitsForTurn?(): void;
  /** Its turn has come, and it has run as far as it could. */
  hadTurn?(): void;
}

export interface HttpReply {
  readonly status: number;
  /** name, value, name, value, … `content-length` is added by the transport. */
  readonly headers: readonly string[];
  /** A string is text, sent as UTF-8, unless `bodyIsBytes` says that its code units are bytes 0-255. */
  readonly body: string | Buffer;
  readonly bodyIsBytes?: boolean;
  /** The template of the route that answered, for metrics. Never holds a caller's text. */
  readonly route?: string;
}

/** A reply that goes on: event streams. Headers are flushed at once. */
export interface HttpStream {
  readonly status: number;
  readonly headers: readonly string[];
  readonly route?: string;
  /** Called once when the headers are on their way. The returned function is called once when the peer has gone or the server drains. */
  readonly open: (sink: StreamSink) => () => void;
}

export interface StreamSink {
  /** Queues bytes; false when the peer reads slower than we write. */
  write(chunk: string | Buffer): boolean;
  /** Bytes queued and not yet taken by the peer. */
  readonly queuedBytes: number;
  /** Ends the reply behind what is queued. */
  end(): void;
  /** Ends the connection at once; what is queued is lost. */
  abort(): void;
}

export type Handler = (request: HttpRequest) => HttpReply | HttpStream | Promise<HttpReply | HttpStream>;

/** Everything that a listener asks of what it serves. */
export interface HttpService {
  readonly handle: Handler;
  /** The most bytes that the body of a request to this target may have. */
  bodyBytesMax(target: string): number;
  /**
   * Asked before a body that is large or of unknown length is read: a refusal, or undefined to go on. So a caller
   * without a token cannot make us hold its bytes.
   */
  refuseEarly?(head: RequestHead): HttpReply | undefined;
  /** How the area words a failure that it did not answer itself. Absent: `{"error": text}`. */
  refusal?(failure: RequestFailure, target: string): HttpReply;
}

/** What is told about each answered request. */
export interface Observation {
  /** The template of the route, such as `A3 /pipeline`. */
  readonly route: string;
  readonly status: number;
  /** From the last byte of the request to the moment the reply was handed to the system. */
  readonly durationMs: number;
  /** Bytes of the bodies. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export type Observe = (observation: Observation) => void;
