/** Numbers of documents: integers and doubles, their spelling, sums and comparison. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareNumbers, isInteger, numberFrom, productOf, sumOf, textOfNumber } from "./number.ts";

function read(lexeme: string) {
  const number = numberFrom(lexeme);
  assert.ok(number !== undefined, lexeme);
  return number;
}

test("A-12: a number keeps the type of its spelling, and an integer all its digits", () => {
  const table: readonly (readonly [lexeme: string, kind: "integer" | "double", printed: string])[] = [
    ["0", "integer", "0"],
    ["-7", "integer", "-7"],
    ["9007199254740993", "integer", "9007199254740993"],
    ["9223372036854775807", "integer", "9223372036854775807"],
    ["-9223372036854775808", "integer", "-9223372036854775808"],
    ["18446744073709551615", "integer", "18446744073709551615"],
    ["18446744073709551616", "double", "18446744073709552000.0"],
    ["-9223372036854775809", "double", "-9223372036854776000.0"],
    ["1.0", "double", "1.0"],
    ["-0", "double", "-0.0"],
    ["0.0", "double", "0.0"],
    ["1e2", "double", "100.0"],
    ["0.1", "double", "0.1"],
    ["1e-7", "double", "1e-7"],
    ["1E+21", "double", "1e+21"],
    ["123456789012345678901234567890", "double", "1.2345678901234568e+29"],
  ];
  for (const [lexeme, kind, printed] of table) {
    assert.equal(isInteger(read(lexeme)), kind === "integer", lexeme);
    assert.equal(textOfNumber(read(lexeme)), printed, lexeme);
    assert.equal(textOfNumber(read(printed)), printed, `${lexeme} read again`);
  }
  assert.equal(numberFrom("1e400"), undefined);
});

test("integers stay integers while 64 bits hold them, and doubles never become integers", () => {
  const table: readonly (readonly [one: string, sign: "+" | "*", other: string, result: string | undefined])[] = [
    ["1", "+", "2", "3"],
    ["1", "+", "2.0", "3.0"],
    ["0.5", "+", "0.5", "1.0"],
    ["9007199254740991", "+", "2", "9007199254740993"],
    ["9007199254740993", "+", "-2", "9007199254740991"],
    ["9223372036854775807", "+", "1", "9223372036854775808"],
    ["18446744073709551615", "+", "1", "18446744073709552000.0"],
    ["3037000500", "*", "3037000500", "9223372037000250000"],
    ["0", "*", "-1", "0"],
    ["0", "*", "-1.0", "-0.0"],
    ["2", "*", "0.25", "0.5"],
    ["1e308", "+", "1e308", undefined],
    ["1e308", "*", "10", undefined],
  ];
  for (const [one, sign, other, result] of table) {
    const found = (sign === "+" ? sumOf : productOf)(read(one), read(other));
    assert.equal(found === undefined ? undefined : textOfNumber(found), result, `${one} ${sign} ${other}`);
  }
});

test("numbers compare by exact value, in any representation", () => {
  const ascending = ["-18446744073709551616", "-1.5", "-1", "0", "0.5", "1", "9007199254740992.0", "9007199254740993"];
  for (const [index, one] of ascending.entries())
    for (const [otherIndex, other] of ascending.entries())
      assert.equal(compareNumbers(read(one), read(other)), Math.sign(index - otherIndex), `${one} and ${other}`);
  assert.equal(compareNumbers(read("1"), read("1.0")), 0);
  assert.equal(compareNumbers(read("-0"), read("0")), 0);
});
