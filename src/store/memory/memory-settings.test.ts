/** Sizes as redis.conf spells them, and the policies by name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findEvictionPolicy, parseMemorySize } from "./memory-settings.ts";

const sizes: readonly (readonly [text: string, bytes: number | undefined])[] = [
  ["0", 0],
  ["", 0],
  ["1000", 1_000],
  ["1b", 1],
  ["1k", 1_000],
  ["1kb", 1_024],
  ["1M", 1_000_000],
  ["100mb", 104_857_600],
  ["1g", 1_000_000_000],
  ["1GB", 1_073_741_824],
  ["18446744073709551615", 9_007_199_254_740_991],
  ["-1", undefined],
  ["1.5gb", undefined],
  ["5 mb", undefined],
  ["1tb", undefined],
  ["many", undefined],
];

test("reads sizes as in redis.conf", () => {
  for (const [text, bytes] of sizes) assert.equal(parseMemorySize(text), bytes, text);
});

test("finds a policy in upper and lower case", () => {
  assert.equal(findEvictionPolicy("AllKeys-LRU")?.name, "allkeys-lru");
  assert.equal(findEvictionPolicy("lru"), undefined);
});
