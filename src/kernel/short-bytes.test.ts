import assert from "node:assert/strict";
import { test } from "node:test";
import { cutBytes, cutName } from "./short-bytes.ts";

const all = Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 7) & 255));

test("cuts any bytes of any length at any place", () => {
  for (const start of [0, 1, 33, 199]) {
    for (let length = 0; length <= 100; length += 1) {
      const expected = all.toString("latin1", start, start + length);
      assert.equal(cutBytes(all, start, start + length), expected);
      assert.equal(cutName(all, start, start + length), expected);
    }
  }
});

test("words that look alike keep their own bytes, however often they are cut", () => {
  const words = [
    "SET",
    "set",
    "Set",
    "GET",
    "SETX",
    "TES",
    "sET",
    "\xf3\xe5\xf4",
    "S\x00T",
    "1234",
    "MSETNX",
    "HGETALLHGETA",
  ];
  // Far more names than are kept.
  for (let i = 0; i < 26 ** 3; i += 7)
    words.push(String.fromCharCode(65 + (i % 26), 65 + ((i / 26) % 26), 97 + ((i / 676) % 26)));
  for (const round of [1, 2]) {
    for (const word of words) {
      const buffer = Buffer.from(`*${word}*`, "latin1");
      assert.equal(cutName(buffer, 1, 1 + word.length), word, `round ${round}`);
    }
  }
});
