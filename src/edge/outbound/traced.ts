/** Deliveries with a span for each attempt. The request carries the trace of the span instead of the stored one. */

import {
  readTraceContext,
  TRACE_PARENT,
  TRACE_STATE,
  type TraceContext,
  traceHeaders,
} from "../../kernel/trace-context.ts";
import type { DeliveryDone, DeliveryRequest, Outbound } from "../../messaging/mod.ts";
import type { Tracer } from "../tracing.ts";

export class TracedOutbound implements Outbound {
  readonly #outbound: Outbound;
  readonly #tracer: Tracer;

  constructor(outbound: Outbound, tracer: Tracer) {
    this.#outbound = outbound;
    this.#tracer = tracer;
  }

  send(request: DeliveryRequest, done: DeliveryDone): void {
    const { method, url, messageId, retried, trace } = request;
    const forwarded = trace === undefined ? forwardedTrace(request.headers) : NONE;
    const span = this.#tracer.call({ method, url, messageId, retried, parent: trace ?? forwarded.trace });
    const sent = forwarded.isNamed || span.trace === undefined ? request : replaceTrace(request, span.trace);
    this.#outbound.send(sent, (result) => {
      span.end(result.kind === "answer" ? { status: result.status } : { status: result.status, failure: result.text });
      return done(result);
    });
  }

  dropUser(name: string): void {
    this.#outbound.dropUser(name);
  }
}

interface Forwarded {
  /** Whether the publisher forwards a trace header: then the headers are sent unchanged. */
  readonly isNamed: boolean;
  readonly trace: TraceContext | undefined;
}

const NONE: Forwarded = { isNamed: false, trace: undefined };

function forwardedTrace(headers: readonly string[]): Forwarded {
  let parent: string | undefined;
  let state: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    if (name === TRACE_PARENT) parent = headers[i + 1];
    else if (name === TRACE_STATE) state = headers[i + 1];
  }
  return { isNamed: parent !== undefined || state !== undefined, trace: readTraceContext(parent, state) };
}

function replaceTrace(request: DeliveryRequest, trace: TraceContext): DeliveryRequest {
  const storedLength = request.trace === undefined ? 0 : traceHeaders(request.trace).length;
  const stored = request.headers;
  const others = stored.slice(0, stored.length - storedLength);
  // A list in place of the template, which has the stored trace.
  const { user, url, method, body, timeoutMs, messageId, retried } = request;
  const headers = [...others, ...traceHeaders(trace)];
  return { user, url, method, headers, body, timeoutMs, messageId, retried, trace };
}
