/** The reported progress of a long start, with a virtual clock and a terminal that records texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { rewrite, WIPE } from "../cli/terminal-line.ts";
import type { ReplayProgress } from "./area.ts";
import { ReplayReport } from "./replay-report.ts";

interface Shown {
  readonly clock: VirtualClock;
  readonly report: ReplayReport;
  /** The output to the terminal or the log. */
  readonly texts: string[];
}

function atTerminal(): Shown {
  const clock = new VirtualClock();
  const texts: string[] = [];
  const log = createLog({ level: "debug", format: "text", clock, sink: (line) => texts.push(line) });
  return { clock, texts, report: new ReplayReport({ clock, log, terminal: (text) => texts.push(text) }) };
}

function inLog(): Shown {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const texts: string[] = [];
  const log = createLog({ level: "info", format: "json", clock, sink: (line) => texts.push(line) });
  return { clock, texts, report: new ReplayReport({ clock, log, terminal: undefined }) };
}

const MB = 1_000_000;

function replay(doneBytes: number, totalBytes: number): ReplayProgress {
  return { step: "replay", doneBytes, totalBytes };
}

test("reports nothing about a start of less than a second", () => {
  for (const { clock, report, texts } of [atTerminal(), inLog()]) {
    for (let i = 1; i <= 3; i += 1) {
      clock.advance(250);
      report.report("store", replay(i * MB, 4 * MB));
    }
    report.report("store", undefined);
    report.end();

    assert.deepEqual(texts, []);
  }
});

test("at a terminal, rewrites one line for all areas at most five times a second, and clears it at the end", () => {
  const { clock, report, texts } = atTerminal();

  for (let ms = 100; ms <= 1_400; ms += 100) {
    clock.advance(100);
    report.report("store", replay(ms * 210_000, 800 * MB));
    report.report("vector", { step: "snapshot", doneBytes: ms * 1_500, totalBytes: 20 * MB });
  }
  report.report("store", undefined);
  clock.advance(200);
  report.report("vector", replay(19 * MB, 20 * MB));
  report.report("vector", undefined);
  report.end();

  assert.deepEqual(texts, [
    rewrite("store: replaying 26 %, 210 MB/s; vector: loading 6 %, 1.5 MB/s"),
    rewrite("store: replaying 31 %, 210 MB/s; vector: loading 8 %, 1.5 MB/s"),
    rewrite("store: replaying 36 %, 210 MB/s; vector: loading 9 %, 1.5 MB/s"),
    rewrite("vector: replaying 95 %, 85 MB/s"),
    WIPE,
  ]);
});

test("elsewhere, logs a line for each area every five seconds: the step, the share of all, and the step's speed", () => {
  const { clock, report, texts } = inLog();

  for (let i = 1; i <= 8; i += 1) {
    clock.advance(1_000);
    if (i <= 4) report.report("messaging", { step: "snapshot", doneBytes: i * 100, totalBytes: 1_000 });
    else report.report("messaging", replay(400 + (i - 4) * 50, 1_000));
  }
  report.end();

  const facts = '"level":"info","event":"recovering","area":"messaging"';
  assert.deepEqual(texts, [
    `{"time":"2026-01-01T00:00:01.000Z",${facts},"step":"snapshot","percent":10,"doneBytes":100,"totalBytes":1000,"bytesPerSecond":100}\n`,
    `{"time":"2026-01-01T00:00:06.000Z",${facts},"step":"replay","percent":50,"doneBytes":500,"totalBytes":1000,"bytesPerSecond":50}\n`,
  ]);
});

test("after an abandoned start, areas that still replay report nothing", () => {
  const { clock, report, texts } = atTerminal();
  clock.advance(1_000);
  report.report("store", replay(1, 2));
  report.end();

  clock.advance(1_000);
  report.report("messaging", replay(1, 2));

  assert.deepEqual(texts, [rewrite("store: replaying 50 %, 0.0 MB/s"), WIPE]);
});
