import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "./clock.virtual.ts";
import { createLog, faultFields, type Log, type LogFormat, type LogLevel } from "./log.ts";

function collect(format: LogFormat, level: LogLevel = "debug"): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  return { log: createLog({ level, format, clock, sink: (line) => lines.push(line) }), lines };
}

test("a JSON line carries time, level, event and the fields that have a value", () => {
  const { log, lines } = collect("json");

  log.with({ area: "store" }).info("segment closed", { segment: 3, reason: undefined, final: true });

  assert.deepEqual(lines, [
    '{"time":"2026-01-02T03:04:05.006Z","level":"info","event":"segment closed","area":"store","segment":3,"final":true}\n',
  ]);
});

test("a text line is for people: words are bare, other text is quoted", () => {
  const { log, lines } = collect("text");

  log.warn("disk full", { path: "/data/store", reason: "no space left" });

  assert.deepEqual(lines, ['2026-01-02T03:04:05.006Z warn  disk full path=/data/store reason="no space left"\n']);
});

test("lines below the level are dropped", () => {
  const { log, lines } = collect("text", "warn");

  log.debug("one");
  log.info("two");
  log.warn("three");
  log.with({ area: "store" }).info("four");
  log.error("five");

  assert.deepEqual(
    lines.map((line) => line.slice(25).trimEnd()),
    ["warn  three", "error five"],
  );
});

test("no field can start a new line or send a control sequence to a terminal", () => {
  for (const format of ["json", "text"] as const) {
    const { log, lines } = collect(format);
    log.info("a\nb", { id: 'x\r\n{"level":"error"}', title: "\u001b[2J\u009b2J" });
    const [line = ""] = lines;
    assert.equal(line.indexOf("\n"), line.length - 1, format);
    assert.equal(/\p{Cc}/u.test(line.slice(0, -1)), false, format);
  }
});

test("logs a fault with its text and its place", () => {
  const fault = Object.assign(new Error("no space left"), { code: "ENOSPC" });

  const fields = faultFields(fault);

  assert.equal(fields["fault"], "no space left");
  assert.equal(fields["code"], "ENOSPC");
  assert.match(String(fields["stack"]), /log\.test\.ts/);
  assert.deepEqual(faultFields("plain"), { fault: "plain" });
});
