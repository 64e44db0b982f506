import assert from "node:assert/strict";
import { test } from "node:test";
import { type Conversion, conversionsOf, integerText, isBeyondLong } from "./format.ts";

test("an integer beyond 32 bits is printed as printf prints a long of 64 bits", () => {
  const table: readonly (readonly [format: string, value: number, text: string])[] = [
    ["%d", 1_700_000_000_000, "1700000000000"],
    ["%i", -1e15, "-1000000000000000"],
    ["%d", 2 ** 53, "9007199254740992"],
    ["%d", 5e9 + 0.9, "5000000000"],
    ["%+d", 5e9, "+5000000000"],
    ["% d", 5e9, " 5000000000"],
    ["%15d", 5e9, "     5000000000"],
    ["%-15d", 5e9, "5000000000     "],
    ["%015d", -5e9, "-00005000000000"],
    ["%.12d", 5e9, "005000000000"],
    ["%015.12d", 5e9, "   005000000000"],
    ["%u", -1, "18446744073709551615"],
    ["%x", 5e9, "12a05f200"],
    ["%#X", 5e9, "0X12A05F200"],
    ["%#o", 5e9, "045201371000"],
    ["%d", 1e19, "-9223372036854775808"],
    ["%d", Number.NaN, "-9223372036854775808"],
  ];
  for (const [format, value, text] of table) {
    const [conversion] = conversionsOf(format);
    assert.equal(integerText(conversion as Conversion, value), text, format);
  }
});

test("finds conversions with their flags, width and precision, and ignores %%", () => {
  assert.deepEqual(
    conversionsOf("a%%b%5.2f%-03d%s%").map(({ start, end, letter }) => [start, end, letter]),
    [
      [4, 9, "f"],
      [9, 14, "d"],
      [14, 16, "s"],
    ],
  );
});

test("prints only numbers that do not fit 32 bits", () => {
  assert.deepEqual(
    [2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1].map((value) => isBeyondLong("d", value)),
    [false, true, false, true],
  );
  assert.deepEqual([isBeyondLong("x", -1), isBeyondLong("f", 1e300), isBeyondLong("s", 1e300)], [true, false, false]);
});
