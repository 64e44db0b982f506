/** MurmurHash64A against a plain one in 64-bit integers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes } from "../../../kernel/bytes.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { hashed, murmurHash64 } from "./murmur-hash.ts";

const FACTOR = 0xc6a4a7935bd1e995n;
const MASK = 2n ** 64n - 1n;

/** The published algorithm, word for word. */
function plainHash(bytes: Bytes): bigint {
  const buffer = Buffer.from(bytes, "latin1");
  let hash = 0xadc83b19n ^ ((BigInt(buffer.length) * FACTOR) & MASK);
  let at = 0;
  for (; at + 8 <= buffer.length; at += 8) {
    let word = (buffer.readBigUInt64LE(at) * FACTOR) & MASK;
    word ^= word >> 47n;
    hash = ((hash ^ ((word * FACTOR) & MASK)) * FACTOR) & MASK;
  }
  if (at < buffer.length) {
    for (let i = at; i < buffer.length; i += 1) hash ^= BigInt(buffer[i] as number) << BigInt(8 * (i - at));
    hash = (hash * FACTOR) & MASK;
  }
  hash = ((hash ^ (hash >> 47n)) * FACTOR) & MASK;
  return hash ^ (hash >> 47n);
}

test("the hash in halves equals the hash in 64-bit integers", () => {
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const random = seededRandom(seed);
    const bytes = String.fromCharCode(...Array.from({ length: random.below(40) }, () => random.below(256)));
    murmurHash64(bytes);
    assert.equal((BigInt(hashed.high) << 32n) | BigInt(hashed.low), plainHash(bytes), `seed ${seed}`);
  }
});
