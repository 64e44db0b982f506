/** Blocks of an arena: they keep their bytes, and do not overlap. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../kernel/random.ts";
import { ByteArena, byteOffset, classBytes, classFor } from "./byte-arena.ts";

test("blocks of all sizes keep their bytes", () => {
  const arena = new ByteArena();
  const random = seededRandom(1);
  const blocks: { reference: number; size: number; mark: number; sizeClass: number | undefined }[] = [];
  const fill = (block: (typeof blocks)[number]): void => {
    const start = byteOffset(block.reference);
    arena.bytesOf(block.reference).fill(block.mark, start, start + block.size);
  };
  for (let i = 0; i < 3_000; i += 1) {
    const size = i % 500 === 499 ? 1_100_000 + random.below(2_000_000) : 1 + random.below(i % 7 === 0 ? 5_000 : 90);
    const sizeClass = random.below(2) === 0 && size < 100_000 ? classFor(size, 0) : undefined;
    const reference = sizeClass === undefined ? arena.allocate(size) : arena.take(sizeClass);
    const block = {
      reference,
      size: sizeClass === undefined ? size : (classBytes[sizeClass] as number),
      mark: i % 251,
      sizeClass,
    };
    blocks.push(block);
    fill(block);
    if (random.below(3) > 0) continue;
    const at = random.below(blocks.length);
    const freed = blocks[at] as (typeof blocks)[number];
    if (freed.sizeClass === undefined) continue;
    arena.free(freed.reference, freed.sizeClass);
    blocks.splice(at, 1);
  }
  let byteCount = 0;
  for (const { reference, size, mark } of blocks) {
    const start = byteOffset(reference);
    const bytes = arena.bytesOf(reference).subarray(start, start + size);
    assert.equal(bytes.length, size);
    assert.ok(bytes.every((byte) => byte === mark));
    byteCount += size;
  }
  assert.ok(arena.memoryBytes > byteCount && arena.memoryBytes < 1.5 * byteCount + 2_000_000);
});

test("a freed block is used again", () => {
  const arena = new ByteArena();
  const first = arena.take(3);
  const second = arena.take(3);
  arena.free(first, 3);
  arena.free(second, 3);
  assert.deepEqual([arena.take(3), arena.take(3)], [second, first]);
  assert.equal(new ByteArena().memoryBytes, 2_048);
});

test("size classes grow by a third or a half", () => {
  assert.deepEqual(classBytes.slice(0, 8), [8, 16, 24, 32, 48, 64, 96, 128]);
  assert.equal(classFor(8, 0), 0);
  assert.equal(classFor(9, 0), 1);
  assert.equal(classFor(9, 4), 4);
});
