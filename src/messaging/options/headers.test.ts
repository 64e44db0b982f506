import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessagingFailureKind } from "../failure.ts";
import { defaultLimits } from "../limits.ts";
import { headerRows } from "./header-rows.ts";
import {
  acceptedOptions,
  callbackOptions,
  type GivenHeaders,
  isKnownHeader,
  readOverrides,
  readPublishOptions,
  readScheduleOptions,
} from "./headers.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const context = {
  limits: { ...defaultLimits, retriesMax: 10, delayMsMax: 86_400_000, timeoutMsMax: 7_200_000 },
  nowMs: NOW_MS,
  refusalOf: (url: URL) => (url.hostname === "refused.test" ? "The destination refused.test is refused" : undefined),
};

/** `retries=2; label=a` as headers. */
function given(text: string, more: Partial<GivenHeaders> = {}): GivenHeaders {
  const own =
    text === ""
      ? []
      : text.split("; ").flatMap((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
  return { own, contentType: undefined, others: () => [], ...more };
}

function read(text: string, more: Partial<GivenHeaders> = {}): unknown {
  return readPublishOptions(given(text, more), context);
}

const plain = { method: "POST", headers: [], retriesMax: 3 };

test("a message without options has the defaults", () => {
  assert.deepEqual(read(""), plain);
});

test("C.options.repeated, C.options.ignored: each header of a message has the effect that the table states", () => {
  const rows: [string, object][] = [
    ["method=GET", { method: "GET" }],
    ["method=patch", { method: "PATCH" }],
    ["delay=50s", { delayMs: 50_000 }],
    ["delay=1h30m", { delayMs: 5_400_000 }],
    ["delay=90", { delayMs: 90_000 }],
    ["delay=0s", { delayMs: 0 }],
    ["not-before=1767225600", { notBeforeMs: 1_767_225_600_000 }],
    ["not-before=1767225600.0001", { notBeforeMs: 1_767_225_600_001 }],
    ["not-before=1", { notBeforeMs: 1_000 }],
    ["delay=50s; not-before=1767225600", { delayMs: 50_000, notBeforeMs: 1_767_225_600_000 }],
    ["retries=0", { retriesMax: 0 }],
    ["retries=10", { retriesMax: 10 }],
    ["retry-delay= 1000 * pow(2, retried) ", { retryDelay: "1000 * pow(2, retried)" }],
    ["timeout=90", { timeoutMs: 90_000 }],
    ["timeout=2h", { timeoutMs: 7_200_000 }],
    ["callback=https://a.test/cb", { callback: { url: "https://a.test/cb", given: [] } }],
    ["failure-callback=http://a.test", { failureCallback: { url: "http://a.test", given: [] } }],
    ["deduplication-id=any text, really", { deduplicationId: "any text, really" }],
    ["content-based-deduplication=true", { isDeduplicatedByContent: true }],
    ["content-based-deduplication=True", { isDeduplicatedByContent: true }],
    ["content-based-deduplication=false", {}],
    [
      "flow-control-key=k; flow-control-value=parallelism=2, rate=3, period=1m",
      { flowControl: { key: "k", parallelism: 2, rate: 3, periodMs: 60_000 } },
    ],
    ["flow-control-key=k; flow-control-value=ratePerSecond=5", { flowControl: { key: "k", rate: 5, periodMs: 1_000 } }],
    ["label=a", { labels: ["a"] }],
    ["label= a, b ,,c", { labels: ["a", "b", "c"] }],
    ["label=a; label=b", { labels: ["a", "b"] }],
    ["label=", {}],
    ["redact-fields=body", { redact: { body: true } }],
    ["redact-fields=body,header[X-A]", { redact: { body: true, headers: ["x-a"] } }],
    ["redact-fields=body; redact-fields=headers", { redact: { body: true, headers: true } }],
    ["redact-fields=", {}],
    ["queue-name=q.1", { queueName: "q.1" }],
    ["hops=10", { hops: 10 }],
    ["retries=1; retries=2", { retriesMax: 1 }],
    ["schedule-id=not an id", {}],
    ["telemetry-sdk=x@1; feature-set=a; unknown=1; retried=4; signature=x", {}],
  ];
  for (const [text, expected] of rows) assert.deepEqual(read(text), { ...plain, ...expected }, text);
  const tested = rows.map(([text]) => text).join("; ");
  for (const { name } of headerRows) {
    if (name !== "header-forward" && name !== "cron")
      assert.ok(tested.includes(`${name}=`), `${name} has no line in the table`);
  }
});

test("rejects invalid options with the name of the header", () => {
  const identifier = "must be 1 to 256 letters, digits, hyphens, underscores or periods, and not . or ..";
  const rows: [string, MessagingFailureKind, string][] = [
    [
      "method=BREW",
      "bad request",
      'Invalid value for Method: "BREW": use GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS',
    ],
    ["delay=soon", "bad request", 'Invalid value for Delay: "soon": use a duration such as 50s, 3m, 2h or 1d10h30m'],
    ["delay=-1s", "bad request", 'Invalid value for Delay: "-1s": use a duration such as 50s, 3m, 2h or 1d10h30m'],
    ["delay=2d", "quota exceeded", "Delay is above the limit of 86400 s from now"],
    ["not-before=tomorrow", "bad request", 'Invalid value for Not-Before: "tomorrow": use a time in Unix seconds'],
    ["not-before=1767312001", "quota exceeded", "Not-Before is above the limit of 86400 s from now"],
    [
      "cron=@daily",
      "bad request",
      'Invalid value for Cron: "@daily": a message is sent once; POST /v2/schedules/<destination> creates a schedule',
    ],
    ["retries=-1", "bad request", 'Invalid value for Retries: "-1": use a whole number, 0 or more'],
    ["retries=2.5", "bad request", 'Invalid value for Retries: "2.5": use a whole number, 0 or more'],
    ["retries=1000000", "quota exceeded", 'Retries "1000000" is above the limit of 10 retries'],
    ["timeout=1d", "bad request", 'Invalid value for Timeout: "1d": use a duration such as 50s, 3m or 2h'],
    ["timeout=0s", "bad request", 'Invalid value for Timeout: "0s": use a duration such as 50s, 3m or 2h'],
    ["timeout=3h", "bad request", 'Invalid value for Timeout: "3h": the limit is 7200s'],
    [
      "callback=a.test",
      "bad request",
      'Invalid value for Callback: "a.test": a callback is a URL that starts with http:// or https://',
    ],
    [
      "failure-callback=ftp://a.test",
      "bad request",
      'Invalid value for Failure-Callback: "ftp://a.test": a callback is a URL that starts with http:// or https://',
    ],
    [
      "callback=http://refused.test/",
      "bad request",
      'Invalid value for Callback: "http://refused.test/": The destination refused.test is refused',
    ],
    ["deduplication-id=", "bad request", 'Invalid value for Deduplication-Id: "": it must not be empty'],
    [
      "content-based-deduplication=yes",
      "bad request",
      'Invalid value for Content-Based-Deduplication: "yes": use true or false',
    ],
    ["header-forward=1", "bad request", 'Invalid value for Header-Forward: "1": use true or false'],
    [
      "flow-control-key=a b; flow-control-value=rate=1",
      "bad request",
      `Invalid value for Flow-Control-Key: "a b": ${identifier}`,
    ],
    ["flow-control-key=k", "bad request", "Flow-Control-Value is missing: set parallelism=n or rate=n for the key"],
    ["flow-control-value=rate=1", "bad request", "Flow-Control-Key is missing: Flow-Control-Value needs a key"],
    ["queue-name=a/b", "bad request", `Invalid value for Queue-Name: "a/b": ${identifier}`],
    ["hops=11", "bad request", "Hops is above 10: the message is in a loop"],
    ["hops=x", "bad request", 'Invalid value for Hops: "x": use a whole number, 0 or more'],
    ["forward-a b=1", "bad request", 'Invalid header name: "a b"'],
    [
      "forward-x-a=a\nb",
      "bad request",
      "Invalid value for the header X-A: control characters and characters outside Latin-1 are not allowed",
    ],
    [
      "workflow-runid=wfr 1",
      "bad request",
      "Invalid value for Workflow-RunId: it must be 1 to 512 visible ASCII characters without a space",
    ],
    ["workflow-init=true; workflow-calltype=other", "bad request", 'Invalid value for Workflow-CallType: "other"'],
  ];
  for (const [text, kind, failure] of rows) assert.throws(() => read(text), { kind, text: failure }, text);
});

test("errors of the parsers of values start with the name of the header", () => {
  const rows: [string, RegExp][] = [
    ["retry-delay=pow(", /^Invalid value for Retry-Delay: "pow\(": /],
    [
      "flow-control-key=k; flow-control-value=speed=1",
      /^Invalid value for Flow-Control-Value: "speed=1": Unknown part "speed=1"/,
    ],
    ["redact-fields=everything", /^Invalid value for Redact-Fields: "everything": Unknown field "everything"/],
    ["callback=http://a.test; callback-retry-delay=pow(", /^Invalid value for Callback-Retry-Delay: "pow\(": /],
  ];
  for (const [text, failure] of rows) assert.throws(() => read(text), { kind: "bad request", text: failure }, text);
});

test("reports the fault whose row comes first, whatever the order of the headers", () => {
  for (const text of ["timeout=x; delay=x", "delay=x; timeout=x"]) {
    assert.throws(() => read(text), { text: /^Invalid value for Delay/ });
  }
});

test("C.options.size: the length of the headers of a message is bounded", () => {
  assert.throws(() => read(`label=${"x".repeat(65_536)}`), {
    kind: "bad request",
    text: "The headers of a message have 65541 characters; the limit is 65536",
  });
});

test("Content-Type comes first, then forwarded headers with all their values", () => {
  assert.deepEqual(
    read("forward-x-team=a; forward-X-other=b; forward-x-team=c; forward-content-type=text/html", {
      contentType: "text/plain",
    }),
    { ...plain, headers: ["Content-Type", "text/plain", "X-Team", "a", "X-Other", "b", "X-Team", "c"] },
  );
});

test("C-11: forwarded headers never replace those of the transport or ours", () => {
  assert.deepEqual(
    read(
      "forward-host=x; forward-content-length=1; forward-upstash-signature=y; forward-service-message-id=z; forward-a=1",
    ),
    { ...plain, headers: ["A", "1"] },
  );
});

test("Header-Forward sends the other headers too, except names that are forwarded explicitly", () => {
  const others = ["Cookie", "a=b", "X-Team", "from the request", "Host", "larder.test", "Accept", "a", "accept", "b"];
  const options = { contentType: "text/plain", others: () => others };
  assert.deepEqual(read("header-forward=true; forward-x-team=mine", options), {
    ...plain,
    headers: ["Content-Type", "text/plain", "X-Team", "mine", "Cookie", "a=b", "Accept", "a", "Accept", "b"],
  });
  assert.deepEqual(read("header-forward=false", options), { ...plain, headers: ["Content-Type", "text/plain"] });
});

test("stores the settings of callbacks as given, and reads their options from them", () => {
  const options = readPublishOptions(
    given(
      "retries=7; retry-delay=5; callback=http://a.test/cb; callback-method=PUT; callback-timeout=5s; callback-forward-x-a=1; callback-x-b=2; callback-label=l",
    ),
    context,
  );
  assert.deepEqual(options.callback, {
    url: "http://a.test/cb",
    given: [
      ["method", "PUT"],
      ["timeout", "5s"],
      ["forward-x-a", "1"],
      ["x-b", "2"],
      ["label", "l"],
    ],
  });
  assert.ok(options.callback);
  assert.deepEqual(callbackOptions(options.callback, 7, "5"), {
    method: "PUT",
    headers: ["Content-Type", "application/json", "X-A", "1", "X-B", "2", "Label", "l"],
    retriesMax: 7,
    retryDelay: "5",
    timeoutMs: 5_000,
  });
});

test("a callback has POST and the retries of its message unless it sets its own", () => {
  const plan = { url: "http://a.test", given: [] };
  const json = ["Content-Type", "application/json"];
  assert.deepEqual(callbackOptions(plan, 5), { method: "POST", headers: json, retriesMax: 5 });
  assert.deepEqual(callbackOptions({ ...plan, given: [["retries", "1"]] }, 5), {
    method: "POST",
    headers: json,
    retriesMax: 1,
  });
});

test("a callback may have a failure callback, which has no callback", () => {
  const options = readPublishOptions(
    given("callback=http://a.test; callback-failure-callback=http://b.test; callback-failure-callback-forward-x=1"),
    context,
  );
  assert.ok(options.callback);
  const ofCallback = callbackOptions(options.callback, 3);
  assert.deepEqual(ofCallback.failureCallback, { url: "http://b.test", given: [["forward-x", "1"]] });
  assert.ok(ofCallback.failureCallback);
  assert.deepEqual(callbackOptions(ofCallback.failureCallback, 3).headers, [
    "Content-Type",
    "application/json",
    "X",
    "1",
  ]);
});

test("rejects invalid options of a callback when its message is published", () => {
  const rows: [string, MessagingFailureKind, string][] = [
    ["callback-delay=1s", "bad request", 'Invalid value for Callback-Delay: "1s": a callback cannot be delayed'],
    [
      "callback-not-before=1",
      "bad request",
      'Invalid value for Callback-Not-Before: "1": a callback cannot be delayed',
    ],
    [
      "callback-callback=http://c.test",
      "bad request",
      'Invalid value for Callback-Callback: "http://c.test": a callback has no callback of its own, but a failure callback',
    ],
    [
      "callback-failure-callback=http://c.test; callback-failure-callback-failure-callback=http://d.test",
      "bad request",
      'Invalid value for Callback-Failure-Callback-Failure-Callback: "http://d.test": the failure callback of a callback has none of its own',
    ],
    ["callback-retries=99", "quota exceeded", 'Callback-Retries "99" is above the limit of 10 retries'],
    [
      "callback-timeout=x",
      "bad request",
      'Invalid value for Callback-Timeout: "x": use a duration such as 50s, 3m or 2h',
    ],
    ["callback-a b=1", "bad request", 'Invalid header name: "a b"'],
    [
      "callback-workflow-runid=a b",
      "bad request",
      "Invalid value for Workflow-RunId: it must be 1 to 512 visible ASCII characters without a space",
    ],
  ];
  for (const [text, kind, failure] of rows) {
    assert.throws(() => read(`callback=http://a.test; ${text}`), { kind, text: failure }, text);
  }
  assert.throws(() => read("failure-callback=http://a.test; failure-callback-delay=1s"), {
    text: 'Invalid value for Failure-Callback-Delay: "1s": a callback cannot be delayed',
  });
});

test("settings of a missing callback have no effect, but must be valid", () => {
  assert.deepEqual(read("callback-retries=1; failure-callback-timeout=5s"), plain);
  assert.throws(() => read("callback-delay=1s"), {
    text: 'Invalid value for Callback-Delay: "1s": a callback cannot be delayed',
  });
  assert.throws(() => read("failure-callback-retries=x"), {
    text: 'Invalid value for Failure-Callback-Retries: "x": use a whole number, 0 or more',
  });
});

test("accepted settings without a callback can be read again, even if they are invalid now", () => {
  const { method, retriesMax } = acceptedOptions({ own: ["callback-delay", "1s"], contentType: undefined });
  assert.deepEqual([method, retriesMax], ["POST", 3]);
});

test("what a run accepted with a cron text stays accepted", () => {
  assert.equal(acceptedOptions({ own: ["cron", "@daily"], contentType: undefined }).method, "POST");
});

test("C1: a schedule has a cron text, and may have an id", () => {
  assert.deepEqual(readScheduleOptions(given("cron= 0 9 * * mon ; schedule-id=s-1; delay=5s"), context), {
    options: { ...plain, delayMs: 5_000 },
    cron: "0 9 * * mon",
    scheduleId: "s-1",
  });
  assert.equal(readScheduleOptions(given("cron=@daily"), context).scheduleId, undefined);
});

test("C1.deduplication: a schedule ignores deduplication options: each firing is a new message", () => {
  const { options } = readScheduleOptions(
    given("cron=@daily; deduplication-id=once; content-based-deduplication=true"),
    context,
  );
  assert.deepEqual([options.deduplicationId, options.isDeduplicatedByContent], [undefined, undefined]);
});

test("C1: rejects an invalid schedule with the name of the header", () => {
  const rows: [string, RegExp][] = [
    ["", /^Cron is missing: set the times at which the schedule fires$/],
    ["cron=often", /^Invalid value for Cron: "often": /],
    ["cron=0 0 30 2 *", /^Invalid value for Cron: "0 0 30 2 \*": /],
    ["cron=@daily; schedule-id=a b", /^Invalid value for Schedule-Id: "a b": must be 1 to 256 letters/],
    ["cron=@daily; not-before=1", /^Invalid value for Not-Before: "1": a schedule fires when Cron says; use Delay$/],
  ];
  for (const [text, failure] of rows) {
    assert.throws(() => readScheduleOptions(given(text), context), { kind: "bad request", text: failure }, text);
  }
});

test("overrides have only the given options", () => {
  const overrides = (text: string) => readOverrides(given(text, { contentType: "text/plain" }), context);
  assert.deepEqual(overrides(""), {});
  assert.deepEqual(overrides("retries=1; delay=1m; flow-control-key=k; flow-control-value=rate=1; forward-x=1"), {
    retriesMax: 1,
    delayMs: 60_000,
    flowControl: { key: "k", rate: 1 },
  });
  assert.throws(() => overrides("retries=x"), { kind: "bad request" });
});

test("names of options are known, so that they are not forwarded to a destination", () => {
  for (const name of [
    "retries",
    "label",
    "forward-x",
    "callback",
    "callback-x",
    "failure-callback-forward-y",
    "telemetry-sdk",
  ]) {
    assert.equal(isKnownHeader(name), true, name);
  }
  for (const name of ["", "forward-", "id", "name", "token", "retry"]) assert.equal(isKnownHeader(name), false, name);
});
