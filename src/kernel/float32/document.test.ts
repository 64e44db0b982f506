import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionFailure } from "../assert.ts";
import { JsonDocument, LIST_VALUES_MAX } from "./document.ts";
import { floatTextModule } from "./module.ts";

function open(text: string): JsonDocument {
  return new JsonDocument(Buffer.from(text));
}

test("a list of JSON numbers is read as float32", () => {
  const rows: [string, number[]][] = [
    ["[]", []],
    ["[ \t\r\n]", []],
    ["[1]", [1]],
    ["[1,2.5,-3e2]", [1, 2.5, -300]],
    ["[ 1 ,\n2\t, 3 ]", [1, 2, 3]],
    ["[0,-0,0.0,-0.0,0e5,-0E-5]", [0, -0, 0, -0, 0, -0]],
    ["[1E2,1e+2,1e-2,1.5E0]", [100, 100, Math.fround(0.01), 1.5]],
    ["[0.1]", [Math.fround(0.1)]],
    ["[16777217,16777219]", [16777216, 16777220]],
    ["[1e-45,1e-46,1e-400,1e-999999999999999]", [1.401298464324817e-45, 0, 0, 0]],
    ["[3.4028234663852886e38,-3.40282356e38]", [3.4028234663852886e38, -3.4028234663852886e38]],
    ["[9007199254740993,12345678901234567890123]", [9007199254740992, 1.2345679e22]],
    [`[0.${"0".repeat(400)}1e401,1${"0".repeat(400)}e-400]`, [1, 1]],
    [`[0.5${"0".repeat(100)}]`, [0.5]],
  ];
  for (const [text, values] of rows) {
    const document = open(text);
    assert.deepEqual(document.readFloats(0, 10), Float32Array.from(values), text);
    assert.equal(document.end, text.length, text);
  }
});

test("a number is rounded to float64 first and then to float32, as Math.fround of its text", () => {
  // A hair above the middle of two float32, which float64 rounds to that middle.
  const middle = "1.000000059604644775390625";
  for (const text of [
    middle,
    `${middle}0000000001`,
    "1.00000005960464488",
    "1.00000017881393421514957253748434595763683319091797",
  ])
    assert.deepEqual(open(`[${text}]`).readFloats(0, 1), Float32Array.of(Number(text)), text);
});

test("reports the fault of a list with its element and byte", () => {
  const rows: [string, string, number, number][] = [
    ["1", "no list", 0, 0],
    ["", "no list", 0, 0],
    ['"[1]"', "no list", 0, 0],
    ['[1,"2"]', "no number", 1, 3],
    ["[1,null]", "no number", 1, 3],
    ["[1,]", "no number", 1, 3],
    ["[,1]", "no number", 0, 1],
    ["[1 2]", "no number", 1, 3],
    ["[1", "no number", 1, 2],
    ["[", "no number", 0, 1],
    ["[01]", "no number", 1, 2],
    ["[-01]", "no number", 1, 3],
    ["[+1]", "no number", 0, 1],
    ["[.5]", "no number", 0, 1],
    ["[1.]", "no number", 0, 1],
    ["[1.e5]", "no number", 0, 1],
    ["[1e]", "no number", 0, 1],
    ["[1e+]", "no number", 0, 1],
    ["[-]", "no number", 0, 1],
    ["[NaN]", "no number", 0, 1],
    ["[Infinity]", "no number", 0, 1],
    ["[0x10]", "no number", 1, 2],
    ["[1\u00a0]", "no number", 1, 2],
    ["[1,1e39]", "out of range", 1, 3],
    ["[-1e39]", "out of range", 0, 1],
    ["[1e400]", "out of range", 0, 1],
    ["[3.4028235677973366e38]", "out of range", 0, 1],
    [`[1${"0".repeat(39)}.0]`, "out of range", 0, 1],
    ["[1,2,3,4]", "too many values", 3, 7],
  ];
  for (const [text, fault, index, end] of rows) {
    const document = open(text);
    assert.equal(document.readFloats(0, 3), fault, text);
    assert.deepEqual([document.faultIndex, document.end], [index, end], text);
  }
});

test("reads whole numbers of 32 bits in any spelling of a whole number", () => {
  const rows: [string, number[] | string][] = [
    ["[]", []],
    ["[0,-0,7,-7]", [0, 0, 7, -7]],
    ["[1.0,1e2,120e-1,2.5E1]", [1, 100, 12, 25]],
    ["[2147483647,-2147483648,2147483647.0]", [2147483647, -2147483648, 2147483647]],
    [" [1]", "no list"],
    ["[2147483648]", "out of range"],
    ["[-2147483649]", "out of range"],
    ["[1.5]", "out of range"],
    ["[1e-1]", "out of range"],
    ["[1e400]", "out of range"],
    ["[99999999999999999999]", "out of range"],
    ["[true]", "no number"],
    ["[1,]", "no number"],
    ["[01]", "no number"],
    ["[1,2,3,4,5]", "too many values"],
  ];
  for (const [text, wanted] of rows) {
    const read = open(text).readWholeNumbers(0, 4);
    assert.deepEqual(read, typeof wanted === "string" ? wanted : Int32Array.from(wanted), text);
  }
});

test("a list has at most as many values as fit", () => {
  const text = `[${"1,".repeat(LIST_VALUES_MAX - 1)}1]`;
  assert.equal(open(text).readFloats(0, Number.POSITIVE_INFINITY).length, LIST_VALUES_MAX);
  assert.equal(open(text.replace("]", ",1]")).readFloats(0, 1e9), "too many values");
});

test("the next read does not change earlier results", () => {
  const first = open("[1,2]").readFloats(0, 9);
  const second = open("[3,4]").readFloats(0, 9);
  assert.deepEqual([first, second], [Float32Array.of(1, 2), Float32Array.of(3, 4)]);
});

test("a check accepts JSON and reports its end", () => {
  const rows: [string, number][] = [
    ["1,", 1],
    ["-0.5e+10 ", 8],
    ["true]", 4],
    ["false", 5],
    ["null", 4],
    ['""', 2],
    ['"a\\"b\\u00e9\\\\\\/\\b\\f\\n\\r\\t"x', 26],
    ['"é😀\u2028"', 11],
    ["[]", 2],
    ["{}", 2],
    ["[[],{},[1,2,{}]]", 16],
    ['{ "a" : [ 1 , { "b" : null } ] , "a" : "" } ', 43],
    [`"${"x".repeat(100)}"`, 102],
  ];
  for (const [text, end] of rows) {
    const document = open(text);
    assert.equal(document.checkValue(0, 8), "json", text);
    assert.equal(document.end, end, text);
  }
});

test("a check rejects invalid JSON at the invalid byte", () => {
  const rows: [string, number][] = [
    ["", 0],
    ["\ufeff1", 0],
    ["tru", 0],
    ["True", 0],
    ["nul", 0],
    ["fals", 0],
    ["'a'", 0],
    ['"a', 2],
    ['"\\x"', 2],
    ['"\\u12g4"', 5],
    ['"\\', 2],
    ['"a\nb"', 2],
    ['"\u0000"', 1],
    ["-", 1],
    ["1.", 2],
    ["1e", 2],
    ["[1,]", 3],
    ["[1", 2],
    ["[1}", 2],
    ["[1 2]", 3],
    ["{", 1],
    ["{1:2}", 1],
    ['{"a"}', 4],
    ['{"a":1,}', 7],
    ['{"a":1]', 6],
    ['{"a" 1}', 5],
    ["[\u00a01]", 1],
  ];
  for (const [text, at] of rows) {
    const document = open(text);
    assert.equal(document.checkValue(0, 8), "malformed", JSON.stringify(text));
    assert.equal(document.end, at, JSON.stringify(text));
  }
});

test("a check reports the depth of a value, and stops at the level that is too deep", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  const document = open(`${nested(8)} ${nested(9)}`);
  assert.equal(document.checkValue(0, 8), "json");
  assert.equal(document.facts.depth, 8);
  assert.equal(document.checkValue(17, 8), "too deep");
  assert.equal(document.end, 17 + 8);

  assert.equal(open("[".repeat(1_000_000)).checkValue(0, 1_023), "too deep");
});

test("a check counts white space outside strings, and reports escapes and numbers that may be infinite", () => {
  const factsOf = (text: string) => {
    const document = open(text);
    assert.equal(document.checkValue(0, 8), "json", text);
    return document.facts;
  };
  assert.deepEqual(factsOf('{ "a b" :\n[ 1,\t2 ] }'), {
    depth: 2,
    spaceBytes: 7,
    hasEscape: false,
    hasLargeNumber: false,
    hasOddNumber: false,
  });
  assert.deepEqual(factsOf('"\\n"'), {
    depth: 0,
    spaceBytes: 0,
    hasEscape: true,
    hasLargeNumber: false,
    hasOddNumber: false,
  });
  assert.equal(factsOf("1e5").hasLargeNumber, true);
  assert.equal(factsOf(`[1${"0".repeat(400)}]`).hasLargeNumber, true);
});

test("a check reports numbers that JavaScript may print with another spelling", () => {
  const isOdd = (text: string) => {
    const document = open(text);
    assert.equal(document.checkValue(0, 8), "json", text);
    return document.facts.hasOddNumber;
  };
  const usual = ["0", "-1", "7", "999999999999999", "-0.5", "0.1", "12.25", "0.000001", "12345678.1234567", '"1.0 -0"'];
  for (const text of usual) {
    assert.equal(isOdd(text), false, text);
    assert.equal(JSON.stringify(JSON.parse(text)), text);
  }
  const odd = [
    "-0",
    "-0.0",
    "0.0",
    "1.0",
    "1.50",
    "1e2",
    "1E-7",
    "0.0000001",
    "9007199254740993",
    "0.1234567890123456",
  ];
  for (const text of odd) assert.equal(isOdd(text), true, text);
  assert.equal(isOdd('{"a":1,"b":[2,{"c":1.0}],"d":3}'), true);
});

test("nothing of an earlier, longer document is read", () => {
  open(`[${"1,".repeat(1_000)}1]`);
  for (const text of ["[1,1,1", '"1', "[[[", "1,1"]) {
    const document = open(text);
    const outcome = document.checkValue(0, 8);
    assert.ok(outcome === "malformed" || document.end <= text.length, text);
    assert.equal(open("[1,1,1").readFloats(0, 2_000), "no number");
  }
});

test("a document that is no longer open is not read", () => {
  const first = open("[1]");
  open("[2]");
  assert.throws(() => first.readFloats(0, 1), AssertionFailure);
  assert.throws(() => first.checkValue(0, 1), AssertionFailure);
});

test("the memory of a large document is released after a number of small ones", () => {
  const usual = floatTextModule().bytes.length;
  open(`[${"1,".repeat(4_000_000)}1]`);
  const grown = floatTextModule().bytes.length;
  for (let i = 0; i < 300; i += 1) open("[1]");

  assert.ok(grown > usual + 5_000_000, `${grown} bytes`);
  assert.equal(floatTextModule().bytes.length, usual);
  assert.deepEqual(open("[0.25]").readFloats(0, 1), Float32Array.of(0.25));
});
