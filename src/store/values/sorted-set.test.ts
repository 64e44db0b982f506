/** A sorted set against the obvious one: a Map. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { SortedSetValue } from "./sorted-set.ts";

const SEED = new Uint8Array(8);

function pairsOf(sortedSet: SortedSetValue): [string, number][] {
  const pairs: [string, number][] = [];
  sortedSet.visit({ from: 0, count: sortedSet.size }, (member, score) => pairs.push([member, score]));
  return pairs;
}

function inOrder(plain: ReadonlyMap<string, number>): [string, number][] {
  return [...plain].toSorted(([a, x], [b, y]) => (x === y ? (a < b ? -1 : 1) : x - y));
}

function assertSame(sortedSet: SortedSetValue, plain: ReadonlyMap<string, number>, note: string): void {
  const pairs = inOrder(plain);
  assert.deepEqual(pairsOf(sortedSet), pairs, note);
  assert.equal(sortedSet.size, plain.size, note);
  const places = Array.from({ length: sortedSet.size }, (_, place) => [
    sortedSet.memberAt(place),
    sortedSet.scoreAt(place),
  ]);
  assert.deepEqual(new Map(places as [string, number][]), plain, note);
  for (const [rank, [member, score]] of pairs.entries()) {
    assert.equal(sortedSet.rankOf(member), rank, note);
    assert.equal(sortedSet.get(member), score, note);
  }
}

test("random changes give the contents of a Map, in the small form and beyond it", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(seed);
    const memberCount = 10 + random.below(400);
    const sortedSet = new SortedSetValue(SEED);
    const plain = new Map<string, number>();
    for (let step = 0; step < 600; step += 1) {
      const note = `seed ${seed}, step ${step}`;
      const member = `m${random.below(memberCount)}`;
      if (random.below(3) > 0) {
        const score = random.below(20);
        sortedSet.put(member, score);
        plain.set(member, score);
      } else if (random.below(20) > 0 || plain.size === 0) {
        assert.equal(sortedSet.delete(member), plain.delete(member), note);
      } else {
        const from = random.below(plain.size);
        const count = 1 + random.below(Math.min(10, plain.size - from));
        for (const [gone] of inOrder(plain).slice(from, from + count)) plain.delete(gone);
        sortedSet.deleteRanks({ from, count });
      }
      assert.equal(sortedSet.has(member), plain.has(member), note);
      if (step % 100 === 0) assertSame(sortedSet, plain, note);
    }
    assertSame(sortedSet, plain, `seed ${seed}`);
    assertSame(sortedSet.copy(), plain, `copy, seed ${seed}`);
    assertSame(sortedSet.compacted(), plain, `compacted, seed ${seed}`);
  }
});

test("a copy shares nothing with its original", () => {
  const sortedSet = new SortedSetValue(SEED);
  sortedSet.put("m", 1);
  const copy = sortedSet.copy();

  copy.put("m", 2);

  assert.equal(sortedSet.get("m"), 1);
});

test("its memory follows growth and shrinking", () => {
  const sortedSet = new SortedSetValue(SEED);
  const emptyBytes = sortedSet.memoryBytes;
  for (let i = 0; i < 100; i += 1) sortedSet.put(`member:${i}`, i);
  assert.ok(sortedSet.memoryBytes > emptyBytes + 100 * 40);
  for (let i = 0; i < 99; i += 1) sortedSet.delete(`member:${i}`);
  sortedSet.deleteRanks({ from: 0, count: 1 });
  assert.equal(sortedSet.memoryBytes, emptyBytes);
});
