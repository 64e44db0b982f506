import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryRequest, DeliveryResult } from "../../messaging/delivery/delivery.ts";
import type { CallEnd, OutgoingCall, Tracer } from "../tracing.ts";
import { TracedOutbound } from "./traced.ts";

const KEPT = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", state: "congo=1" };
const OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const OF_SPAN = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01" };
const KEPT_HEADERS = ["traceparent", KEPT.parent, "tracestate", KEPT.state];

const plain: DeliveryRequest = {
  user: "main",
  url: "https://a.test/",
  method: "POST",
  headers: ["X-A", "1"],
  body: Buffer.alloc(0),
  timeoutMs: 1_000,
  messageId: "msg_1",
  retried: 2,
};

function send(
  request: DeliveryRequest,
  result: DeliveryResult,
): { headers: readonly string[]; calls: OutgoingCall[]; ends: CallEnd[]; results: DeliveryResult[] } {
  const calls: OutgoingCall[] = [];
  const ends: CallEnd[] = [];
  const results: DeliveryResult[] = [];
  let headers: readonly string[] = [];
  const tracer: Tracer = {
    request: () => assert.fail("no request was received"),
    call(call) {
      calls.push(call);
      return { trace: OF_SPAN, end: (end) => ends.push(end) };
    },
    flush: async () => {},
  };
  const outbound = new TracedOutbound(
    {
      send(sent, done) {
        headers = sent.headers;
        done(result);
      },
      dropUser: () => {},
    },
    tracer,
  );
  outbound.send(request, (each) => {
    results.push(each);
  });
  return { headers, calls, ends, results };
}

const answer = { kind: "answer", status: 503, headers: [], body: Buffer.alloc(0) } as const;

test("an attempt sends the trace of its span instead of the stored one", () => {
  const traced = { ...plain, headers: [...plain.headers, ...KEPT_HEADERS], trace: KEPT };
  const { headers, calls, ends, results } = send(traced, answer);
  assert.deepEqual(headers, ["X-A", "1", "traceparent", OF_SPAN.parent]);
  assert.deepEqual(calls, [{ method: "POST", url: "https://a.test/", messageId: "msg_1", retried: 2, parent: KEPT }]);
  assert.deepEqual([ends, results], [[{ status: 503 }], [answer]]);
});

test("a message without a trace, as from a schedule, begins one with its attempt", () => {
  const { headers, calls } = send(plain, answer);
  assert.deepEqual([headers, calls[0]?.parent], [["X-A", "1", "traceparent", OF_SPAN.parent], undefined]);
});

test("sends a trace that the publisher forwards unchanged, as the parent of the span", () => {
  const forwarded = ["Traceparent", OTHER];
  const { headers, calls } = send({ ...plain, headers: forwarded }, answer);
  assert.deepEqual([headers, calls[0]?.parent], [forwarded, { parent: OTHER }]);
  const broken = ["Traceparent", "of another kind"];
  const second = send({ ...plain, headers: broken }, answer);
  assert.deepEqual([second.headers, second.calls[0]?.parent], [broken, undefined]);
});

test("an attempt without an answer ends its span with the reason", () => {
  const { ends } = send(plain, { kind: "failure", text: "Nothing listens there" });
  assert.deepEqual(ends, [{ status: undefined, failure: "Nothing listens there" }]);
});
