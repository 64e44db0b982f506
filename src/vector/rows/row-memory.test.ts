import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { type Block, OutOfMemory, RowMemory } from "./row-memory.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;

test("reserves nothing before the first block", () => {
  const memory = new RowMemory();

  assert.equal(memory.reservedBytes, 0);
  assert.equal(memory.usedBytes, 0);
});

test("small blocks share a chunk", () => {
  const memory = new RowMemory();

  for (let i = 0; i < 256; i += 1) memory.allocate(4 * KIB);

  assert.equal(memory.usedBytes, MIB);
  assert.equal(memory.reservedBytes, 2 * MIB, "the scratch and one chunk");
});

test("a chunk whose blocks are all free serves another size", () => {
  const memory = new RowMemory();
  const blocks = Array.from({ length: 16 }, () => memory.allocate(64 * KIB));
  for (const block of blocks) memory.release(block);
  assert.equal(memory.usedBytes, 0);

  memory.allocate(MIB);

  assert.equal(memory.reservedBytes, 2 * MIB);
});

test("a full arena is followed by the next one", () => {
  const memory = new RowMemory({ arenaBytes: 4 * MIB });

  const blocks = Array.from({ length: 7 }, () => memory.allocate(MIB));

  assert.equal(new Set(blocks.map(({ arena }) => arena)).size, 3);
  assert.equal(memory.reservedBytes, 10 * MIB, "three scratches and seven chunks");
});

test("memory beyond the bound is refused, and existing blocks stay valid", () => {
  const memory = new RowMemory({ bytesMax: 3 * MIB });
  const first = memory.allocate(MIB);
  memory.allocate(MIB);

  assert.throws(() => memory.allocate(4 * KIB), OutOfMemory);

  assert.equal(memory.usedBytes, 2 * MIB);
  assert.equal(memory.reservedBytes, 3 * MIB);
  memory.release(first);
  memory.allocate(4 * KIB);
  assert.equal(memory.usedBytes, MIB + 4 * KIB);
});

test("blocks are aligned to their size and never overlap", () => {
  const seed = 4_096;
  const random = seededRandom(seed);
  const memory = new RowMemory({ arenaBytes: 8 * MIB });
  const held: { block: Block; mark: number }[] = [];
  for (let round = 0; round < 3_000; round += 1) {
    if (random.unit() < (round < 2_000 ? 0.55 : 0.2) || held.length === 0) {
      const block = memory.allocate(4 * KIB * 2 ** random.below(9));
      assert.equal(block.address % block.bytes, 0, `seed ${seed}, round ${round}`);
      block.arena.words.fill(round, block.address / 4, (block.address + block.bytes) / 4);
      held.push({ block, mark: round });
    } else {
      const index = random.below(held.length);
      const { block, mark } = held[index] ?? assert.fail();
      held[index] = held.at(-1) ?? assert.fail();
      held.pop();
      const words = block.arena.words.subarray(block.address / 4, (block.address + block.bytes) / 4);
      assert.ok(words.indexOf(mark) === 0 && words.lastIndexOf(mark) === words.length - 1, `seed ${seed}`);
      assert.ok(
        words.every((word) => word === mark),
        `seed ${seed}, round ${round}`,
      );
      memory.release(block);
    }
    const bytes = held.reduce((sum, { block }) => sum + block.bytes, 0);
    assert.equal(memory.usedBytes, bytes, `seed ${seed}, round ${round}`);
  }
});

test("a squared length that a float32 cannot hold is not finite", () => {
  const memory = new RowMemory();

  assert.equal(memory.squaredLength(Float32Array.of(3, 4)), 25);
  assert.equal(memory.squaredLength(Float32Array.of(1e20, 1)), Number.POSITIVE_INFINITY);
  assert.equal(memory.squaredLength(Float32Array.of(1e-30)), 0);
  assert.ok(Number.isNaN(memory.squaredLength(Float32Array.of(Number.NaN, 1))));
});
