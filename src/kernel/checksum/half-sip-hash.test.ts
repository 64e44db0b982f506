/** HalfSipHash-1-3 against the vectors of the Linux kernel's self-test (32-bit `hsiphash`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { halfSipHash, hashKey } from "./half-sip-hash.ts";

/** The hash of the bytes 0, 1, 2 … of each length from 0 on, under the key 00 01 … 07. */
const HASH_BY_LENGTH = [
  1477757078, -404200246, -1135931856, 22255929, 2114297510, -1998333797, -1610085531, -1657218602, 1467586993,
  -935736595, -453365041, -1785575698, 1797785964, 1725799638, 375753340, -802850044, -1959668479, 723308619, 108077881,
  1378536039, -1860454907, -1868144882, -131666053, 1649487339, 1460996823, 1564947719, 516191298, -1419464749,
  172032208, 1831659090, 590460579, 148404506, -1133651315, -520697548, -1335549901, -1684516404,
];

test("HalfSipHash-1-3 of the published inputs", () => {
  const { key0, key1 } = hashKey(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7));
  let bytes = "";
  for (const [length, hash] of HASH_BY_LENGTH.entries()) {
    assert.equal(halfSipHash(key0, key1, bytes), hash, `length ${length}`);
    bytes += String.fromCharCode(length);
  }
});

test("a long string hashes as by the plain rule, across every window border", () => {
  const bytes = Array.from({ length: 40_000 }, (_, i) => String.fromCharCode((i * 7 + (i >> 8)) & 255)).join("");
  for (const length of [159, 160, 161, 163, 16_383, 16_384, 16_385, 16_388, 32_768, 32_771, 40_000]) {
    const text = bytes.slice(0, length);
    assert.equal(halfSipHash(11, -12, text), plainHash(11, -12, text), `length ${length}`);
  }
});

/** The same function as in the paper, for clarity only. */
function plainHash(key0: number, key1: number, bytes: string): number {
  const v: [number, number, number, number] = [key0, key1, key0 ^ 0x6c796765, key1 ^ 0x74656462];
  const rotate = (word: number, count: number): number => (word << count) | (word >>> (32 - count));
  const round = (): void => {
    v[0] = (v[0] + v[1]) | 0;
    v[1] = rotate(v[1], 5) ^ v[0];
    v[0] = rotate(v[0], 16);
    v[2] = (v[2] + v[3]) | 0;
    v[3] = rotate(v[3], 8) ^ v[2];
    v[0] = (v[0] + v[3]) | 0;
    v[3] = rotate(v[3], 7) ^ v[0];
    v[2] = (v[2] + v[1]) | 0;
    v[1] = rotate(v[1], 13) ^ v[2];
    v[2] = rotate(v[2], 16);
  };
  const padded = Buffer.alloc(Math.floor(bytes.length / 4) * 4 + 4);
  padded.write(bytes, "latin1");
  padded[padded.length - 1] = bytes.length;
  for (let i = 0; i < padded.length; i += 4) {
    const word = padded.readInt32LE(i);
    v[3] ^= word;
    round();
    v[0] ^= word;
  }
  v[2] ^= 0xff;
  for (let i = 0; i < 3; i += 1) round();
  return v[1] ^ v[3];
}
