/** The hash of keys with a memory, against the hash itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { halfSipHash } from "../../../kernel/checksum/half-sip-hash.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { keyHash } from "./key-hash.ts";

test("A-20: repeated, empty and long keys have the hash of their bytes and of each seed", () => {
  const seeds = [
    [0, 0],
    [1, 0],
    [0, 1],
    [-5, 2_000_000_000],
  ] as const;
  const random = seededRandom(7);
  // Many share a slot, because they end alike and have the same length.
  const keys = Array.from({ length: 300 }, (_, i) => `${i % 3}${"x".repeat(random.below(200))}${i % 50}`);
  keys.push("", "", "a", "a", "b", "\x00", "\xff\xff");
  for (let i = 0; i < 20_000; i += 1) {
    const key = keys[random.below(keys.length)] as string;
    const [key0, key1] = seeds[random.below(seeds.length)] as readonly [number, number];
    assert.equal(keyHash(key0, key1, key), halfSipHash(key0, key1, key), JSON.stringify({ key, key0, key1 }));
  }
});

test("equal keys that are different strings have one hash", () => {
  const one = Buffer.from("session:123456789").latin1Slice();
  const other = Buffer.from("session:123456789").latin1Slice();
  assert.equal(keyHash(3, 4, one), keyHash(3, 4, other));
});
