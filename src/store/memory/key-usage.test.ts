/** Stamps: time of the last use, use count, and conversion between the forms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import {
  frequencyFromRecency,
  frequencyOf,
  frequencyStamp,
  frequencyStampAfterUse,
  idleSecondsOf,
  recencyFromFrequency,
  recencyStamp,
  recencyStampBefore,
} from "./key-usage.ts";
import { defaultMemorySettings } from "./memory-settings.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const spans: readonly (readonly [sinceMs: number, idleSeconds: number])[] = [
  [0, 0],
  [999, 0],
  [1_000, 1],
  [3_600_000, 3_600],
  [200 * DAY_MS, 17_280_000],
  // The clock stepped back.
  [-5_000, 0],
  [-100 * DAY_MS, 0],
];

test("idle time is in seconds, also across the wrap of 32 bits", () => {
  const wrapMs = 2 ** 32 * 10;
  for (const startMs of [NOW_MS, Math.ceil(NOW_MS / wrapMs) * wrapMs - 100])
    for (const [sinceMs, seconds] of spans)
      assert.equal(idleSecondsOf(recencyStamp(startMs), startMs + sinceMs), seconds, `${startMs} + ${sinceMs}`);
});

test("a stamp can be set back over its whole range", () => {
  assert.equal(idleSecondsOf(recencyStampBefore(NOW_MS, 1_000), NOW_MS), 1_000);
  assert.equal(idleSecondsOf(recencyStampBefore(NOW_MS, Number.MAX_SAFE_INTEGER), NOW_MS), 21_474_836);
});

test("a counter falls by one per minute without a use, or per several minutes, or never", () => {
  const stamp = frequencyStamp(NOW_MS, 10);
  const rows: readonly (readonly [minutes: number, decayMinutes: number, counter: number])[] = [
    [0, 1, 10],
    [3, 1, 7],
    [3, 2, 9],
    [100, 1, 0],
    [100, 0, 10],
    [-100, 1, 10],
  ];
  for (const [minutes, frequencyDecayMinutes, counter] of rows) {
    const settings = { ...defaultMemorySettings, frequencyDecayMinutes };
    assert.equal(
      frequencyOf(stamp, NOW_MS + minutes * MINUTE_MS, settings),
      counter,
      `${minutes}, ${frequencyDecayMinutes}`,
    );
  }
});

test("a counter grows more and more slowly, up to 255, as in the table of redis.conf", () => {
  const rows: readonly (readonly [logFactor: number, uses: number, least: number, most: number])[] = [
    [0, 100, 105, 105],
    [0, 1_000, 255, 255],
    [1, 1_000, 40, 60],
    [10, 100, 7, 13],
    [10, 1_000, 14, 22],
    [10, 100_000, 125, 160],
  ];
  for (const [frequencyLogFactor, uses, least, most] of rows) {
    const chance = { settings: { ...defaultMemorySettings, frequencyLogFactor }, random: seededRandom(1) };
    let stamp = frequencyStamp(NOW_MS);
    for (let use = 0; use < uses; use += 1) stamp = frequencyStampAfterUse(stamp, NOW_MS, chance);
    const counter = frequencyOf(stamp, NOW_MS, chance.settings);
    assert.ok(counter >= least && counter <= most, `factor ${frequencyLogFactor}, ${uses} uses: ${counter}`);
  }
});

test("conversion between the forms keeps the minute of the last use", () => {
  const stamp = recencyStampBefore(NOW_MS, 600);
  const counted = frequencyFromRecency(stamp, NOW_MS);
  assert.equal(frequencyOf(counted, NOW_MS - 600_000, defaultMemorySettings), 5);
  assert.equal(frequencyOf(counted, NOW_MS, defaultMemorySettings), 0);
  assert.equal(idleSecondsOf(recencyFromFrequency(counted, NOW_MS), NOW_MS), 600);
});
