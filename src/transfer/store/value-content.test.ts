/** Equal and different contents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import { type Dumped, writePayload } from "../../store/structures/rdb/payload.ts";
import { closePayload } from "../../store/structures/rdb/payload-footer.ts";
import { PayloadWriter } from "../../store/structures/rdb/payload-writer.ts";
import { haveSameContent } from "./value-content.ts";

function dump(value: Dumped): Bytes {
  return bytesFrom(writePayload(value));
}

const stream = {
  kind: "stream",
  entries: [{ ms: 1, seq: 1, names: ["n"], values: ["v"] }],
  lastId: { ms: 5, seq: 0 },
  maxDeletedId: { ms: 0, seq: 0 },
  addedCount: 3,
  groups: [
    {
      name: "g",
      lastId: { ms: 1, seq: 1 },
      readCount: 2,
      consumers: [{ name: "c", seenMs: 2_000, pending: [{ ms: 1, seq: 1, deliveredAtMs: 1_000, deliveryCount: 3 }] }],
    },
  ],
} as const satisfies Dumped;
const [group] = stream.groups;
const [consumer] = group.consumers;

const rows: readonly (readonly [what: string, one: Dumped, other: Dumped, isSame: boolean])[] = [
  ["strings", { kind: "string", bytes: "12" }, { kind: "string", bytes: Buffer.from("12") }, true],
  ["other strings", { kind: "string", bytes: "12" }, { kind: "string", bytes: "13" }, false],
  ["another type", { kind: "list", elements: ["a"] }, { kind: "set", members: ["a"] }, false],
  ["lists in another order", { kind: "list", elements: ["a", "b"] }, { kind: "list", elements: ["b", "a"] }, false],
  ["elements cut elsewhere", { kind: "list", elements: ["ab", "c"] }, { kind: "list", elements: ["a", "bc"] }, false],
  ["sets in another order", { kind: "set", members: ["a", "b"] }, { kind: "set", members: ["b", "a"] }, true],
  ["a member more", { kind: "set", members: ["a"] }, { kind: "set", members: ["a", "b"] }, false],
  [
    "sorted sets in another order",
    { kind: "sorted set", members: ["a", "b"], scores: [1, 2] },
    { kind: "sorted set", members: ["b", "a"], scores: [2, 1] },
    true,
  ],
  [
    "another score",
    { kind: "sorted set", members: ["a"], scores: [0.1] },
    { kind: "sorted set", members: ["a"], scores: [0.10000000000000002] },
    false,
  ],
  [
    "hashes in another order",
    { kind: "hash", fields: ["f", "g"], values: ["1", "2"] },
    { kind: "hash", fields: ["g", "f"], values: ["2", "1"] },
    true,
  ],
  [
    "values in each other's fields",
    { kind: "hash", fields: ["f", "g"], values: ["1", "2"] },
    { kind: "hash", fields: ["f", "g"], values: ["2", "1"] },
    false,
  ],
  [
    "a field that expires later",
    { kind: "hash", fields: ["f"], values: ["1"], expiriesMs: [5_000] },
    { kind: "hash", fields: ["f"], values: ["1"], expiriesMs: [5_001] },
    false,
  ],
  [
    "a field that has expired",
    { kind: "hash", fields: ["f", "g"], values: ["1", "2"], expiriesMs: [0, 1_000] },
    { kind: "hash", fields: ["f"], values: ["1"] },
    true,
  ],
  ["streams", stream, { ...stream, groups: [{ ...group }] }, true],
  ["an entry's value", stream, { ...stream, entries: [{ ...stream.entries[0], values: ["w"] }] }, false],
  ["how many were added", stream, { ...stream, addedCount: 4 }, false],
  ["how much a group has read", stream, { ...stream, groups: [{ ...group, readCount: 3 }] }, false],
  ["a consumer less", stream, { ...stream, groups: [{ ...group, consumers: [] }] }, false],
  [
    "another count of deliveries",
    stream,
    {
      ...stream,
      groups: [{ ...group, consumers: [{ ...consumer, pending: [{ ...consumer.pending[0], deliveryCount: 4 }] }] }],
    },
    false,
  ],
];

test("compares values by content, not by bytes", () => {
  for (const [what, one, other, isSame] of rows)
    assert.equal(haveSameContent(dump(one), dump(other), 2_000), isSame, what);
});

test("does not compare the read counts of groups in a stream from before Redis 7, which has none", () => {
  const old = new PayloadWriter().raw(
    Buffer.from(
      "0f0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001016701010000",
      "hex",
    ),
  );
  const grown = {
    ...stream,
    addedCount: 1,
    groups: [{ name: "g", lastId: { ms: 1, seq: 1 }, readCount: 1, consumers: [] }],
  };
  assert.equal(haveSameContent(bytesFrom(closePayload(old, 9)), dump(grown), 0), true);
});

function dumpOf(hex: string, version: number): Bytes {
  return bytesFrom(closePayload(new PayloadWriter().raw(Buffer.from(hex, "hex")), version));
}

test("compares a listpack of Redis with the fields in any order", () => {
  const packed = dumpOf("1013130000000400816602817602816702817702ff", 10);
  const hash = (fields: readonly string[], values: readonly string[]): Bytes => dump({ kind: "hash", fields, values });
  assert.equal(haveSameContent(packed, hash(["f", "g"], ["v", "w"]), 0), true);
  assert.equal(haveSameContent(packed, hash(["g", "f"], ["w", "v"]), 0), true);
  assert.equal(haveSameContent(packed, hash(["f", "g"], ["w", "v"]), 0), false);
});

test("knows equal bytes of another version without decoding them, but not those that Valkey reads otherwise", () => {
  assert.equal(haveSameContent(dumpOf("000161", 9), dumpOf("000161", 11), 0), true);
  assert.equal(haveSameContent(dumpOf("000161", 9), dumpOf("000162", 11), 0), false);
  // A hash of a release candidate of Redis 7.4, and one of Valkey: other fields in the same bytes.
  const hash = "16010001610162000000000000";
  assert.equal(haveSameContent(dumpOf(hash, 12), dumpOf(hash, 12), 0), true);
  assert.equal(haveSameContent(dumpOf(hash, 12), dumpOf(hash, 80), 0), false);
});
