/** Integers and doubles as text: by hand, and random ones against the real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDouble, parseFloat64, parseInteger } from "./number-text.ts";

const integers: readonly (readonly [text: string, expected: number | bigint | undefined])[] = [
  ["0", 0],
  ["7", 7],
  ["-1", -1],
  ["10", 10],
  ["999999999", 999_999_999],
  ["-999999999", -999_999_999],
  ["1000000000", 1_000_000_000],
  ["-1000000000", -1_000_000_000],
  ["2147483648", 2_147_483_648],
  ["-2147483649", -2_147_483_649],
  ["4294967296", 4_294_967_296],
  ["12345678x", undefined],
  ["1234567890x", undefined],
  ["999999999999999", 999_999_999_999_999],
  ["9007199254740991", 9_007_199_254_740_991],
  ["9007199254740992", 9_007_199_254_740_992n],
  ["9007199254740993", 9_007_199_254_740_993n],
  ["-9007199254740991", -9_007_199_254_740_991],
  ["-9007199254740992", -9_007_199_254_740_992n],
  ["9223372036854775807", 9_223_372_036_854_775_807n],
  ["9223372036854775808", undefined],
  ["-9223372036854775808", -9_223_372_036_854_775_808n],
  ["-9223372036854775809", undefined],
  ["99999999999999999999", undefined],
  ["", undefined],
  ["-", undefined],
  ["-0", undefined],
  ["00", undefined],
  ["01", undefined],
  ["-01", undefined],
  ["+1", undefined],
  [" 1", undefined],
  ["1 ", undefined],
  ["1.0", undefined],
  ["1e3", undefined],
  ["0x1", undefined],
  ["1\x00", undefined],
  ["\xb2", undefined],
  ["123456789012345678901", undefined],
];

test("only the printed form of a 64-bit integer is an integer", () => {
  for (const [text, expected] of integers) assert.equal(parseInteger(text), expected, JSON.stringify(text));
});

test("an integer may begin within the bytes", () => {
  assert.equal(parseInteger("#-12", 1), -12);
  assert.equal(parseInteger("#0", 1), 0);
  assert.equal(parseInteger("#9223372036854775807", 1), 9_223_372_036_854_775_807n);
  assert.equal(parseInteger("#-9223372036854775808", 1), -9_223_372_036_854_775_808n);
  for (const text of ["#", "#-", "#01", "#-0", "##1", "#9223372036854775808"])
    assert.equal(parseInteger(text, 1), undefined, text);
});

const doubles: readonly (readonly [text: string, expected: number | undefined])[] = [
  ["0", 0],
  ["-0", -0],
  ["1.", 1],
  [".5", 0.5],
  ["+5", 5],
  ["1e3", 1_000],
  ["1E-3", 0.001],
  ["007", 7],
  ["0x1p3", 8],
  ["0X1.8P+1", 3],
  ["-0x.8", -0.5],
  ["0x1p-1074", 5e-324],
  ["0x1p-1075", undefined],
  ["0x1.8p-1075", 5e-324],
  ["0x1.fffffffffffff7p1023", 1.7976931348623157e308],
  ["0x1.fffffffffffff8p1023", undefined],
  ["0x1.00000000000008p0", 1],
  ["0x1.00000000000018p0", 1.0000000000000004],
  ["inf", Number.POSITIVE_INFINITY],
  ["-InFinity", Number.NEGATIVE_INFINITY],
  ["4.9e-324", 5e-324],
  ["1e308", 1e308],
  ["1e309", undefined],
  ["1e-400", undefined],
  ["0e-400", 0],
  ["0.0e999999999999999999", 0],
  ["nan", undefined],
  ["", undefined],
  ["-", undefined],
  [".", undefined],
  ["e5", undefined],
  ["1e", undefined],
  ["1e+", undefined],
  ["0x", undefined],
  ["0x.p1", undefined],
  ["0x1p", undefined],
  ["1_000", undefined],
  [" 1", undefined],
  ["1 ", undefined],
  ["1\n", undefined],
  ["1\x00", undefined],
  ["0b1", undefined],
  ["0o7", undefined],
  ["infinit", undefined],
];

test("a double is any text that strtod accepts, without spaces, NaN, overflow and underflow", () => {
  for (const [text, expected] of doubles) assert.equal(parseFloat64(text), expected, JSON.stringify(text));
});

test("a long invalid number is refused in linear time", () => {
  assert.equal(parseFloat64(`${"1".repeat(1_000_000)}x`), undefined);
  assert.equal(parseFloat64(`0x${"1".repeat(1_000_000)}x`), undefined);
  assert.equal(parseFloat64(`${"0".repeat(1_000_000)}e-5`), 0);
});

const printed: readonly (readonly [value: number, expected: string])[] = [
  [0, "0"],
  [-0, "-0"],
  [1, "1"],
  [-17, "-17"],
  [3.1, "3.1"],
  [0.1, "0.1"],
  [0.1 + 0.2, "0.30000000000000004"],
  [-2.25, "-2.25"],
  [0.00001, "0.00001"],
  [1e-7, "1e-7"],
  [9007199254740992, "9007199254740992"],
  [1e17, "100000000000000000"],
  [1e21, "1e+21"],
  [1.5e300, "1.5e+300"],
  [5e-324, "5e-324"],
  [Number.POSITIVE_INFINITY, "inf"],
  [Number.NEGATIVE_INFINITY, "-inf"],
];

test("a double is printed as the shortest text that reads back as it", () => {
  for (const [value, expected] of printed) assert.equal(formatDouble(value), expected);
});
