import assert from "node:assert/strict";
import { test } from "node:test";
import { float32Text, float32Texts, writeFloat32List } from "./float32-text.ts";

test("a float32 is its shortest decimal, spelled as JavaScript spells numbers", () => {
  const rows: [number, string][] = [
    [0.1, "0.1"],
    [-0.1, "-0.1"],
    [1, "1"],
    [-1, "-1"],
    [0.5, "0.5"],
    [100, "100"],
    [0.033333335, "0.033333335"],
    [0.99999994, "0.99999994"],
    [1 / 3, "0.33333334"],
    [Math.PI, "3.1415927"],
    [123456.789, "123456.79"],
    [16777215, "16777215"],
    [16777216, "16777216"],
    [33554436, "33554436"],
    [1e20, "100000000000000000000"],
    [-9.999999e20, "-999999900000000000000"],
    [1e21, "1e+21"],
    [1.5e38, "1.5e+38"],
    [-3.4028234663852886e38, "-3.4028235e+38"],
    [1e-6, "0.000001"],
    [1.2345678e-6, "0.0000012345678"],
    [1e-7, "1e-7"],
    [-1.5e-10, "-1.5e-10"],
    [1.17549435e-38, "1.1754944e-38"],
    [1.4e-45, "1e-45"],
    [2.8e-45, "3e-45"],
  ];
  for (const [value, text] of rows) assert.equal(float32Text(value), text);
});

test("-0 is 0, and what is not finite is null, as in JSON.stringify", () => {
  const values = [0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  assert.deepEqual(values.map(float32Text), ["0", "0", "null", "null", "null"]);
});

test("of two shortest decimals as near the even one is printed", () => {
  assert.equal(float32Text(2097152.25), "2097152.2");
  assert.equal(float32Text(2097152.75), "2097152.8");
});

test("below a power of two, where floats are twice as dense, the text still reads back as the power", () => {
  const rows: [number, string][] = [
    [2 ** -44, "5.684342e-14"],
    [2 ** -96, "1.2621775e-29"],
    [2 ** 50, "1125899900000000"],
    [2 ** 90, "1.2379401e+27"],
    [2 ** 127, "1.7014118e+38"],
    [2 ** -126, "1.1754944e-38"],
  ];
  for (const [value, text] of rows) {
    assert.equal(float32Text(value), text);
    assert.equal(Math.fround(Number(text)), value);
  }
});

test("a list is printed with commas into a buffer, whatever its length", () => {
  const target = Buffer.alloc(200_000);
  for (const length of [0, 1, 2, 4_095, 4_096, 4_097, 8_192, 8_193]) {
    const values = Float32Array.from({ length }, (_, index) => index / 8);

    const end = writeFloat32List(values, target, 3);

    const texts = length === 0 ? "" : Array.from(values, String).join(",");
    assert.equal(target.latin1Slice(3, end), texts);
    assert.deepEqual(float32Texts(values), Array.from(values, String));
  }
});

test("a list is written where there is room for its longest text, and nowhere else", () => {
  const target = Buffer.alloc(30, "#");

  const end = writeFloat32List(Float32Array.of(0.25), target, 2);

  assert.equal(end, 6);
  assert.equal(target.latin1Slice(), "##0.25########################");
});
