/** Ids of stream entries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import {
  compareIds,
  formatId,
  ID_MAX,
  ID_MIN,
  idAfter,
  idBefore,
  parseAddedId,
  parseExactId,
  parseId,
  readId,
  type StreamId,
  WHOLE_MAX,
  writeId,
} from "./stream-id.ts";

const parsed: readonly (readonly [text: string, id: StreamId | undefined])[] = [
  ["0", { ms: 0, seq: 7 }],
  ["5-3", { ms: 5, seq: 3 }],
  ["007-1", { ms: 7, seq: 1 }],
  [" 7-+1", { ms: 7, seq: 1 }],
  ["1--0", { ms: 1, seq: 0 }],
  ["1--01", { ms: 1, seq: WHOLE_MAX }],
  ["1--1", undefined],
  ["1-", undefined],
  ["-1", undefined],
  ["", undefined],
  ["x", undefined],
  ["1-1-1", undefined],
  ["123-45x", undefined],
  ["0000000000000001-2", { ms: 1, seq: 2 }],
  ["1-0000000000000002", { ms: 1, seq: 2 }],
  ["1\x00junk", { ms: 1, seq: 7 }],
  ["9007199254740991-9007199254740992", { ms: 9_007_199_254_740_991, seq: 9_007_199_254_740_992n }],
  ["18446744073709551615", { ms: WHOLE_MAX, seq: 7 }],
  ["18446744073709551616", undefined],
  ["1".repeat(128), undefined],
];

test("an id is parsed as in Redis", () => {
  for (const [text, id] of parsed) assert.deepEqual(parseExactId(text, 7), id, text);
  assert.deepEqual([parseId("-", 7), parseId("+", 7), parseExactId("-", 7)], [ID_MIN, ID_MAX, undefined]);
  assert.deepEqual(parseAddedId("5-*"), { ms: 5, seq: undefined });
  assert.deepEqual(parseAddedId("*-*"), undefined);
});

test("next and previous ids cross the border of exact numbers", () => {
  const chain: readonly StreamId[] = [
    { ms: 0, seq: 0 },
    { ms: 0, seq: 1 },
    { ms: 0, seq: 9_007_199_254_740_991 },
    { ms: 0, seq: 9_007_199_254_740_992n },
    { ms: 0, seq: WHOLE_MAX },
    { ms: 1, seq: 0 },
    { ms: 9_007_199_254_740_991, seq: WHOLE_MAX },
    { ms: 9_007_199_254_740_992n, seq: 0 },
    { ms: WHOLE_MAX, seq: WHOLE_MAX },
  ];
  for (const [i, one] of chain.entries())
    for (const [j, other] of chain.entries())
      assert.equal(Math.sign(compareIds(one, other)), Math.sign(i - j), `${formatId(one)} ${formatId(other)}`);
  assert.deepEqual(idAfter({ ms: 0, seq: 9_007_199_254_740_991 }), chain[3]);
  assert.deepEqual(idAfter({ ms: 0, seq: WHOLE_MAX }), chain[5]);
  assert.deepEqual(idAfter({ ms: 9_007_199_254_740_991, seq: WHOLE_MAX }), chain[7]);
  assert.deepEqual(idBefore({ ms: 1, seq: 0 }), chain[4]);
  assert.deepEqual(idBefore({ ms: 9_007_199_254_740_992n, seq: 0 }), chain[6]);
  assert.equal(idAfter(ID_MAX), undefined);
  assert.equal(idBefore(ID_MIN), undefined);
  for (const id of chain) {
    const writer = new FrameWriter();
    writeId(writer, id);
    assert.deepEqual(readId(new FrameReader(writer.take())), id);
  }
});
