/** Log lines about graphs that are built after a start, with a virtual clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type LogFields, silentLog } from "../../kernel/log.ts";
import { type GraphSubject, reportGraphs } from "./graph-report.ts";

/** A namespace of `records`, with the count that is in its graph. */
class Subject implements GraphSubject {
  graph: { count: number } | undefined;
  records: number;

  constructor(records: number, count: number) {
    this.records = records;
    this.graph = { count };
  }

  get pendingCount(): number {
    return this.graph === undefined ? 0 : this.records - this.graph.count;
  }

  /** How many are added to the graph every 100 ms. */
  build(clock: VirtualClock, count: number): void {
    if (this.graph === undefined) return;
    this.graph.count = Math.min(this.records, this.graph.count + count);
    clock.after(100, () => this.build(clock, count));
  }
}

function setup(): { clock: VirtualClock; lines: LogFields[]; log: typeof silentLog } {
  const lines: LogFields[] = [];
  const note = (event: string, fields?: LogFields): void => void lines.push({ event, ...fields });
  return { clock: new VirtualClock(), lines, log: { ...silentLog, info: note, warn: note } };
}

test("logs graph building at its begin, every five seconds and at its end", () => {
  const { clock, lines, log } = setup();
  const [empty, loaded] = [new Subject(8_000, 0), new Subject(4_000, 3_000)];
  empty.build(clock, 100);
  loaded.build(clock, 100);

  reportGraphs([empty, new Subject(500, 500), loaded], { clock, log });
  clock.advance(20_000);

  assert.deepEqual(lines, [
    { event: "graphs are being built", namespaces: 2, records: 12_000, pending: 7_000 },
    { event: "building graphs", percent: 83, done: 10_000, pending: 2_000, perSecond: 1_133 },
    { event: "graphs are built", records: 12_000, pending: 0, seconds: 8 },
  ]);
});

test("logs nothing if graphs are built within a second, or if no graph is built", () => {
  const { clock, lines, log } = setup();
  const quick = new Subject(900, 0);
  quick.build(clock, 100);

  reportGraphs([quick], { clock, log });
  reportGraphs([new Subject(500, 500)], { clock, log });
  clock.advance(60_000);

  assert.deepEqual(lines, []);
});

test("continuing writes leave a few records pending, and the graphs count as built", () => {
  const { clock, lines, log } = setup();
  const subject = new Subject(10_000, 0);
  subject.build(clock, 500);
  const write = (): void => {
    subject.records += 50;
    clock.after(1_000, write);
  };
  clock.after(950, write);

  reportGraphs([subject], { clock, log });
  clock.advance(30_000);

  assert.deepEqual(
    lines.map(({ event }) => event),
    ["graphs are being built", "graphs are built"],
  );
});

test("logs once, after a minute, that graphs are no longer built", () => {
  const { clock, lines, log } = setup();

  reportGraphs([new Subject(1_000, 100)], { clock, log });
  clock.advance(600_000);

  assert.deepEqual(lines.slice(-2), [
    { event: "building graphs", percent: 10, done: 100, pending: 900, perSecond: 0 },
    {
      event: "graph building has stopped; pending records are searched exactly",
      done: 100,
      pending: 900,
      seconds: 60,
    },
  ]);
});

test("logs nothing more after the namespace is emptied, or after a stop", () => {
  const { clock, lines, log } = setup();
  const subject = new Subject(1_000, 100);
  reportGraphs([subject], { clock, log });
  const stop = reportGraphs([new Subject(1_000, 100)], { clock, log });
  clock.advance(500);

  subject.graph = undefined;
  stop();
  clock.advance(600_000);

  assert.deepEqual(lines, []);
});
