/** What people see of a long command, by a clock that stands still. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type LogFields, silentLog } from "../../kernel/log.ts";
import { Progress } from "./progress.ts";

test("at a terminal one line is rewritten, at most five times a second, and ended", () => {
  const clock = new VirtualClock();
  const texts: string[] = [];
  const progress = new Progress({ unit: "keys", clock, terminal: (text) => texts.push(text), log: silentLog });
  progress.expect(1_000, 100);

  for (let i = 0; i < 10; i += 1) {
    clock.advance(100);
    progress.add(10);
  }
  progress.end();

  const line = (text: string): string => `\r\u001b[2Kkeys: ${text}`;
  assert.deepEqual(texts, [
    line("12 %, 120 of 1000, 100/s"),
    line("14 %, 140 of 1000, 100/s"),
    line("16 %, 160 of 1000, 100/s"),
    line("18 %, 180 of 1000, 100/s"),
    line("20 %, 200 of 1000, 100/s"),
    line("20 %, 200 of 1000, 100/s"),
    "\n",
  ]);
});

test("elsewhere there is a log line every five seconds and at the end", () => {
  const clock = new VirtualClock();
  const lines: LogFields[] = [];
  const log = { ...silentLog, info: (event: string, fields?: LogFields) => void lines.push({ event, ...fields }) };
  const progress = new Progress({ unit: "records", clock, terminal: undefined, log });

  for (let i = 0; i < 12; i += 1) {
    clock.advance(500);
    progress.add(1);
  }
  progress.end();

  assert.deepEqual(lines, [
    { event: "progress", unit: "records", done: 10, total: undefined, percent: undefined, perSecond: 2 },
    { event: "progress", unit: "records", done: 12, total: undefined, percent: undefined, perSecond: 2 },
  ]);
});
