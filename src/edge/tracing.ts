/**
 * The interface of tracers: a span for each incoming request, and one for each
 * attempt of a delivery. Start-up provides the tracer, if there is one.
 *
 * (1) Spans contain no text of a caller, except the URL of a destination up to its
 *     path, without query, user and password. Paths of requests contain keys, values
 *     and tokens, so spans have the template of the route instead.
 * (2) Each span is ended once.
 */
import type { TraceContext } from "../kernel/trace-context.ts";

export interface IncomingRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** From its headers. */
  readonly parent: TraceContext | undefined;
}

export interface RequestEnd {
  /** The name of its route, such as `C15 POST /v2/publish/*`, or a word for requests without a route. */
  readonly route: string;
  readonly status: number;
}

export interface OutgoingCall {
  readonly method: string;
  readonly url: string;
  readonly messageId: string;
  /** Attempts before this one. */
  readonly retried: number;
  /** The trace of its message. */
  readonly parent: TraceContext | undefined;
}

export interface CallEnd {
  /** Absent without an answer. */
  readonly status?: number | undefined;
  /** Why there is no complete answer, as one sentence. */
  readonly failure?: string | undefined;
}

export interface Span<End> {
  /** Forwarded, or stored with a message, instead of `parent`; undefined if the tracer has none. */
  readonly trace: TraceContext | undefined;
  end(end: End): void;
}

export interface Tracer {
  request(request: IncomingRequest): Span<RequestEnd>;
  call(call: OutgoingCall): Span<CallEnd>;
  /** Resolves when all ended spans are exported, or after a timeout. */
  flush(): Promise<void>;
}
