/** The order of texts by code points. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { textOrder } from "./text-order.ts";

/** In order. UTF-16 units have another order: U+E000 and U+FFFF are after all surrogates there. */
const texts: readonly string[] = [
  ...["", "\0", "A", "Z", "a", "aa", "ab", "a\uffff", "a\u{10000}", "b", "\u007f", "\u0080", "é"],
  ...["\ud7ff", "\ud7ff\uffff", "\ud7ff😀", "\ud800", "\ud800\ue000", "\udc00", "\ue000", "\uffee", "\uffff"],
  ...["\uffff😀", "\u{10000}", "\u{10001}", "😀", "😀\uffff", "😀😀", "😁", "\u{10ffff}"],
];

test("B2.filter: texts are in the order of their code points", () => {
  for (const [at, text] of texts.entries()) {
    const order = textOrder(text);
    for (const [other, compared] of texts.entries())
      assert.equal(Math.sign(order(compared)), Math.sign(other - at), JSON.stringify([compared, text]));
  }
});

test("B2.filter: the order of well-formed texts is that of their UTF-8 bytes", () => {
  const wellFormed = texts.filter((text) => text.isWellFormed());
  for (const text of wellFormed) {
    const order = textOrder(text);
    for (const other of wellFormed)
      assert.equal(Math.sign(order(other)), Buffer.compare(Buffer.from(other), Buffer.from(text)));
  }
});
