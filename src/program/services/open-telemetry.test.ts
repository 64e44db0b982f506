/** The bridge to OpenTelemetry, with a stand-in that has the shape of `@opentelemetry/api`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tracer } from "../../edge/tracing.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { openTracer, type TelemetryApi } from "./open-telemetry.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = { parent: `00-${TRACE}-00f067aa0ba902b7-01`, state: "congo=t61" };

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: { serialize(): string } | undefined;
}

interface Recorded {
  name: string;
  readonly kind: number;
  /** `traceparent` of its parent, with its `tracestate`. */
  readonly parent: string | undefined;
  readonly attributes: Record<string, string | number>;
  status: unknown;
  endCount: number;
}

/** Records each started span; the first gets the id 1, and so on. */
class StandIn implements TelemetryApi {
  readonly spans: Recorded[] = [];
  readonly ROOT_CONTEXT: unknown = "root";
  readonly SpanKind = { SERVER: 1, CLIENT: 2 };
  readonly SpanStatusCode = { ERROR: 2 };
  flushing: Promise<void> = Promise.resolve();
  isNothing = false;

  readonly trace = {
    getTracer: (name: string, version: string) => {
      assert.deepEqual([name, version], ["larder", "1.2.3"]);
      return { startSpan: this.#start };
    },
    getTracerProvider: () => ({ getDelegate: () => ({ forceFlush: () => this.flushing }) }),
    setSpanContext: (context: unknown, spanContext: SpanContext) => ({ context, spanContext }),
  };

  createTraceState(text: string): { serialize(): string } {
    return { serialize: () => text };
  }

  isSpanContextValid({ traceId }: SpanContext): boolean {
    return traceId !== "0".repeat(32);
  }

  readonly #start = (
    name: string,
    options: { readonly kind: number; readonly attributes: Readonly<Record<string, string | number>> },
    context: unknown,
  ) => {
    const parent =
      context === this.ROOT_CONTEXT ? undefined : (context as { spanContext: SpanContext | undefined }).spanContext;
    const recorded: Recorded = {
      name,
      kind: options.kind,
      parent:
        parent && `${parent.traceId} ${parent.spanId} ${parent.traceFlags} ${parent.traceState?.serialize() ?? ""}`,
      attributes: { ...options.attributes },
      status: undefined,
      endCount: 0,
    };
    this.spans.push(recorded);
    const spanId = String(this.spans.length).padStart(16, "0");
    const traceId = this.isNothing ? "0".repeat(32) : (parent?.traceId ?? "a".repeat(32));
    return {
      spanContext: () => ({ traceId, spanId, traceFlags: 1, traceState: parent?.traceState }),
      setAttributes: (attributes: Readonly<Record<string, string | number>>) =>
        Object.assign(recorded.attributes, attributes),
      setStatus: (status: unknown) => {
        recorded.status = status;
      },
      updateName: (fresh: string) => {
        recorded.name = fresh;
      },
      end: () => {
        recorded.endCount += 1;
      },
    };
  };
}

const logLines: string[] = [];
const clock = new VirtualClock();
const common = {
  version: "1.2.3",
  clock,
  log: createLog({ level: "debug", format: "text", clock, sink: (line) => logLines.push(line) }),
};

async function open(api: StandIn): Promise<Tracer> {
  const tracer = await openTracer({ ...common, isRegistered: () => true, load: async () => api });
  assert.ok(tracer);
  return tracer;
}

test("loads nothing without a registered provider; logs a missing package and makes no spans", async () => {
  const load = (): Promise<unknown> => assert.fail("it was loaded");
  assert.equal(await openTracer({ ...common, load }), undefined);
  assert.deepEqual(logLines, []);
  const missing = (): Promise<unknown> => Promise.reject(new Error("Cannot find package"));
  assert.equal(await openTracer({ ...common, isRegistered: () => true, load: missing }), undefined);
  assert.match(logLines.join(), /no spans: @opentelemetry\/api cannot be loaded; install it beside larder/);
});

test("a request is a server span with the template of its route, and its parent from the headers", async () => {
  const api = new StandIn();
  const tracer = await open(api);
  const span = tracer.request({ method: "POST", scheme: "https", parent: PARENT });
  assert.deepEqual(span.trace, { parent: `00-${TRACE}-0000000000000001-01`, state: "congo=t61" });
  span.end({ route: "C15 POST /v2/publish/*", status: 200 });
  assert.deepEqual(api.spans, [
    {
      name: "POST /v2/publish/*",
      kind: 1,
      parent: `${TRACE} 00f067aa0ba902b7 1 congo=t61`,
      attributes: {
        "http.request.method": "POST",
        "url.scheme": "https",
        "http.route": "/v2/publish/*",
        "url.path": "/v2/publish/*",
        "http.response.status_code": 200,
      },
      status: undefined,
      endCount: 1,
    },
  ]);
});

test("5xx of a request are errors and 4xx are not; a request without a route is named by its method", async () => {
  const api = new StandIn();
  const tracer = await open(api);
  tracer.request({ method: "GET", scheme: "http", parent: undefined }).end({ route: "C refused", status: 401 });
  tracer.request({ method: "BREW", scheme: "http", parent: undefined }).end({ route: "refused", status: 503 });
  assert.deepEqual(
    api.spans.map(({ name, parent, status, attributes }) => [name, parent, status, attributes["error.type"]]),
    [
      ["GET", undefined, undefined, undefined],
      ["HTTP", undefined, { code: 2 }, "503"],
    ],
  );
  assert.equal(api.spans[1]?.attributes["http.request.method"], "_OTHER");
  assert.equal(JSON.stringify(api.spans).includes("BREW"), false);
});

test("an attempt is a client span without query, user and password of the destination", async () => {
  const api = new StandIn();
  const tracer = await open(api);
  const call = { method: "PUT", messageId: "msg_1", parent: PARENT };
  const url = "https://user:password@example.com/hook?token=secret#part";
  tracer.call({ ...call, url, retried: 0 }).end({ status: 204 });
  tracer.call({ ...call, url: "http://127.0.0.1:8080/", retried: 2 }).end({ status: 404 });
  tracer.call({ ...call, url: "http://example.com/", retried: 3 }).end({ failure: "Nothing listens there" });
  const common = { "http.request.method": "PUT", "messaging.message.id": "msg_1" };
  assert.deepEqual(
    api.spans.map(({ name, kind, attributes, status }) => [name, kind, attributes, status]),
    [
      [
        "PUT",
        2,
        {
          ...common,
          "url.full": "https://example.com/hook",
          "server.address": "example.com",
          "server.port": 443,
          "http.response.status_code": 204,
        },
        undefined,
      ],
      [
        "PUT",
        2,
        {
          ...common,
          "url.full": "http://127.0.0.1:8080/",
          "server.address": "127.0.0.1",
          "server.port": 8080,
          "http.request.resend_count": 2,
          "http.response.status_code": 404,
          "error.type": "404",
        },
        { code: 2 },
      ],
      [
        "PUT",
        2,
        {
          ...common,
          "url.full": "http://example.com/",
          "server.address": "example.com",
          "server.port": 80,
          "http.request.resend_count": 3,
          "error.type": "_OTHER",
        },
        { code: 2, message: "Nothing listens there" },
      ],
    ],
  );
});

test("a provider that makes no spans leaves the incoming trace unchanged", async () => {
  const api = new StandIn();
  api.isNothing = true;
  const tracer = await open(api);
  assert.equal(tracer.request({ method: "GET", scheme: "http", parent: undefined }).trace, undefined);
});

test("a flush ends when the spans are exported, when that fails, or after a second", async () => {
  const api = new StandIn();
  const tracer = await open(api);
  await tracer.flush();
  api.flushing = Promise.reject(new Error("the collector is gone"));
  await tracer.flush();
  api.flushing = new Promise(() => {});
  const flushed = tracer.flush();
  await clock.advanceAsync(1_000);
  await flushed;
});
