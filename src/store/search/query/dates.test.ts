import assert from "node:assert/strict";
import { test } from "node:test";
import { dateMs } from "./dates.ts";

const dates: [text: string, ms: number | undefined][] = [
  ["1970-01-01", 0],
  ["1970-01-01T00:00:00Z", 0],
  ["2025-03-01", 1_740_787_200_000],
  ["2025-03-01T09:30:00.5+01:00", 1_740_817_800_500],
  ["2025-03-01t09:30:00.1239z", 1_740_821_400_123],
  ["2025-03-01T09:30:00-23:59", 1_740_907_740_000],
  ["1969-12-31T23:59:59.999Z", -1],
  ["2016-12-31T23:59:60Z", 1_483_228_800_000],
  ["2000-02-29", 951_782_400_000],
  ["0000-01-01", -62_167_219_200_000],
  ["0099-12-31", -59_011_545_600_000],
  ["9999-12-31T23:59:59.999Z", 253_402_300_799_999],
  ["1900-02-29", undefined],
  ["2025-02-29", undefined],
  ["2025-04-31", undefined],
  ["2025-00-10", undefined],
  ["2025-13-10", undefined],
  ["2025-01-00", undefined],
  ["2025-1-1", undefined],
  ["2025-03-01T09:30:00", undefined],
  ["2025-03-01 09:30:00Z", undefined],
  ["2025-03-01T24:00:00Z", undefined],
  ["2025-03-01T09:60:00Z", undefined],
  ["2025-03-01T09:30Z", undefined],
  ["2025-03-01T09:30:00+24:00", undefined],
  ["2025-03-01T09:30:00.Z", undefined],
  ["2025-03-01\n", undefined],
  ["20250301", undefined],
  ["1740787200000", undefined],
  ["", undefined],
];

test("dates are RFC 3339 or a day, in ms", () => {
  for (const [text, ms] of dates) assert.equal(dateMs(text), ms, JSON.stringify(text));
});
