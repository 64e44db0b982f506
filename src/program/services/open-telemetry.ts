/**
 * Spans through OpenTelemetry, if its SDK is loaded before the program:
 *
 *     NODE_OPTIONS="--import ./telemetry.mjs" larder serve
 *
 * The program has no dependency on it. A registered provider is found by the
 * global that every copy of `@opentelemetry/api` 1.x shares; only then is that
 * package loaded. The used part of its API is declared here, with its names.
 *
 * Traces are read and written as W3C Trace Context with any registered
 * propagator, because messages store that form.
 */
import type { CallEnd, IncomingRequest, OutgoingCall, RequestEnd, Span, Tracer } from "../../edge/tracing.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { TraceContext } from "../../kernel/trace-context.ts";

export const TELEMETRY_PACKAGE = "@opentelemetry/api";
/** The global that the copies of that package share. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");
/** How long a shutdown waits for pending exports. */
const FLUSH_MS_MAX = 1_000;

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: { serialize(): string } | undefined;
}

type Attributes = Readonly<Record<string, string | number>>;

interface ApiSpan {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  updateName(name: string): unknown;
  end(): void;
}

interface ApiTracer {
  startSpan(
    name: string,
    options: { readonly kind: number; readonly attributes: Attributes },
    context: unknown,
  ): ApiSpan;
}

/** The used part of `@opentelemetry/api`. */
export interface TelemetryApi {
  readonly ROOT_CONTEXT: unknown;
  readonly SpanKind: { readonly SERVER: number; readonly CLIENT: number };
  readonly SpanStatusCode: { readonly ERROR: number };
  readonly trace: {
    getTracer(name: string, version: string): ApiTracer;
    getTracerProvider(): object;
    setSpanContext(context: unknown, spanContext: SpanContext): unknown;
  };
  createTraceState(text: string): { serialize(): string };
  isSpanContextValid(spanContext: SpanContext): boolean;
}

export interface TelemetryOptions {
  readonly version: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** Whether a provider is registered. */
  readonly isRegistered?: () => boolean;
  readonly load?: () => Promise<unknown>;
}

/** The tracer of this thread; undefined without a registered provider. */
export async function openTracer(options: TelemetryOptions): Promise<Tracer | undefined> {
  const { version, log, clock = systemClock, isRegistered = hasProvider, load = loadApi } = options;
  if (!isRegistered()) return undefined;
  try {
    return new TelemetryTracer((await load()) as TelemetryApi, version, clock);
  } catch (fault) {
    log.warn(`no spans: ${TELEMETRY_PACKAGE} cannot be loaded; install it beside larder`, faultFields(fault));
    return undefined;
  }
}

function hasProvider(): boolean {
  const registry: unknown = Reflect.get(globalThis, REGISTRY);
  return typeof registry === "object" && registry !== null && "trace" in registry && registry.trace !== undefined;
}

function loadApi(): Promise<unknown> {
  const name: string = TELEMETRY_PACKAGE;
  return import(name);
}

/** The HTTP semantic conventions: all other methods are reported as one. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]);
const OTHER = "_OTHER";
const SERVER_ERROR_MIN = 500;
const CLIENT_ERROR_MIN = 400;

class TelemetryTracer implements Tracer {
  readonly #api: TelemetryApi;
  readonly #tracer: ApiTracer;
  readonly #clock: Clock;

  constructor(api: TelemetryApi, version: string, clock: Clock) {
    this.#api = api;
    this.#tracer = api.trace.getTracer("larder", version);
    this.#clock = clock;
  }

  request({ method, scheme, parent }: IncomingRequest): Span<RequestEnd> {
    const isKnown = knownMethods.has(method);
    const name = isKnown ? method : "HTTP";
    const attributes = { "http.request.method": isKnown ? method : OTHER, "url.scheme": scheme };
    const span = this.#start(name, { kind: this.#api.SpanKind.SERVER, attributes }, parent);
    return this.#spanOf(span, ({ route, status }: RequestEnd) => {
      const template = templateOf(route);
      if (template !== undefined) {
        span.updateName(`${name} ${template}`);
        span.setAttributes({ "http.route": template, "url.path": template });
      }
      this.#describe(span, { status, errorMin: SERVER_ERROR_MIN });
    });
  }

  call({ method, url, messageId, retried, parent }: OutgoingCall): Span<CallEnd> {
    const { protocol, hostname, port, origin, pathname } = new URL(url);
    const attributes = {
      "http.request.method": method,
      "url.full": `${origin}${pathname}`,
      "server.address": hostname,
      "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
      "messaging.message.id": messageId,
      ...(retried > 0 && { "http.request.resend_count": retried }),
    };
    const span = this.#start(method, { kind: this.#api.SpanKind.CLIENT, attributes }, parent);
    return this.#spanOf(span, ({ status, failure }: CallEnd) => {
      this.#describe(span, { status, failure, errorMin: CLIENT_ERROR_MIN });
    });
  }

  async flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(FLUSH_MS_MAX, resolve);
    // The collector may be gone; the SDK logs that itself.
    this.#flushProvider().then(resolve, resolve);
    await promise;
    cancel();
  }

  #start(name: string, options: Parameters<ApiTracer["startSpan"]>[1], parent: TraceContext | undefined): ApiSpan {
    const { trace, ROOT_CONTEXT } = this.#api;
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, this.#remote(parent));
    return this.#tracer.startSpan(name, options, context);
  }

  #remote({ parent, state }: TraceContext): SpanContext {
    const [, traceId = "", spanId = "", flags = ""] = parent.split("-");
    const traceState = state === undefined ? {} : { traceState: this.#api.createTraceState(state) };
    return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true, ...traceState };
  }

  #spanOf<End>(span: ApiSpan, end: (end: End) => void): Span<End> {
    return {
      trace: this.#contextOf(span),
      end(facts) {
        end(facts);
        span.end();
      },
    };
  }

  #contextOf(span: ApiSpan): TraceContext | undefined {
    const context = span.spanContext();
    if (!this.#api.isSpanContextValid(context)) return undefined;
    const flags = context.traceFlags.toString(16).padStart(2, "0");
    const parent = `00-${context.traceId}-${context.spanId}-${flags}`;
    const state = context.traceState?.serialize() ?? "";
    return state === "" ? { parent } : { parent, state };
  }

  #describe(
    span: ApiSpan,
    { status, failure, errorMin }: { status?: number | undefined; failure?: string | undefined; errorMin: number },
  ): void {
    if (status !== undefined) span.setAttributes({ "http.response.status_code": status });
    const isError = failure !== undefined || (status !== undefined && status >= errorMin);
    if (!isError) return;
    span.setAttributes({ "error.type": failure === undefined ? String(status) : OTHER });
    const code = this.#api.SpanStatusCode.ERROR;
    span.setStatus(failure === undefined ? { code } : { code, message: failure });
  }

  async #flushProvider(): Promise<void> {
    const proxy = this.#api.trace.getTracerProvider();
    // The API returns a proxy of the registered provider.
    const provider = "getDelegate" in proxy && typeof proxy.getDelegate === "function" ? proxy.getDelegate() : proxy;
    await provider?.forceFlush?.();
  }
}

/** `/v2/publish/*` of `C15 POST /v2/publish/*`; undefined without a route. */
function templateOf(route: string): string | undefined {
  const last = route.slice(route.lastIndexOf(" ") + 1);
  return last.startsWith("/") ? last : undefined;
}
