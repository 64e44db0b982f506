import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InvalidFlowControl, parseFlowControlValue } from "./flow-control-value.ts";

test("C.flow-control: limits", () => {
  const table: [string, object][] = [
    ["parallelism=2", { parallelism: 2 }],
    ["rate=10", { rate: 10 }],
    ["rate=10,period=1m", { rate: 10, periodMs: 60_000 }],
    ["parallelism=3, rate=10, period=90", { parallelism: 3, rate: 10, periodMs: 90_000 }],
    ["  period = 1h30m3s ,\trate = 1  ", { periodMs: 5_403_000, rate: 1 }],
    ["period=7d", { periodMs: 604_800_000 }],
    ["period=0.5s", { periodMs: 500 }],
    ["rate=5,", { rate: 5 }],
    [" , parallelism=2,, rate=5 ,", { parallelism: 2, rate: 5 }],
    ["ratePerSecond=5", { rate: 5, periodMs: 1_000 }],
    ["parallelism=1000000000,ratePerSecond=1", { parallelism: 1_000_000_000, rate: 1, periodMs: 1_000 }],
  ];
  for (const [text, limits] of table) assert.deepEqual(parseFlowControlValue(text), limits, text);
});

test("C.flow-control: rejects invalid values with the reason", () => {
  const names = "known parts are parallelism=, rate=, period=, ratePerSecond=";
  const table: [string, string][] = [
    ["", `It has no part; ${names}`],
    [" , ,", `It has no part; ${names}`],
    ["parallelism", `Unknown part "parallelism"; ${names}`],
    ["parallelism=1,burst", `Unknown part "burst"; ${names}`],
    ["parallelism=1,=", `Unknown part "="; ${names}`],
    ["Parallelism=1", `Unknown part "Parallelism=1"; ${names}`],
    ["burst=1", `Unknown part "burst=1"; ${names}`],
    ["constructor=1", `Unknown part "constructor=1"; ${names}`],
    ["__proto__=1", `Unknown part "__proto__=1"; ${names}`],
    ["rate=1=2", `Unknown part "rate=1=2"; ${names}`],
    ["rate=1;period=1s", `Unknown part "rate=1;period=1s"; ${names}`],
    ["rate=1, rate=2", "rate is given twice"],
    ["rate=1, ratePerSecond=2", "ratePerSecond cannot be combined with rate or period"],
    ["ratePerSecond=2, period=1s", "ratePerSecond cannot be combined with rate or period"],
    ["parallelism=0", 'Invalid parallelism "0": give a whole number from 1 to 1000000000'],
    ["parallelism=-1", 'Invalid parallelism "-1": give a whole number from 1 to 1000000000'],
    ["parallelism=1.5", 'Invalid parallelism "1.5": give a whole number from 1 to 1000000000'],
    ["parallelism=", 'Invalid parallelism "": give a whole number from 1 to 1000000000'],
    ["rate=1e3", 'Invalid rate "1e3": give a whole number from 1 to 1000000000'],
    ["rate=1000000001", 'Invalid rate "1000000001": give a whole number from 1 to 1000000000'],
    ["ratePerSecond=x", 'Invalid ratePerSecond "x": give a whole number from 1 to 1000000000'],
    ["period=", 'Invalid period "": give a duration such as 30s, 5m or 1d'],
    ["period=1w", 'Invalid period "1w": give a duration such as 30s, 5m or 1d'],
    ["period=0", 'Invalid period "0": it must be above 0'],
    ["period=7d1s", 'Invalid period "7d1s": it must be at most a week'],
    ["rate=1,".repeat(200), "Longer than 1024 characters"],
  ];
  for (const [text, message] of table)
    assert.throws(
      () => parseFlowControlValue(text),
      (failure) => failure instanceof InvalidFlowControl && failure.message === message,
      text,
    );
});

test("random text of any length is rejected with InvalidFlowControl or has limits", () => {
  const words = ["parallelism", "rate", "period", "ratePerSecond", "=", ",", "1", "5m", "0", " "];
  const junk = fc.oneof(
    fc.string({ maxLength: 10_000 }),
    fc.array(fc.constantFrom(...words), { maxLength: 20 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(junk, (text) => {
      try {
        const { parallelism = 1, rate = 1, periodMs = 1 } = parseFlowControlValue(text);
        assert.ok(parallelism >= 1 && rate >= 1 && periodMs > 0 && periodMs <= 604_800_000);
      } catch (failure) {
        assert.ok(failure instanceof InvalidFlowControl, String(failure));
      }
    }),
    { numRuns: 500 },
  );
});
