/** XXH3-64 against published values of the reference implementation, at every border between its methods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { xxh3Hex } from "./xxh3.ts";

/** The hash of the bytes 0, 1, 2 … 255, 0, 1 … of each length. */
const hashes: readonly (readonly [length: number, hash: string])[] = [
  [0, "2d06800538d394c2"],
  [1, "c44bdff4074eecdb"],
  [2, "d6645fc3051a9457"],
  [3, "5f4299fc161c9cbb"],
  [4, "60dab036a58211f2"],
  [7, "0cd2084a62406b69"],
  [8, "3a1c2d7c85af88f8"],
  [9, "e9612598145bb9dc"],
  [15, "55ecedc2b87bb042"],
  [16, "8355e3a6f61770db"],
  [17, "9ef341a99de37328"],
  [31, "4f36db8e4df378fd"],
  [32, "3523581fe96e4c05"],
  [33, "e68c56ba88991e58"],
  [64, "6187eb9089b0ed55"],
  [65, "6928c76ce90422d0"],
  [96, "278a3e12ea046dfb"],
  [97, "e7220282dc4e14f4"],
  [127, "120b9787f8425f2f"],
  [128, "85c6174c7ff4c46b"],
  [129, "ec7642b431ba3e5a"],
  [143, "8222e885f060341d"],
  [144, "028e1e35ff4c0a01"],
  [239, "972b14e3c46f214b"],
  [240, "375a384d957fe865"],
  [241, "02e8cd95421c6d02"],
  [256, "9408a4433b952d71"],
  [257, "d02c25704c5cee8a"],
  [300, "d44052f5a3485425"],
  [1023, "26a0a01d1c925c06"],
  [1024, "a870f92984398d22"],
  [1025, "78c86e91ee939852"],
  [1088, "280d4e7cb6579eb6"],
  [1089, "42f8401c93f322b4"],
  [2047, "ebb4a67fecb7bb5a"],
  [2048, "dd420471ff96bd00"],
  [2049, "62dff343e7dbac9b"],
];

test("the hash of the published inputs", () => {
  for (const [length, hash] of hashes) {
    const buffer = Buffer.from(Array.from({ length }, (_, i) => i & 255));
    assert.equal(xxh3Hex(buffer), hash, `length ${length}`);
    assert.equal(xxh3Hex(buffer.latin1Slice()), hash, `length ${length}, as a string`);
  }
});

test("a part of a larger buffer has the hash of the part", () => {
  const whole = Buffer.from(Array.from({ length: 2_000 }, (_, i) => (i - 3) & 255));
  assert.equal(xxh3Hex(whole.subarray(3, 1_028)), "78c86e91ee939852");
});
