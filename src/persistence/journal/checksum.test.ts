import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";
import { crc32 } from "./checksum.ts";

test("computes the standard CRC-32", () => {
  assert.equal(crc32(Buffer.from("123456789"), 0, 9, 0), 0xcbf4_3926);
  assert.equal(crc32(Buffer.alloc(0), 0, 0, 0), 0);
});

test("agrees with zlib at every length, start and seed", () => {
  const bytes = Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 151 + (i >> 3)) & 255));
  for (let length = 0; length <= 400; length += 1) {
    const start = (length * 7) % 200;
    for (const seed of [0, 1, 0x8000_0000, 0xffff_ffff]) {
      const expected = zlibCrc32(bytes.subarray(start, start + length), seed);
      assert.equal(crc32(bytes, start, start + length, seed), expected, `${length} bytes from ${start}, seed ${seed}`);
    }
  }
});
