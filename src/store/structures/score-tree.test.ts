/** The tree against the obvious structure: a sorted array. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../kernel/random.ts";
import { ScoreTree } from "./score-tree.ts";

type Pair = readonly [member: string, score: number];

/** The same as a ScoreTree, one after the other. */
class PlainOrder {
  pairs: Pair[] = [];

  insert(score: number, member: string): void {
    this.pairs.push([member, score]);
    this.pairs.sort(compare);
  }

  scoreOf(member: string): number | undefined {
    return this.pairs.find(([own]) => own === member)?.[1];
  }

  remove(member: string): void {
    this.pairs = this.pairs.filter(([own]) => own !== member);
  }

  countBelow(score: number, { orEqual }: { orEqual: boolean }): number {
    return this.pairs.filter(([, own]) => own < score || (orEqual && own === score)).length;
  }

  rankOf(score: number, member: string): number {
    return this.pairs.filter((pair) => compare(pair, [member, score]) < 0).length;
  }
}

function compare([member, score]: Pair, [otherMember, otherScore]: Pair): number {
  if (score !== otherScore) return score < otherScore ? -1 : 1;
  return member < otherMember ? -1 : member > otherMember ? 1 : 0;
}

function pairsOf(tree: ScoreTree, from = 0, count = tree.size): Pair[] {
  const pairs: Pair[] = [];
  tree.visit(from, count, (member, score) => pairs.push([member, score]));
  return pairs;
}

function backwards(tree: ScoreTree, from: number, count: number): Pair[] {
  const pairs: Pair[] = [];
  tree.visitBackwards(from, count, (member, score) => pairs.push([member, score]));
  return pairs.reverse();
}

test("random changes give the contents of a sorted array", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = seededRandom(seed);
    const memberCount = 20 + random.below(1_500);
    const scoreCount = 1 + random.below(random.below(2) === 0 ? 5 : 10_000);
    const tree = new ScoreTree();
    const plain = new PlainOrder();
    for (let step = 0; step < 1_500; step += 1) {
      const note = `seed ${seed}, step ${step}`;
      const member = `m${random.below(memberCount)}`;
      const score = (random.below(scoreCount) - scoreCount / 2) / 2;
      const old = plain.scoreOf(member);
      const kind = random.below(40);
      if (kind === 0 && plain.pairs.length > 0) {
        const from = random.below(plain.pairs.length);
        const count = 1 + random.below(Math.min(200, plain.pairs.length - from));
        tree.removeRanks(from, count);
        plain.pairs.splice(from, count);
      } else if (old === undefined) {
        tree.insert(score, member);
        plain.insert(score, member);
      } else if (kind < 15) {
        tree.remove(old, member);
        plain.remove(member);
      } else {
        tree.move(member, { from: old, to: score });
        plain.remove(member);
        plain.insert(score, member);
      }
      assert.equal(tree.rankOf(score, member), plain.rankOf(score, member), note);
      for (const orEqual of [false, true])
        assert.equal(tree.countBelow(score, { orEqual }), plain.countBelow(score, { orEqual }), note);
      if (step % 100 !== 0) continue;
      tree.check();
      assert.deepEqual(pairsOf(tree), plain.pairs, note);
      const from = random.below(tree.size + 1);
      const count = random.below(tree.size - from + 1);
      assert.deepEqual(pairsOf(tree, from, count), plain.pairs.slice(from, from + count), note);
      assert.deepEqual(backwards(tree, from, count), plain.pairs.slice(from, from + count), note);
    }
    while (tree.size > 0) {
      const from = random.below(tree.size);
      const count = 1 + random.below(tree.size - from);
      tree.removeRanks(from, count);
      plain.pairs.splice(from, count);
      tree.check();
      assert.deepEqual(pairsOf(tree), plain.pairs, `seed ${seed}, emptied`);
    }
  }
});

test("visits any pairs in order, each at its rank", () => {
  const score = fc.oneof(fc.constantFrom(0, -0, 1, Infinity, -Infinity), fc.double({ noNaN: true }));
  const member = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(member, score), { selector: ([own]) => own, maxLength: 300 }), (pairs) => {
      const tree = new ScoreTree();
      for (const [own, ownScore] of pairs) tree.insert(ownScore, own);

      tree.check();
      const sorted = pairs.toSorted(compare);
      assert.deepEqual(pairsOf(tree), sorted);
      for (const [rank, [own, ownScore]] of sorted.entries()) {
        assert.equal(tree.memberAt(rank), own);
        assert.equal(tree.scoreAt(rank), ownScore);
        assert.equal(tree.rankOf(ownScore, own), rank);
      }
    }),
  );
});

test("pairs inserted in order fill their leaves", () => {
  for (const direction of [1, -1]) {
    const tree = new ScoreTree();
    for (let i = 0; i < 10_000; i += 1) tree.insert(direction * i, `m${i}`);
    tree.check();
    assert.equal(tree.memberAt(direction === 1 ? 9_999 : 0), "m9999");
    while (tree.size > 0) tree.removeRanks(tree.size - 1, 1);
    tree.check();
  }
});

/** Visits and moves per call on a tree of this many pairs. */
function workOf(count: number, run: (tree: ScoreTree, i: number) => void): number {
  const tree = new ScoreTree();
  for (let i = 0; i < count; i += 1) tree.insert((i * 7919) % count, `m${i}`);
  const before = tree.visits + tree.moves;
  for (let i = 0; i < 500; i += 1) run(tree, Math.floor((i * count) / 500));
  return (tree.visits + tree.moves - before) / 500;
}

test("the work of a call grows no faster than the logarithm of the size", () => {
  const calls: readonly ((tree: ScoreTree, i: number) => void)[] = [
    (tree, i) => tree.insert(i + 0.5, "new"),
    (tree, i) => tree.removeRanks(Math.min(i, tree.size - 1), 1),
    (tree) => tree.removeRanks(0, 1),
    (tree, i) => tree.rankOf(i, "m"),
    (tree, i) => tree.memberAt(i),
    (tree, i) => tree.countBelow(i, { orEqual: true }),
    (tree, i) => tree.visit(Math.min(i, tree.size - 20), 20, () => {}),
  ];
  for (const [index, run] of calls.entries()) {
    const few = workOf(1_000, run);
    const many = workOf(100_000, run);
    assert.ok(many <= few + 30, `call ${index}: ${few} with 1 k pairs, ${many} with 100 k`);
    assert.ok(many <= 120, `call ${index}: ${many} with 100 k pairs`);
  }
});

test("removing a long range takes work for its length, not for the size", () => {
  const tree = new ScoreTree();
  for (let i = 0; i < 100_000; i += 1) tree.insert(i, `m${i}`);
  const before = tree.visits + tree.moves;
  tree.removeRanks(20_000, 10_000);
  assert.ok(tree.visits + tree.moves - before <= 30_000, `${tree.visits + tree.moves - before} visits and moves`);
  tree.check();
});
