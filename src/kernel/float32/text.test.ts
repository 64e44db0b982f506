import assert from "node:assert/strict";
import { test } from "node:test";
import { float32Text, float32Texts, writeFloat32List } from "./text.ts";
import { plainFloat32Text } from "./text.virtual.ts";

test("a float32 is its shortest decimal, spelled as JavaScript spells numbers, and whole numbers end in .0", () => {
  const rows: [number, string][] = [
    [0.1, "0.1"],
    [-0.1, "-0.1"],
    [1, "1.0"],
    [-1, "-1.0"],
    [0.5, "0.5"],
    [100, "100.0"],
    [0.033333335, "0.033333335"],
    [0.99999994, "0.99999994"],
    [1 / 3, "0.33333334"],
    [Math.PI, "3.1415927"],
    [123456.789, "123456.79"],
    [16777215, "16777215.0"],
    [16777216, "16777216.0"],
    [33554436, "33554436.0"],
    [1e20, "100000000000000000000.0"],
    [-9.999999e20, "-999999900000000000000.0"],
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

test("zero keeps its sign, and values that are not finite are null, as in JSON.stringify", () => {
  const values = [0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  assert.deepEqual(values.map(float32Text), ["0.0", "-0.0", "null", "null", "null"]);
});

test("prints the even one of two shortest decimals that are equally near", () => {
  const rows: [number, string][] = [
    [2097152.25, "2097152.2"],
    [2097152.75, "2097152.8"],
    [200004.625, "200004.62"],
    [200004.375, "200004.38"],
  ];
  for (const [value, text] of rows) {
    assert.equal(float32Text(value), text);
    assert.equal(plainFloat32Text(value), text);
  }
});

test("below a power of two, where floats are twice as dense, the text still reads back as the power", () => {
  const rows: [number, string][] = [
    [2 ** -44, "5.684342e-14"],
    [2 ** -96, "1.2621775e-29"],
    [2 ** 50, "1125899900000000.0"],
    [2 ** 90, "1.2379401e+27"],
    [2 ** 127, "1.7014118e+38"],
    [2 ** -126, "1.1754944e-38"],
  ];
  for (const [value, text] of rows) {
    assert.equal(float32Text(value), text);
    assert.equal(plainFloat32Text(value), text);
    assert.equal(Math.fround(Number(text)), value);
  }
});

test("a list is printed with commas into a buffer, whatever its length", () => {
  const target = Buffer.alloc(200_000);
  for (const length of [0, 1, 2, 4_095, 4_096, 4_097, 8_192, 8_193]) {
    const values = Float32Array.from({ length }, (_, index) => index / 8);

    const end = writeFloat32List(values, target, 3);

    const texts = Array.from(values, (value) => (Number.isInteger(value) ? `${value}.0` : String(value)));
    assert.equal(target.latin1Slice(3, end), texts.join(","));
    assert.deepEqual(float32Texts(values), texts);
  }
});

test("4096 numbers of the longest text are printed at once and leave the tables as they were", () => {
  const values = new Float32Array(4_096).fill(-9.999999e20);

  const texts = float32Texts(values);

  assert.equal(texts.length, 4_096);
  assert.deepEqual([...new Set(texts)], ["-999999900000000000000.0"]);
  assert.equal(float32Text(1.17549435e-38), "1.1754944e-38");
});

test("a list is written only if there is room for its longest text", () => {
  const target = Buffer.alloc(30, "#");

  const end = writeFloat32List(Float32Array.of(0.25), target, 2);

  assert.equal(end, 6);
  assert.equal(target.latin1Slice(), "##0.25########################");
});
