import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog, type LogLevel } from "../../kernel/log.ts";
import type { EventFields, EventName } from "./event-rows.ts";
import { EventReporter } from "./reporter.ts";

interface Options {
  isDebug?: boolean;
  isColoured?: boolean;
  level?: LogLevel;
  format?: "json" | "text";
}

/** Lines for people, and lines of the log, in one list. */
function start({ isDebug = false, isColoured = false, level = "info", format = "text" }: Options = {}) {
  const lines: string[] = [];
  const clock = new VirtualClock();
  const write = (line: string): void => void lines.push(line);
  const log = createLog({ level, format, clock, sink: write });
  const text = format === "text" ? write : undefined;
  return { lines, clock, events: new EventReporter({ isDebug, isColoured, level, log, write: text, clock }) };
}

const refusal: EventFields["request refused"] = {
  listener: "store",
  method: "GET",
  path: "/get/…",
  status: 401,
  reason: "WRONGPASS invalid or missing auth token",
  token: "abcd… of 40 characters",
};

const delivery: EventFields["delivery"] = {
  message: "msg_1",
  method: "POST",
  url: "http://localhost:3000/api",
  status: 200,
  failure: undefined,
  ms: 12,
};

/** Each event with its line in a terminal, after the time. */
const printed: readonly {
  [Name in EventName]: readonly [name: Name, fields: EventFields[Name], line: string];
}[EventName][] = [
  [
    "request refused",
    refusal,
    "refused     store: GET /get/…: 401 WRONGPASS invalid or missing auth token (token abcd… of 40 characters)",
  ],
  [
    "request refused",
    { ...refusal, method: undefined, path: undefined, status: 400, reason: "Malformed HTTP", token: undefined },
    "refused     store: an unreadable request: 400 Malformed HTTP",
  ],
  ["command failed", { over: "RESP", reason: "ERR no" }, "failed      command over RESP: ERR no"],
  ["delivery", delivery, "delivery    POST http://localhost:3000/api: 200 in 12 ms (msg_1)"],
  [
    "delivery",
    { ...delivery, status: undefined, failure: "Connection refused" },
    "delivery    POST http://localhost:3000/api: Connection refused in 12 ms (msg_1)",
  ],
  [
    "retry planned",
    {
      message: "msg_1",
      url: "http://a.test/",
      retry: 1,
      retriesMax: 3,
      next: "2026-01-01T00:00:12.000Z",
      inMs: 12_000,
    },
    "retry       1 of 3 of http://a.test/ at 00:00:12, in 12.0 s (msg_1)",
  ],
  [
    "dead letter",
    { message: "msg_1", url: "http://a.test/", reason: "status 500" },
    "dead letter http://a.test/: status 500 (msg_1)",
  ],
  [
    "schedule fired",
    {
      schedule: "scd_1",
      destination: "http://a.test/",
      messages: 1,
      failure: undefined,
      next: "2026-01-01T00:01:00.000Z",
    },
    "schedule    scd_1 to http://a.test/: 1 message, next 2026-01-01T00:01:00.000Z",
  ],
  [
    "schedule fired",
    { schedule: "scd_1", destination: "group", messages: 0, failure: "no endpoints", next: undefined },
    "schedule    scd_1 to group: no endpoints, next never",
  ],
  ["step done", { run: "wfr_1", step: 2, name: "send email" }, 'step        2 "send email" of wfr_1'],
  ["step done", { run: "wfr_1", step: undefined, name: undefined }, "step        ? of wfr_1"],
  [
    "run ended",
    { run: "wfr_1", url: "http://a.test/", state: "success", ms: 1_250 },
    "run         wfr_1 of http://a.test/: success after 1.3 s",
  ],
  ["tenant made", { kind: "index", name: "docs" }, "index       docs made"],
];

for (const [name, fields, line] of printed) {
  test(`prints for people: ${line}`, () => {
    const { lines, events } = start();
    events.note(name as "delivery", fields as EventFields["delivery"]);
    assert.deepEqual(lines, [`00:00:00 ${line}\n`]);
  });
}

test("colours the subject of a line, and nothing else", () => {
  const { lines, events } = start({ isColoured: true });
  events.note("delivery", delivery);
  assert.deepEqual(lines, [
    "00:00:00 \u001b[32mdelivery   \u001b[39m POST http://localhost:3000/api: 200 in 12 ms (msg_1)\n",
  ]);
});

test("JSON has the name of the event and its fields", () => {
  const { lines, events } = start({ format: "json", isColoured: true });
  events.note("delivery", { ...delivery, status: 500 });
  assert.deepEqual(lines, [
    '{"time":"2026-01-01T00:00:00.000Z","level":"warn","event":"delivery","message":"msg_1","method":"POST","url":"http://localhost:3000/api","status":500,"ms":12}\n',
  ]);
});

test("a server that is not for development logs events at the level debug", () => {
  const { lines, events } = start({ isDebug: true, level: "debug" });
  events.note("delivery", delivery);
  assert.deepEqual(lines, [
    "2026-01-01T00:00:00.000Z debug delivery message=msg_1 method=POST url=http://localhost:3000/api status=200 ms=12\n",
  ]);
});

test("prints no event below the level of the log", () => {
  const { lines, events } = start({ level: "error" });
  events.note("request refused", refusal);
  events.note("dead letter", { message: "msg_1", url: "http://a.test/", reason: "status 500" });
  assert.deepEqual(lines, ["00:00:00 dead letter http://a.test/: status 500 (msg_1)\n"]);
});

test("escapes control characters, and cuts a long line", () => {
  const { lines, events } = start();
  events.note("command failed", { over: "HTTP", reason: "a\u001b[2Jb\r\nc\u009bd" });
  events.note("command failed", { over: "HTTP", reason: "x".repeat(1_000) });
  assert.equal(lines[0], "00:00:00 failed      command over HTTP: a\\x1b[2Jb\\x0d\\x0ac\\x9bd\n");
  assert.equal(lines[1]?.length, "00:00:00 failed      ".length + 402);
});

test("prints 20 lines of a kind in a second, and then how many were left out", () => {
  const { lines, clock, events } = start();
  for (let i = 0; i < 1_000; i += 1) events.note("request refused", refusal);
  events.note("delivery", delivery);
  assert.equal(lines.filter((line) => line.includes("refused ")).length, 20);
  assert.equal(lines.length, 21, "another kind has room of its own");

  clock.advance(1_000);
  assert.equal(lines[21], '00:00:01 …           980 more of "request refused" left out\n');
  events.note("request refused", refusal);
  assert.equal(lines.length, 23, "the next second has room again");
  clock.advance(60_000);
  assert.equal(lines.length, 23);
});

test("the count of the lines left out is JSON too", () => {
  const { lines, clock, events } = start({ format: "json" });
  for (let i = 0; i < 22; i += 1) events.note("delivery", delivery);
  clock.advance(1_000);
  assert.equal(lines.length, 21);
  assert.deepEqual(JSON.parse(lines[20] ?? ""), {
    ...{ time: "2026-01-01T00:00:01.000Z", level: "warn", event: "events left out" },
    ...{ of: "delivery", count: 2 },
  });
});
