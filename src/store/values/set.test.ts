/** A set in its three forms against the obvious one: a Set of JavaScript. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { SetValue } from "./set.ts";

const SEED = new Uint8Array(8);

function setOf(members: Iterable<string>): SetValue {
  const set = new SetValue(SEED);
  for (const member of members) set.add(member);
  return set;
}

function membersOf(set: SetValue): string[] {
  return Array.from({ length: set.size }, (_, place) => set.memberAt(place));
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${i}`);
}

function assertSame(set: SetValue, plain: ReadonlySet<string>, note: string): void {
  assert.equal(set.size, plain.size, note);
  assert.deepEqual(new Set(membersOf(set)), plain, note);
  const scanned: string[] = [];
  let cursor = 0;
  do cursor = set.scan(cursor, (place) => scanned.push(set.memberAt(place)));
  while (cursor !== 0);
  assert.deepEqual(scanned.toSorted(), [...plain].sort(), note);
}

/** Members of every kind: small and large integers, those beyond a double, strings that look like numbers. */
const ODD_MEMBERS: readonly string[] = [
  ...["0", "-1", "01", "-0", "+1", "1.0", "", " 1", "1e3"],
  ...["9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993"],
  ...["9223372036854775807", "-9223372036854775808", "9223372036854775808"],
  ...["\x00\xff", "__proto__", "constructor", "x".repeat(100)],
];

test("random changes give the contents of a Set, in all three forms and across them", () => {
  for (let seed = 1; seed <= 90; seed += 1) {
    const random = seededRandom(seed);
    const memberCount = 5 + random.below(700);
    // Some have only integers, some only strings, some both.
    const kind = seed % 3;
    const member = (): string => {
      if (kind === 2 && random.below(5) === 0) return ODD_MEMBERS[random.below(ODD_MEMBERS.length)] as string;
      const number = random.below(memberCount) - 5;
      return kind === 1 ? `member:${number}` : `${number}`;
    };
    const set = new SetValue(SEED);
    const plain = new Set<string>();
    for (let step = 0; step < 1_500; step += 1) {
      const one = member();
      const note = `seed ${seed}, step ${step}, member ${one}`;
      assert.equal(set.has(one), plain.has(one), note);
      if (random.below(3) > 0) {
        assert.equal(set.add(one), !plain.has(one), note);
        plain.add(one);
      } else {
        assert.equal(set.delete(one), plain.delete(one), note);
      }
      if (step % 100 === 0) assertSame(set, plain, note);
    }
    assertSame(set, plain, `seed ${seed}`);
    const copy = set.copy();
    assertSame(copy, plain, `copy, seed ${seed}`);
    assert.equal(copy.isIntset, set.isIntset);
    copy.add("only in the copy");
    assertSame(set, plain, `after a change of the copy, seed ${seed}`);
  }
});

test("a set of integers is in order, and distinguishes numbers from strings that look like them", () => {
  const set = setOf(["10", "9", "-3", "9007199254740991", "0"]);

  assert.deepEqual(membersOf(set), ["-3", "0", "9", "10", "9007199254740991"]);
  for (const member of ["00", "+9", "9.0", "-0", "", " 0", "9007199254740992"])
    assert.equal(set.has(member), false, member);
});

test("a set is an intset up to 512 integers of 64 bits, and never becomes one again", () => {
  assert.equal(setOf(numbers(512)).isIntset, true);
  assert.equal(setOf(numbers(513)).isIntset, false);
  assert.equal(setOf(["9223372036854775807", "-9223372036854775808"]).isIntset, true);
  assert.equal(setOf(["9223372036854775808"]).isIntset, false);
  assert.equal(setOf(["1", "01"]).isIntset, false);

  const set = setOf(["1", "x"]);
  set.delete("x");
  assert.equal(set.isIntset, false);
  assert.equal(set.copy().isIntset, false);
  assert.equal(set.copy().add("2"), true);
});

test("a set may have integers beyond a double and numbers", () => {
  const set = setOf(["1", "9007199254740993", "2"]);

  assert.deepEqual(membersOf(set).sort(), ["1", "2", "9007199254740993"]);
  assert.equal(set.isIntset, true);
  assert.equal(set.has("9007199254740992"), false);
  assert.equal(set.delete("1"), true);
});

test("the memory of a set follows its contents", () => {
  const set = new SetValue(SEED);
  const emptyBytes = set.memoryBytes;
  for (const member of numbers(512)) set.add(member);
  assert.equal(set.memoryBytes, emptyBytes + 512 * 8);
  const words = Array.from({ length: 10 }, (_, i) => `member number ${i}`);
  const plain = setOf(words);
  assert.equal(plain.memoryBytes, emptyBytes + 10 * (8 + 32));
  for (const member of words) plain.delete(member);
  assert.equal(plain.memoryBytes, emptyBytes);
  for (let i = 0; i < 1_000; i += 1) plain.add(`member number ${i}`);
  assert.ok(plain.memoryBytes > 1_000 * (8 + 32) && plain.memoryBytes < 1_000 * 64, `${plain.memoryBytes}`);
});
