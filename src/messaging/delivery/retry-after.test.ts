import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseHttpDateMs } from "../options/http-date.ts";
import { requestedDelayMs } from "./retry-after.ts";

/** 1994-11-06T08:49:00Z. */
const in1994 = 784_111_740_000;
/** 2026-05-05T12:00:00Z. */
const nowMs = 1_777_982_400_000;

function delayFor(headers: Record<string, string>, atMs = nowMs): number | undefined {
  return requestedDelayMs((name) => headers[name], atMs);
}

test("C-17: Retry-After: seconds, dates of three forms, durations in Go's notation", () => {
  const table: [string, number | undefined][] = [
    ["0", 0],
    ["120", 120_000],
    [" 120 ", 120_000],
    ["1.5", 1_500],
    ["0.0001", 1],
    ["86400", 86_400_000],
    ["86400.001", undefined],
    ["86401", undefined],
    ["1777982410", undefined],
    ["6m5s", 365_000],
    ["250ms", 250],
    ["1h", 3_600_000],
    ["24h", 86_400_000],
    ["24h1s", undefined],
    ["-1", undefined],
    ["-5s", undefined],
    ["Tue, 05 May 2026 12:00:30 GMT", 30_000],
    ["Tue, 05 May 2026 12:00:00 GMT", 0],
    ["Tue, 05 May 2026 11:59:59 GMT", undefined],
    ["Wed, 06 May 2026 12:00:00 GMT", 86_400_000],
    ["Wed, 06 May 2026 12:00:01 GMT", undefined],
    ["Tue, 05 May 2026 14:00:30 +0200", 30_000],
    ["Tuesday, 05-May-26 12:00:30 GMT", 30_000],
    ["Tue May  5 12:00:30 2026", 30_000],
    ["2026-05-05T12:00:30Z", undefined],
    ["", undefined],
    ["soon", undefined],
    ["NaN", undefined],
    ["Infinity", undefined],
    ["1e3", undefined],
    ["0x10", undefined],
    ["1, 2", undefined],
  ];
  for (const [value, ms] of table) assert.equal(delayFor({ "retry-after": value }), ms, value);
});

test("X-RateLimit-Reset*: also a time in seconds or ms since 1970", () => {
  const table: [string, number | undefined][] = [
    ["30", 30_000],
    ["1777982430", 30_000],
    ["1777982430.25", 30_250],
    ["1777982430000", 30_000],
    ["1777982400", 0],
    ["1777982399", undefined],
    ["1778068801", undefined],
    ["999999999", undefined],
    ["6m0s", 360_000],
    ["17ms", 17],
    ["Tue, 05 May 2026 12:00:30 GMT", 30_000],
  ];
  for (const header of ["x-ratelimit-reset", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"])
    for (const [value, ms] of table) assert.equal(delayFor({ [header]: value }), ms, `${header}: ${value}`);
});

test("uses the first header that is present, even if it cannot be parsed", () => {
  const table: [Record<string, string>, number | undefined][] = [
    [{}, undefined],
    [{ "retry-after": "1", "x-ratelimit-reset": "2" }, 1_000],
    [{ "x-ratelimit-reset": "2", "x-ratelimit-reset-requests": "3" }, 2_000],
    [{ "x-ratelimit-reset-tokens": "4", "x-ratelimit-reset-requests": "3" }, 3_000],
    [{ "x-ratelimit-reset-tokens": "4" }, 4_000],
    [{ "retry-after": "soon", "x-ratelimit-reset": "2" }, undefined],
    [{ "retry-after": "", "x-ratelimit-reset": "2" }, undefined],
    [{ "x-request-id": "7" }, undefined],
  ];
  for (const [headers, ms] of table) assert.equal(delayFor(headers), ms, JSON.stringify(headers));
});

test("a wait is not shorter than requested if the current time has a fraction of a ms", () => {
  assert.equal(delayFor({ "x-ratelimit-reset": "1777982430" }, nowMs + 0.5), 30_000);
  assert.equal(delayFor({ "x-ratelimit-reset": "1777982430.0004" }, nowMs), 30_001);
});

test("parses dates", () => {
  const table: [string, number | undefined][] = [
    ["Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000],
    ["Sun, 6 Nov 1994 08:49:37 GMT", 784_111_777_000],
    ["sun, 06 nov 1994 08:49:37 gmt", 784_111_777_000],
    ["Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777_000],
    ["Sun, 06 Nov 1994 03:19:37 -0530", 784_111_777_000],
    ["Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777_000],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000],
    ["Sun Nov  6 08:49:37 1994", 784_111_777_000],
    ["Tue Nov 15 08:49:37 1994", 784_889_377_000],
    ["Thursday, 01-Jan-44 00:00:00 GMT", 2_335_219_200_000],
    ["Thursday, 01-Jan-45 00:00:00 GMT", -788_918_400_000],
    ["Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400_000],
    ["Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800_000],
    ["Tue, 29 Feb 1994 00:00:00 GMT", undefined],
    ["Sun, 31 Apr 1994 00:00:00 GMT", undefined],
    ["Sun, 00 Nov 1994 08:49:37 GMT", undefined],
    ["Sun, 06 Nov 1994 24:00:00 GMT", undefined],
    ["Sun, 06 Nov 1994 08:60:00 GMT", undefined],
    ["Sun, 06 Foo 1994 08:49:37 GMT", undefined],
    ["Sun, 06 Nov 0094 08:49:37 GMT", undefined],
    ["Sun, 06 Nov 1994 08:49:37 EST", undefined],
    ["Sun, 06 Nov 1994 08:49:37", undefined],
    ["Sun, 06 Nov 1994 08:49 GMT", undefined],
    ["06 Nov 1994 08:49:37 GMT", undefined],
    ["Sun, 06 Nov 1994 08:49:37 GMT ", undefined],
  ];
  for (const [text, ms] of table) assert.equal(parseHttpDateMs(text, in1994), ms, text);
});

test("parses the UTC dates that JavaScript prints", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e9 }), (seconds) => {
      assert.equal(parseHttpDateMs(new Date(seconds * 1_000).toUTCString(), nowMs), seconds * 1_000);
    }),
  );
});

test("random text of any length is ignored or a delay of at most a day", () => {
  const junk = fc.oneof(fc.string({ maxLength: 10_000 }), fc.stringMatching(/^[0-9.smhnu:, -]{0,80}$/));
  fc.assert(
    fc.property(junk, fc.constantFrom("retry-after", "x-ratelimit-reset"), (value, header) => {
      const ms = delayFor({ [header]: value });
      assert.ok(ms === undefined || (Number.isInteger(ms) && ms >= 0 && ms <= 86_400_000));
    }),
    { numRuns: 500 },
  );
});
