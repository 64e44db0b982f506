import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaultDelayMs, InvalidRetryDelay, parseRetryDelay } from "./retry-delay.ts";

test("the default backoff is 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m 6 s, then a day", () => {
  const table: [number, number][] = [
    [0, 12_000],
    [1, 148_000],
    [2, 1_808_000],
    [3, 22_026_000],
    [4, 86_400_000],
    [5, 86_400_000],
    [1_000_000, 86_400_000],
  ];
  for (const [retried, ms] of table) assert.equal(defaultDelayMs(retried), ms, String(retried));
});

test("C.retry-expression: expressions", () => {
  const table: [string, number, number][] = [
    ["5000", 0, 5_000],
    ["1000 * (1 + retried)", 0, 1_000],
    ["1000 * (1 + retried)", 4, 5_000],
    ["pow(2, retried) * 1000", 3, 8_000],
    ["max(1000, min(30000, pow(2,retried)*1000))", 10, 30_000],
    ["max(1000, min(30000, pow(2,retried)*1000))", 0, 1_000],
    ["1+2*3", 0, 7],
    ["(1+2)*3", 0, 9],
    ["10-4-3", 0, 3],
    ["100/10/5", 0, 2],
    ["100/10*5", 0, 50],
    ["17%5*2", 0, 4],
    ["7-2*3%4", 0, 5],
    ["-2*-3", 0, 6],
    ["10--2", 0, 12],
    ["--5", 0, 5],
    ["-pow(2,2)+10", 0, 6],
    ["-(1-3)", 0, 2],
    ["1e3", 0, 1_000],
    ["1E+2", 0, 100],
    ["25e-1", 0, 3],
    [".5*10", 0, 5],
    ["2.*3", 0, 6],
    ["1.4", 0, 1],
    ["  \t7  ", 0, 7],
    ["exp(0)", 0, 1],
    ["exp(1)*1000", 0, 2_718],
    ["sqrt(16)", 0, 4],
    ["abs(0-5)", 0, 5],
    ["floor(1.9)", 0, 1],
    ["ceil(1.1)", 0, 2],
    ["round(2.5)", 0, 3],
    ["min(3, 4)", 0, 3],
    ["max(3, 4)", 0, 4],
    ["retried", 7, 7],
    ["retried*retried", 9, 81],
    ["round ( sqrt ( retried ) * 1000 )", 2, 1_414],
  ];
  for (const [text, retried, ms] of table) assert.equal(parseRetryDelay(text).delayMs(retried), ms, text);
});

test("a delay is from 0 to a day, and the default without a value", () => {
  const table: [string, number, number][] = [
    ["-5", 0, 0],
    ["0-pow(10, 400)", 0, 0],
    ["pow(10, 400)", 0, 86_400_000],
    ["86400001", 0, 86_400_000],
    ["1e300*1e300", 0, 86_400_000],
    ["sqrt(0-1)", 0, 12_000],
    ["0/0", 1, 148_000],
    ["1/0", 2, 1_808_000],
    ["5%0", 0, 12_000],
    ["1000/retried", 0, 12_000],
    ["1000/retried", 2, 500],
    ["-0.4", 0, 0],
  ];
  for (const [text, retried, ms] of table) assert.equal(parseRetryDelay(text).delayMs(retried), ms, text);
});

test("rejects invalid expressions with the reason", () => {
  const names = "known names are retried and pow, exp, sqrt, abs, floor, ceil, round, min, max";
  const table: [string, string][] = [
    ["", "Unexpected end of the expression"],
    ["   ", "Unexpected end of the expression"],
    ["1 +", "Unexpected end of the expression"],
    ["(1", 'Unexpected end of the expression, expected ")"'],
    ["1)", 'Unexpected ")" at character 2'],
    ["()", 'Unexpected ")" at character 2'],
    ["1 2", 'Unexpected "2" at character 3'],
    ["+1", 'Unexpected "+" at character 1'],
    ["2^3", 'Unexpected "^" at character 2; a power is pow(x, y)'],
    ["2 ** 3", 'Unexpected "*" at character 4; a power is pow(x, y)'],
    ["1;2", 'Unexpected ";" at character 2'],
    ["1 > 0", 'Unexpected ">" at character 3'],
    ["'a'", 'Unexpected "\'" at character 1'],
    [".", 'Unexpected "." at character 1'],
    ["1..2", 'Unexpected "." at character 3'],
    ["0x10", 'Unexpected "x" at character 2'],
    ["1e", 'Unexpected "e" at character 2'],
    ["1e999", "The number 1e999 is too large"],
    ["retries", `Unknown name "retries"; ${names}`],
    ["Retried", `Unknown name "Retried"; ${names}`],
    ["constructor", `Unknown name "constructor"; ${names}`],
    ["process.exit(1)", `Unknown name "process"; ${names}`],
    ["log(2)", `Unknown name "log"; ${names}`],
    ["retried.constructor", 'Unexpected "." at character 8'],
    ["pow", 'Unexpected end of the expression, expected "("'],
    ["pow(2)", "pow takes 2 arguments, not 1"],
    ["pow(1,2,3)", "pow takes 2 arguments, not 3"],
    ["exp()", "exp takes 1 argument, not 0"],
    ["sqrt(1,2)", "sqrt takes 1 argument, not 2"],
    ["min(1,)", 'Unexpected ")" at character 7'],
    ["min(1 2)", 'Unexpected "2" at character 7, expected ")"'],
    [`${"1+".repeat(128)}1`, "Longer than 256 characters"],
    [`${"(".repeat(33)}1${")".repeat(33)}`, "Nested deeper than 32 levels"],
    [`${"-".repeat(33)}1`, "Nested deeper than 32 levels"],
    [`${"abs(".repeat(33)}1${")".repeat(33)}`, "Nested deeper than 32 levels"],
  ];
  for (const [text, message] of table)
    assert.throws(
      () => parseRetryDelay(text),
      (failure) => failure instanceof InvalidRetryDelay && failure.message === message,
      text,
    );
});

test("C-18: the largest expressions that are allowed work", () => {
  assert.equal(parseRetryDelay(`${"(".repeat(32)}1${")".repeat(32)}`).delayMs(0), 1);
  assert.equal(parseRetryDelay(`${"1+".repeat(127)}1`).delayMs(0), 128);
  assert.equal(parseRetryDelay(`${"1*(".repeat(32)}2${")".repeat(32)}`).delayMs(0), 2);
});

// C.retry-expression
test("C-18: rejects an expression without a value for some retry at the publish", () => {
  const table: [string, number, string | undefined][] = [
    ["1000/retried", 3, "the expression has no value for retried = 0"],
    ["1000/(retried-2)", 3, "the expression has no value for retried = 2"],
    ["1000/(retried-3)", 3, "the expression has no value for retried = 3"],
    ["1000/(retried-4)", 3, undefined],
    ["sqrt(10-retried)", 1_000_000, "the expression has no value for retried = 11"],
    ["sqrt(5000-retried)", 1_000_000, "the expression has no value for retried = 8192"],
    ["sqrt(999999-retried)", 1_000_000, "the expression has no value for retried = 1000000"],
    ["exp(retried)*1000", 1_000_000, undefined],
    ["0-retried", 10, undefined],
    ["0/0", 0, "the expression has no value for retried = 0"],
  ];
  for (const [text, retriesMax, message] of table) {
    const delay = parseRetryDelay(text);
    if (message === undefined) delay.validate(retriesMax);
    else
      assert.throws(
        () => delay.validate(retriesMax),
        (failure) => failure instanceof InvalidRetryDelay && failure.message === message,
        text,
      );
  }
});

/** An expression as text, and its value by JavaScript's own arithmetic. */
interface Drawn {
  readonly text: string;
  readonly value: number;
}

const { sum } = fc.letrec<{ sum: Drawn; operand: Drawn }>((tie) => ({
  operand: fc.oneof(
    { maxDepth: 5, depthIdentifier: "expression" },
    fc.nat(1_000).map((value) => ({ text: String(value), value })),
    tie("sum").map(({ text, value }) => ({ text: `(${text})`, value })),
    tie("operand").map(({ text, value }) => ({ text: `-${text}`, value: -value })),
    fc
      .tuple(tie("sum"), tie("sum"))
      .map(([x, y]) => ({ text: `max(${x.text},${y.text})`, value: Math.max(x.value, y.value) })),
  ),
  sum: fc.oneof(
    { maxDepth: 5, depthIdentifier: "expression" },
    tie("operand"),
    fc.tuple(tie("operand"), tie("operand"), tie("operand")).map(([x, y, z]) => ({
      text: `${x.text} - ${y.text} * ${z.text}`,
      value: x.value - y.value * z.value,
    })),
    fc.tuple(tie("operand"), tie("operand"), tie("operand")).map(([x, y, z]) => ({
      text: `${x.text}*${y.text}-${z.text}`,
      value: x.value * y.value - z.value,
    })),
  ),
}));

test("precedence is that of arithmetic", () => {
  fc.assert(
    fc.property(sum, ({ text, value }) => {
      fc.pre(text.length <= 256);
      const expected = Math.min(86_400_000, Math.max(0, Math.round(value)));
      assert.equal(parseRetryDelay(text).delayMs(0), expected);
    }),
  );
});

test("random text of any length is rejected with InvalidRetryDelay or is a delay", () => {
  const words = ["retried", "pow", "exp", "min", "(", ")", ",", "-", "*", "/", "%", "1", "0.5", "1e308", " "];
  const junk = fc.oneof(
    fc.string({ maxLength: 10_000 }),
    fc.array(fc.constantFrom(...words), { maxLength: 80 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(junk, fc.nat(1_000_000), (text, retried) => {
      try {
        const ms = parseRetryDelay(text).delayMs(retried);
        assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= 86_400_000);
      } catch (failure) {
        assert.ok(failure instanceof InvalidRetryDelay, String(failure));
      }
    }),
    { numRuns: 1_000 },
  );
});
