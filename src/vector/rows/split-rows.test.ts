/** Rows that are stored as codes and remainders are read to the last bit. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seedFrom } from "../../../test/harness/seed.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { similarities } from "../index/definition.ts";
import { remainderBytesOf, rowBytesOf } from "./row-kernel.ts";
import { RowMemory } from "./row-memory.ts";
import { RowStore } from "./row-store.ts";

const seed = seedFrom("LARDER_SPLIT_ROWS_SEED");
const memory = new RowMemory();

type Draw = (random: Random, dimension: number) => Float32Array;

function normal(random: Random): number {
  let sum = -6;
  for (let i = 0; i < 12; i += 1) sum += random.unit();
  return sum;
}

const drawNormal: Draw = (random, length) => Float32Array.from({ length }, () => normal(random));

function changed(random: Random, row: Float32Array, values: readonly number[]): Float32Array {
  for (const value of values) row[random.below(row.length)] = value;
  return row;
}

/** Rows that have a code and remainders, and the exceptions that they may have. */
const splitDraws: readonly (readonly [name: string, draw: Draw])[] = [
  ["normal numbers", drawNormal],
  [
    "numbers of any size between 0.1 and 1",
    (random, length) => Float32Array.from({ length }, () => 0.1 + 0.9 * random.unit()),
  ],
  ["zeros", (_, length) => new Float32Array(length)],
  ["zeros with one value", (random, length) => changed(random, new Float32Array(length), [1e-9])],
  ["many zeros", (random, length) => drawNormal(random, length).map((value) => (value < 0 ? 0 : value))],
  ["whole numbers", (random, length) => Float32Array.from({ length }, () => random.below(255) - 127)],
  [
    "negative zero and values near zero",
    (random, length) => changed(random, drawNormal(random, length), [-0, 1e-45, -1e-45, 1e-38, -1e-20]),
  ],
  [
    "values on the borders of codes",
    (random, length) =>
      Float32Array.from(
        { length },
        (_, i) => (i === 0 ? 127 : random.below(126) + 0.5) * (1 + 2 ** -23 * (random.below(3) - 1)),
      ),
  ],
  ["large numbers", (random, length) => drawNormal(random, length).map((value) => value * 1e5)],
  ["small numbers", (random, length) => drawNormal(random, length).map((value) => value * 1e-7)],
];

/** Rows with more exceptions than there is room for. */
const wholeDraws: readonly (readonly [name: string, draw: Draw])[] = [
  ["one value is a thousand times as large", (random, length) => changed(random, drawNormal(random, length), [2_000])],
  [
    "tiny numbers, whose squares are too small for a code",
    (random, length) => drawNormal(random, length).map((value) => value * 1e-25),
  ],
  [
    "huge numbers, whose squares are too large for a code",
    (random, length) => drawNormal(random, length).map((value) => value * 1e15),
  ],
  [
    "any exponent",
    (random, length) => Float32Array.from({ length }, () => normal(random) * 10 ** (random.below(30) - 29)),
  ],
];

const dimensions = [128, 129, 384, 1_000, 1_536];

/** A store whose last rows are in blocks of full size, with rows of whole numbers before them. */
function storeOf(dimension: number): { store: RowStore; first: number } {
  const store = new RowStore(memory, dimension);
  let first = 0;
  for (store.ensure(0); store.blocks.at(-1)?.codes === undefined; store.ensure(first)) first = store.capacity;
  return { store, first };
}

function bitsOf(row: Float32Array): Uint32Array {
  return new Uint32Array(row.slice().buffer);
}

describe("a row in two parts", () => {
  for (const [name, draw] of [...splitDraws, ...wholeDraws])
    test(`${name}: every bit is read again, and ranks are those of the whole row`, () => {
      const random = seededRandom(seed);
      for (const dimension of dimensions) {
        const { store, first } = storeOf(dimension);
        assert.equal(store.blocks.at(-1)?.isSplit, true);
        const rows = Array.from({ length: 20 }, () => draw(random, dimension));
        for (const [i, row] of rows.entries()) store.set(first + i, row);
        // The rows before them are in small blocks, which have them whole.
        const whole = new RowStore(memory, dimension);
        const query = memory.prepare(draw(random, dimension));
        for (const [i, row] of rows.entries()) {
          whole.ensure(0);
          whole.set(0, row);
          assert.deepEqual(
            bitsOf(store.read(first + i)),
            bitsOf(row),
            `seed ${seed}, dimension ${dimension}, row ${i}`,
          );
          assert.deepEqual(bitsOf(store.look(first + i)), bitsOf(row));
          assert.equal(store.squaredLength(first + i), whole.squaredLength(0));
          for (const similarity of similarities)
            assert.equal(store.rank(similarity, query, first + i), whole.rank(similarity, query, 0));
        }
        whole.clear();
        store.clear();
      }
    });

  test("replaced by another one, it has nothing of the former", () => {
    const random = seededRandom(seed);
    const { store, first } = storeOf(384);
    const draws = [...splitDraws, ...wholeDraws].map(([, draw]) => draw);
    for (let round = 0; round < 300; round += 1) {
      const row = (draws[random.below(draws.length)] as Draw)(random, 384);
      store.set(first, row);
      assert.deepEqual(bitsOf(store.read(first)), bitsOf(row), `seed ${seed}, round ${round}`);
    }
    store.clear();
  });

  test("its neighbours keep theirs", () => {
    const random = seededRandom(seed);
    const { store, first } = storeOf(130);
    const rows = Array.from({ length: 200 }, () => drawNormal(random, 130));
    for (const [i, row] of rows.entries()) store.set(first + i, row);
    for (let i = 0; i < 200; i += 2) store.set(first + i, drawNormal(random, 130));
    for (let i = 1; i < 200; i += 2) assert.deepEqual(store.read(first + i), rows[i]);
    store.clear();
  });
});

describe("the layout of blocks", () => {
  function filled(dimension: number, draw: Draw): RowStore {
    const random = seededRandom(seed);
    const store = new RowStore(memory, dimension);
    for (let record = 0; record < 3_000; record += 1) {
      store.ensure(record);
      store.set(record, draw(random, dimension));
    }
    return store;
  }

  test("normal numbers of 384 dimensions take 1,606 bytes", () => {
    const store = filled(384, drawNormal);
    const full = store.blocks.filter(({ codes }) => codes !== undefined);
    assert.ok(full.every(({ isSplit, end, start }) => isSplit && end - start === 653));
    store.clear();
  });

  test("rows of which many have too many exceptions stay whole, and have codes", () => {
    const store = filled(384, (wholeDraws[0] as readonly [string, Draw])[1]);
    const full = store.blocks.filter(({ codes }) => codes !== undefined);
    assert.ok(full.length > 1);
    assert.ok(full.every(({ isSplit, end, start }) => !isSplit && end - start === 540));
    store.clear();
  });

  test("it is chosen again when a store has no block of full size any more", () => {
    const store = filled(384, (wholeDraws[0] as readonly [string, Draw])[1]);
    store.truncate(10);
    const random = seededRandom(seed);
    for (let record = 0; record < 3_000; record += 1) {
      store.ensure(record);
      store.set(record, drawNormal(random, 384));
    }
    assert.equal(store.blocks.at(-1)?.isSplit, true);
    assert.equal(store.count, 3_000);
    store.clear();
  });

  test("the kernel has the same bytes for what codes leave", () => {
    const { arena } = memory.allocate(2_048);
    for (const dimension of [128, 129, 384, 385, 1_000, 4_096, 65_536])
      assert.equal(arena.kernel.remainderBytes(rowBytesOf(dimension)), remainderBytesOf(dimension));
  });
});
