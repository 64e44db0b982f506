/**
 * What the edge tells a tracer: a span for each request that comes in, and one
 * for each attempt of a delivery. Start-up gives the tracer, if there is one;
 * without it nothing here runs.
 *
 * (1) No text of a caller is told, but for the address of a destination as far
 *     as its path: no query, no user and password. Paths of requests hold keys,
 *     values and tokens; what is told is the template of their route.
 * (2) Each span is ended once.
 */
import type { TraceContext } from "../kernel/trace-context.ts";

export interface IncomingRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** What its headers say. */
  readonly parent: TraceContext | undefined;
}

export interface RequestEnd {
  /** The name of its route, such as `C15 POST /v2/publish/*`, or a word for what had none. */
  readonly route: string;
  readonly status: number;
}

export interface OutgoingCall {
  readonly method: string;
  readonly url: string;
  readonly messageId: string;
  /** Attempts before this one. */
  readonly retried: number;
  /** What its message belongs to. */
  readonly parent: TraceContext | undefined;
}

export interface CallEnd {
  /** Absent: no answer came. */
  readonly status?: number | undefined;
  /** Why there is no answer, or not a whole one: one sentence. */
  readonly failure?: string | undefined;
}

export interface Span<End> {
  /** What is sent on, or kept with a message, in place of `parent`; undefined: the tracer does not say. */
  readonly trace: TraceContext | undefined;
  end(end: End): void;
}

export interface Tracer {
  request(request: IncomingRequest): Span<RequestEnd>;
  call(call: OutgoingCall): Span<CallEnd>;
  /** Resolves when all ended spans are handed on, or after a moment. */
  flush(): Promise<void>;
}
