/** The reported progress of a long command, with a virtual clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type LogFields, silentLog } from "../../kernel/log.ts";
import { Progress, type ProgressOptions, printMegabytes } from "./progress.ts";

const WIPE = "\r\u001b[2K";

function atTerminal(what: Pick<ProgressOptions, "unit" | "print" | "tellsTimeLeft">) {
  const clock = new VirtualClock();
  const texts: string[] = [];
  const terminal = (text: string): void => void texts.push(text);
  return { clock, texts, progress: new Progress({ ...what, clock, terminal, log: silentLog }) };
}

function inLog(unit: string) {
  const clock = new VirtualClock();
  const lines: LogFields[] = [];
  const log = { ...silentLog, info: (event: string, fields?: LogFields) => void lines.push({ event, ...fields }) };
  return { clock, lines, progress: new Progress({ unit, clock, terminal: undefined, log }) };
}

function line(text: string): string {
  return `${WIPE}\u001b[?7l${text}\u001b[?7h`;
}

test("at a terminal, rewrites one line after the first second, at most five times a second, and clears it", () => {
  const { clock, texts, progress } = atTerminal({ unit: "keys" });
  progress.expect(1_000, 100);

  for (let i = 0; i < 15; i += 1) {
    clock.advance(100);
    progress.add(10);
  }
  progress.end();
  progress.end();

  assert.deepEqual(texts, [
    line("keys: 20 %, 200 of 1000, 100/s"),
    line("keys: 22 %, 220 of 1000, 100/s"),
    line("keys: 24 %, 240 of 1000, 100/s"),
    WIPE,
  ]);
});

test("elsewhere, logs a line after the first second, every five seconds and at the end", () => {
  const { clock, lines, progress } = inLog("records");

  for (let i = 0; i < 14; i += 1) {
    clock.advance(500);
    progress.add(1);
  }
  progress.end();

  const unknown = { event: "progress", unit: "records", total: undefined, percent: undefined, perSecond: 2 };
  assert.deepEqual(lines, [
    { ...unknown, done: 2 },
    { ...unknown, done: 12 },
    { ...unknown, done: 14 },
  ]);
});

test("reports nothing about work that ends within a second", () => {
  const [shown, logged] = [atTerminal({ unit: "keys" }), inLog("keys")];
  for (const { clock, progress } of [shown, logged]) {
    progress.expect(3);
    for (let i = 0; i < 3; i += 1) {
      clock.advance(300);
      progress.add(1);
    }
    progress.end();
  }

  assert.deepEqual([shown.texts, logged.lines], [[], []]);
});

test("reports bytes as megabytes, and the total at the end", () => {
  const { clock, texts, progress } = atTerminal({ unit: "bytes of store", print: printMegabytes });
  progress.expect(466_000_000);

  clock.advance(1_000);
  progress.reach(4_660_000);
  clock.advance(1_000);
  progress.reach(466_000_000);

  assert.deepEqual(texts, [
    line("bytes of store: 1 %, 4.7 MB of 466 MB, 4.7 MB/s"),
    line("bytes of store: 100 %, 466 MB of 466 MB, 233 MB/s"),
  ]);
});

test("tells the time that is left by the rate so far, if it is asked to", () => {
  const { clock, texts, progress } = atTerminal({ unit: "bytes", tellsTimeLeft: true });
  progress.expect(1_000);
  clock.advance(1_000);
  progress.reach(300);
  assert.deepEqual(texts, [line("bytes: 30 %, 300 of 1000, 300/s, 3 s left")]);
});
