/** Bits by words against bits one by one, at every alignment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { and, andNot, type Combine, countBits, findBit, invert, or, xor } from "./bits.ts";

/** Bytes at any alignment of memory; runs of the same byte are common. */
function drawBytes(random: Random, lengthMax: number): Uint8Array {
  const memory = new Uint8Array(lengthMax + 8);
  const start = random.below(8);
  const bytes = memory.subarray(start, start + 1 + random.below(lengthMax));
  let byte = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    if (random.below(9) === 0) byte = random.below(4) === 0 ? random.below(256) : random.below(2) * 255;
    bytes[i] = byte;
  }
  return bytes;
}

function bitAt(bytes: Uint8Array, place: number): number {
  return ((bytes[place >> 3] ?? 0) >> (7 - (place & 7))) & 1;
}

test("counts bits between any two positions", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 400; round += 1) {
    const bytes = drawBytes(random, 100);
    const start = random.below(bytes.length + 1);
    const end = start + random.below(bytes.length - start + 1);
    let expected = 0;
    for (let place = 8 * start; place < 8 * end; place += 1) expected += bitAt(bytes, place);
    assert.equal(countBits(bytes, start, end), expected, `round ${round}: ${start} to ${end}`);
  }
});

test("counts a full buffer of many words without overflow", () => {
  const bytes = new Uint8Array(1_000_003).fill(255);
  assert.equal(countBits(bytes, 0, bytes.length), 8_000_024);
  assert.equal(countBits(bytes, 1, bytes.length - 1), 8_000_008);
});

test("finds the first set or clear bit between any two positions", () => {
  const random = seededRandom(2);
  for (let round = 0; round < 2_000; round += 1) {
    const bytes = drawBytes(random, 60);
    const start = random.below(8 * bytes.length);
    const end = start + random.below(8 * bytes.length - start);
    for (const bit of [0, 1] as const) {
      let expected = start;
      while (expected <= end && bitAt(bytes, expected) !== bit) expected += 1;
      const note = `round ${round}: ${bit} in ${start} to ${end}`;
      assert.equal(findBit(bytes, bit, { start, end }), expected > end ? -1 : expected, note);
    }
  }
});

test("finds a bit after, before and between long runs of the other", () => {
  const random = seededRandom(4);
  for (let round = 0; round < 300; round += 1) {
    const byte = random.below(2) * 255;
    const length = 1 + random.below(14_000);
    const bytes = new Uint8Array(length + 8).subarray(random.below(8)).subarray(0, length).fill(byte);
    const places = Array.from({ length: random.below(3) }, () => random.below(8 * length)).sort((a, b) => a - b);
    for (const place of places) bytes[place >> 3] = byte ^ (0x80 >> (place & 7));
    const start = random.below(8 * length);
    const end = start + random.below(8 * length - start);
    // If two of them share a byte, the later one defines the byte.
    const isThere = (place: number): boolean => bitAt(bytes, place) !== (byte & 1);
    const expected = places.find((place) => isThere(place) && place >= start && place <= end) ?? -1;
    assert.equal(findBit(bytes, byte === 0 ? 1 : 0, { start, end }), expected, `round ${round}`);
  }
});

test("combines two byte ranges bit by bit, for all lengths and alignments", () => {
  const combinations: readonly [Combine, (one: number, other: number) => number][] = [
    [and, (one, other) => one & other],
    [or, (one, other) => one | other],
    [xor, (one, other) => one ^ other],
    [andNot, (one, other) => one & ~other & 255],
  ];
  const random = seededRandom(3);
  for (let round = 0; round < 400; round += 1) {
    for (const [combine, plain] of combinations) {
      const lengthMax = random.below(4) === 0 ? 300 : 50;
      const target = drawBytes(random, lengthMax);
      const one = drawBytes(random, lengthMax).subarray(0, random.below(target.length + 1));
      const other = drawBytes(random, lengthMax).subarray(0, random.below(target.length + 1));
      const expectedOfBoth = Array.from(target, (_, i) => plain(one[i] ?? 0, other[i] ?? 0));
      const expectedInPlace = expectedOfBoth.map((byte, i) => plain(byte, other[i] ?? 0));
      combine(target, one, other);
      assert.deepEqual([...target], expectedOfBoth, `round ${round}`);
      combine(target, target, other);
      assert.deepEqual([...target], expectedInPlace, `round ${round}: in place`);
    }
    const target = drawBytes(random, 50);
    const expected = Array.from(target, (byte) => byte ^ 255);
    invert(target);
    assert.deepEqual([...target], expected, `round ${round}: invert`);
  }
});
