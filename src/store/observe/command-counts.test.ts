/** Estimates from timed runs, and errors by name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandCounts, ErrorCounts } from "./command-counts.ts";

test("the first 16 runs are timed, then one in 256", () => {
  const counts = new CommandCounts();
  const timed: number[] = [];
  for (let run = 1; run <= 600; run += 1) if (counts.begin()) timed.push(run);
  assert.deepEqual(timed, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 256, 512]);
  assert.equal(counts.calls, 600);
});

test("a timed run counts for the untimed ones before it", () => {
  const counts = new CommandCounts();
  for (let run = 1; run <= 256; run += 1) if (counts.begin()) counts.addTime(run === 256 ? 0.003 : 0.001);

  // 16 runs of 1 µs, and 240 with an estimate of 3 µs.
  assert.equal(counts.usPerCall, 2.875);
  assert.equal(counts.usOfShare(0.0625), 1);
  assert.ok(Math.abs((counts.usOfShare(0.07) ?? 0) - 3.3636) < 0.0001);
});

test("percentiles are exact to a fifth, between 16 ns and a minute", () => {
  for (const [tookMs, us] of [
    [0, 0.015625],
    [0.001, 1],
    [0.0011, 1.189207115002721],
    [1, 1024],
    [1_000_000, 56431603.16934905],
  ] as const) {
    const counts = new CommandCounts();
    counts.begin();
    counts.addTime(tookMs);
    assert.ok(Math.abs((counts.usOfShare(0.5) ?? -1) / us - 1) < 1e-6, `${tookMs} ms: ${counts.usOfShare(0.5)}`);
  }
});

test("a command that never ran has no figures", () => {
  const counts = new CommandCounts();
  assert.equal(counts.usPerCall, 0);
  assert.equal(counts.usOfShare(0.5), undefined);
});

test("errors are counted by their first word, with at most 128 different words", () => {
  const counts = new ErrorCounts();
  for (const text of ["ERR no such key", "ERR syntax error", "WRONGTYPE Operation", "CUSTOM"]) counts.add(text);
  assert.deepEqual(
    [...counts.byName],
    [
      ["ERR", 2],
      ["WRONGTYPE", 1],
      ["CUSTOM", 1],
    ],
  );

  for (let i = 0; i < 200; i += 1) counts.add(`NAME${i} text`);
  counts.add("ERR once more");
  assert.equal(counts.byName.size, 128);
  assert.equal(counts.byName.get("ERR"), 3);
  assert.equal(counts.total, 205);

  counts.reset();
  assert.deepEqual([counts.total, counts.byName.size], [0, 0]);
});
