import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDecimal, parseDurationMs, parseGoDurationMs } from "./duration.ts";

test("C.spans: a duration is the sum of its pairs, in ms", () => {
  const table: [string, string, number | undefined][] = [
    ["50s", "smhd", 50_000],
    ["3m", "smhd", 180_000],
    ["2h", "smhd", 7_200_000],
    ["1d", "smhd", 86_400_000],
    ["1d10h30m", "smhd", 124_200_000],
    ["1h30m3s", "smh", 5_403_000],
    ["1.5h", "smhd", 5_400_000],
    ["0.5s", "smhd", 500],
    [".5s", "smhd", 500],
    ["2.m", "smhd", 120_000],
    ["0s", "smhd", 0],
    ["0", "smhd", 0],
    ["90", "smh", 90_000],
    ["1.2345", "smh", 1_235],
    ["30m1h", "smhd", 5_400_000],
    ["1m1m", "smhd", 120_000],
    ["007s", "smhd", 7_000],
    ["9007199254740s", "smhd", 9_007_199_254_740_000],
  ];
  for (const [text, units, ms] of table) assert.equal(parseDurationMs(text, units), ms, text);
});

test("C.spans: invalid text is undefined", () => {
  const table = [
    "",
    " ",
    "s",
    "-1s",
    "+1s",
    "1 s",
    " 1s",
    "1s ",
    "1h 30m",
    "1h30",
    "1S",
    "1ms",
    "1w",
    "1.2.3s",
    ".",
    ".s",
    "1e3",
    "1e3s",
    "0x10",
    "NaN",
    "Infinity",
    "1,5s",
    "१s",
    "1__proto__",
    "1constructor",
    "9007199254741s",
    "9".repeat(64),
    `${"9".repeat(400)}s`,
    `${"0".repeat(64)}1s`,
  ];
  for (const text of table) assert.equal(parseDurationMs(text, "smhd"), undefined, text);
  assert.equal(parseDurationMs("1d", "smh"), undefined);
});

test("Go's durations have more units and need them", () => {
  const table: [string, number | undefined][] = [
    ["6m5s", 365_000],
    ["250ms", 250],
    ["1m0.5s", 60_500],
    ["1h0m0s", 3_600_000],
    ["1500us", 2],
    ["1500\u00b5s", 2],
    ["1500\u03bcs", 2],
    ["999999ns", 1],
    ["0", 0],
    ["0s", 0],
    ["5", undefined],
    ["1d", undefined],
    ["-1s", undefined],
    ["1toString", undefined],
    ["", undefined],
  ];
  for (const [text, ms] of table) assert.equal(parseGoDurationMs(text), ms, text);
});

test("a decimal number is digits with at most one point", () => {
  const table: [string, number | undefined][] = [
    ["12", 12],
    ["1.5", 1.5],
    ["", undefined],
    [".", undefined],
    ["1e3", undefined],
    ["-1", undefined],
    ["1 ", undefined],
  ];
  for (const [text, value] of table) assert.equal(parseDecimal(text), value, text);
});

test("any order of whole pairs adds up", () => {
  const pair = fc.tuple(fc.nat(10_000), fc.constantFrom("s", "m", "h", "d"));
  const msOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  fc.assert(
    fc.property(fc.array(pair, { minLength: 1, maxLength: 8 }), (pairs) => {
      const text = pairs.map(([count, unit]) => `${count}${unit}`).join("");
      const sumMs = pairs.reduce((sum, [count, unit]) => sum + count * msOf[unit as keyof typeof msOf], 0);
      assert.equal(parseDurationMs(text, "smhd"), sumMs);
    }),
  );
});

test("random text of any length is rejected or a whole number of ms", () => {
  const junk = fc.oneof(fc.string({ maxLength: 10_000 }), fc.stringMatching(/^[0-9.smhdnuµ]{0,80}$/));
  fc.assert(
    fc.property(junk, (text) => {
      for (const ms of [parseDurationMs(text, "smhd"), parseGoDurationMs(text)])
        assert.ok(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0));
    }),
  );
});
