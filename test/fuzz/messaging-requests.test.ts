/**
 * Requests to messaging that are combined from meaningful pieces,
 * in every order and place: each ends with a success or a refusal,
 * and the engine gets only what may reach a destination.
 *
 * Run again:  LARDER_MESSAGING_REQUESTS_SEED=… npm run t -- test/fuzz/messaging-requests.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { HeadMemo } from "../../src/edge/handler.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { isForwarded } from "../../src/messaging/options/forwarded-headers.ts";
import { callbackOptions } from "../../src/messaging/options/headers.ts";
import { isIdentifier } from "../../src/messaging/options/identifiers.ts";
import type { PublishOptions, PublishRequest } from "../../src/messaging/options/publish-request.ts";
import { allowanceOf } from "../budget.ts";
import { EDGE_TOKEN, messagingEdge } from "../harness/messaging-edge.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_MESSAGING_REQUESTS_SEED");

const names: readonly string[] = [
  ...["method", "delay", "not-before", "retries", "retry-delay", "timeout", "callback", "failure-callback", "label"],
  ...["deduplication-id", "content-based-deduplication", "flow-control-key", "flow-control-value", "redact-fields"],
  ...["queue-name", "header-forward", "cron", "schedule-id", "hops", "forward-x", "forward-host", "forward-", "token"],
  ...[
    "forward-upstash-signature",
    "callback-forward-x",
    "callback-retries",
    "callback-delay",
    "callback-x",
    "callback-",
  ],
  ...["callback-failure-callback", "failure-callback-timeout", "telemetry-sdk", "unknown", "signature", "__proto__"],
];
const values: readonly string[] = [
  ...[
    "",
    "0",
    "1",
    "3",
    "-1",
    "1e9",
    "999999999999999999999",
    "5s",
    "1h30m",
    "true",
    "false",
    "GET",
    "post",
    "a,b",
    "k",
  ],
  ...[
    "https://a.test/",
    "http://[::1]:1/",
    "https://u:p@a.test",
    "ftp://a.test",
    "1000*pow(2,retried)",
    "pow(",
    "body",
  ],
  ...["header[X]", "rate=1, period=1m", "parallelism=2", "@daily", "0 0 30 2 *", "é", "\xff", "%41", "%zz", "a b", "#"],
];
const separators: readonly string[] = [
  "/",
  "//",
  "?",
  "&",
  "=",
  "%2F",
  "%3A",
  ":",
  "#",
  "%00",
  "%C3%A9",
  "%FF",
  "..",
  ".",
];
const destinations: readonly string[] = [
  ...[
    "https://a.test",
    "http://a.test:81/b",
    "https:/a.test",
    "https%3A%2F%2Fa.test%2Fb%3Fx%3D1",
    "group",
    "a b",
    "api/llm",
  ],
  ...["HTTP://A.test/%7e", "https://", "http://[", "mailto:a", "https://a.test/é", "//a.test", ""],
];
const prefixes: readonly string[] = ["Service-", "Upstash-", "service-", "upstash-", "service_", "qstash_", ""];
const statuses: readonly number[] = [200, 202, 400, 401, 404, 405, 412, 501];

test("C-10, C-11, C-12: for any request, also a repeated one, the engine gets only what may reach a destination", async (context) => {
  const random = seededRandom(seed);
  const allowance = allowanceOf("messaging-requests");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count : Number.POSITIVE_INFINITY;
  let accepted = 0;
  let count = 0;
  const edge = messagingEdge({
    accept: (requests) => {
      accepted += 1;
      for (const request of requests) check(request);
      const outcomes = requests.map(({ destination: url }) => ({
        kind: "url" as const,
        published: { messageId: "msg_1", url, isDeduplicated: false },
      }));
      return { outcomes, safe: undefined };
    },
    group: () => undefined,
  });
  while (count < countMax && systemClock.monotonicMs() < endMs) {
    const sent = draw(random);
    const where = (): string => `SEED=${seed} ${JSON.stringify(sent)}`;
    const reply = await edge
      .send(sent.line, sent)
      .catch((fault: unknown) => assert.fail(`${where()}: ${String(fault)}`));
    if (!statuses.includes(reply.status)) assert.fail(`${where()}: ${reply.status}`);
    if (reply.status >= 400 && Object.keys(reply.json as object).join() !== "error")
      assert.deepEqual(Object.keys(reply.json as object), ["error"], where());
    if (reply.text.includes(EDGE_TOKEN)) assert.fail(where());
    const calls = acceptedIn(edge.calls);
    edge.calls.length = 0;
    const memo: HeadMemo = { learnt: undefined };
    for (let times = 0; times < 3; times += 1) {
      const repeated = await edge.send(sent.line, { ...sent, memo });
      if (repeated.status !== reply.status || repeated.text !== reply.text)
        assert.deepEqual([repeated.status, repeated.text], [reply.status, reply.text], where());
      const repeatedCalls = acceptedIn(edge.calls);
      if (!isDeepStrictEqual(repeatedCalls, calls)) assert.deepEqual(repeatedCalls, calls, where());
      edge.calls.length = 0;
    }
    count += 1;
  }
  assert.ok(count < 1_000 || accepted > count / 50, `only ${accepted} of ${count} requests were accepted`);
  context.diagnostic(`SEED=${seed}: ${count} requests, ${accepted} accepted`);

  function check({ destination, options }: PublishRequest): void {
    const isUrl = destination.startsWith("http://") || destination.startsWith("https://");
    assert.ok(isUrl ? URL.canParse(destination) : isIdentifier(destination), `SEED=${seed} ${destination}`);
    assert.ok(!JSON.stringify([destination, options]).includes(EDGE_TOKEN), `SEED=${seed} ${destination}`);
    checkOptions(options);
    if (options.callback !== undefined) checkOptions(callbackOptions(options.callback, options.retriesMax));
    if (options.failureCallback !== undefined)
      checkOptions(callbackOptions(options.failureCallback, options.retriesMax));
  }
});

/** The requests that the engine got, without the object that repeated ones share. */
function acceptedIn(calls: readonly unknown[][]): readonly object[] {
  const accepted = calls.filter(([name]) => name === "accept");
  return accepted.map(([, requests]) => (requests as PublishRequest[]).map(({ shared: _, ...request }) => request));
}

function checkOptions({ headers, retriesMax }: PublishOptions): void {
  assert.ok(Number.isSafeInteger(retriesMax) && retriesMax >= 0, `SEED=${seed} ${retriesMax}`);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    const isAllowed = isForwarded(name.toLowerCase()) || (i === 0 && name === "Content-Type");
    assert.ok(isAllowed, `SEED=${seed} ${name}`);
    // Throws for an invalid header.
    new Headers([[name, headers[i + 1] ?? ""]]);
  }
}

function draw(random: Random): { line: string; headers: string[]; body?: unknown; token: string | null } {
  const isTokenInQuery = random.below(4) === 0;
  const query = several(random, 3, () => {
    const name = pick(random, prefixes).toLowerCase() + pick(random, names);
    return `${name}=${random.below(3) === 0 ? pick(random, values) : encodeURIComponent(pick(random, values))}`;
  });
  if (isTokenInQuery)
    query.splice(random.below(query.length + 1), 0, `${pick(random, ["service_token", "qstash_token"])}=${EDGE_TOKEN}`);
  const token = isTokenInQuery && random.below(2) === 0 ? null : EDGE_TOKEN;
  const headers = several(random, 4, () => [pick(random, prefixes) + pick(random, names), pick(random, values)]).flat();
  if (random.below(2) === 0)
    headers.push("Content-Type", "text/plain", "Cookie", "a=b", "Connection", "x-b", "X-B", "1");
  if (random.below(5) === 0) {
    const body = several(random, 3, () => ({
      destination: pick(random, destinations),
      headers: Object.fromEntries(
        several(random, 3, () => [pick(random, prefixes) + pick(random, names), pick(random, values)]),
      ),
      ...(random.below(2) === 0 ? { body: pick(random, values) } : {}),
      ...(random.below(3) === 0 ? { queue: pick(random, values) } : {}),
    }));
    return { line: "POST /v2/batch", headers, body, token };
  }
  const tail = several(random, 2, () => pick(random, separators) + pick(random, values)).join("");
  const path = `${pick(random, ["publish", "enqueue/q"])}/${pick(random, destinations)}${random.below(3) === 0 ? tail : ""}`;
  const mark = query.length > 0 ? (path.includes("?") ? "&" : "?") : "";
  // A request line has no blanks and only Latin-1; the listener guarantees it.
  return { line: `POST /v2/${path}${mark}${query.join("&")}`.replaceAll(/ (?!\/v2)/g, "%20"), headers, token };
}

function pick(random: Random, from: readonly string[]): string {
  return from[random.below(from.length)] ?? "";
}

function several<Item>(random: Random, countMax: number, one: () => Item): Item[] {
  return Array.from({ length: random.below(countMax + 1) }, one);
}
