/** A list against the obvious one: an array. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { ListValue } from "./list.ts";

function elementsOf(list: ListValue, options: { backwards: boolean } = { backwards: false }): string[] {
  const elements: string[] = [];
  list.visit({ from: 0, to: list.length, ...options }, (element) => {
    elements.push(element);
    return true;
  });
  return elements;
}

/** Words that often repeat, and sometimes one with a long length, or one that hardly fits a packed block. */
function word(random: Random): string {
  if (random.below(2_000) === 0) return "very long".repeat(2_000 + random.below(3_000));
  if (random.below(400) === 0) return "long".repeat(64 + random.below(3));
  return random.below(3) === 0
    ? `${random.below(6)}`
    : `a word of ${random.below(100)} and some \xff\x00 bytes`.slice(random.below(20));
}

/** One random change of both. */
function change(list: ListValue, array: string[], random: Random): void {
  const length = array.length;
  switch (random.below(length > 0 ? 12 : 4)) {
    case 0:
    case 1: {
      for (let count = random.below(300); count > 0; count -= 1) {
        const element = word(random);
        list.pushLast(element);
        array.push(element);
      }
      break;
    }
    case 2:
    case 3: {
      for (let count = random.below(300); count > 0; count -= 1) {
        const element = word(random);
        list.pushFirst(element);
        array.unshift(element);
      }
      break;
    }
    case 4:
      for (let count = Math.min(length, random.below(250)); count > 0; count -= 1)
        assert.equal(list.popFirst(), array.shift());
      break;
    case 5:
      for (let count = Math.min(length, random.below(250)); count > 0; count -= 1)
        assert.equal(list.popLast(), array.pop());
      break;
    case 6:
    case 7:
      for (let count = random.below(200); count > 0; count -= 1) {
        const index = random.below(array.length + 1);
        const element = word(random);
        list.insert(index, element);
        array.splice(index, 0, element);
      }
      break;
    case 8:
      for (let count = random.below(50); count > 0; count -= 1) {
        const index = random.below(length);
        const element = word(random);
        list.set(index, element);
        array[index] = element;
      }
      break;
    case 9: {
      const from = random.below(random.below(length) + 1);
      const to =
        random.below(4) === 0
          ? from + random.below(length - from + 1)
          : length - random.below(Math.min(300, length - from));
      list.keep(from, to);
      const part = array.slice(from, to);
      array.length = 0;
      array.push(...part);
      break;
    }
    default: {
      const element = random.below(2) === 0 ? (array[random.below(length)] as string) : word(random);
      const backwards = random.below(2) === 0;
      const countMax = random.below(3) === 0 ? Number.POSITIVE_INFINITY : 1 + random.below(40);
      const rest: string[] = [];
      let removed = 0;
      for (const item of backwards ? array.toReversed() : array) {
        if (item === element && removed < countMax) removed += 1;
        else rest.push(item);
      }
      assert.equal(list.removeEqual(element, { countMax, backwards }), removed);
      array.length = 0;
      array.push(...(backwards ? rest.reverse() : rest));
    }
  }
}

function assertSame(list: ListValue, array: readonly string[], note: string): void {
  assert.equal(list.length, array.length, note);
  assert.deepEqual(elementsOf(list), array, note);
  assert.deepEqual(elementsOf(list, { backwards: true }), array.toReversed(), note);
}

test("random changes give the contents of an array", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed);
    const list = new ListValue();
    const array: string[] = [];
    for (let step = 0; step < 60; step += 1) {
      change(list, array, random);
      const note = `seed ${seed}, step ${step}`;
      if (step % 5 === 0) assertSame(list, array, note);
      for (let looks = 0; looks < 10 && array.length > 0; looks += 1) {
        const index = random.below(array.length);
        assert.equal(list.at(index), array[index], note);
        const to = index + random.below(array.length - index + 1);
        const stretch: string[] = [];
        list.visit({ from: index, to }, (element, at) => {
          assert.equal(at, index + stretch.length, note);
          stretch.push(element);
          return true;
        });
        assert.deepEqual(stretch, array.slice(index, to), note);
      }
    }
    assertSame(list, array, `seed ${seed}`);
  }
});

test("pushes and pops may alternate at both ends, with changes and reads in between", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seededRandom(seed);
    const list = new ListValue();
    const array = Array.from({ length: 600 }, () => word(random));
    for (const element of array) list.pushLast(element);
    for (let step = 0; step < 3_000; step += 1) {
      const note = `seed ${seed}, step ${step}`;
      const element = word(random);
      // First more pops than pushes, until the branches are gone, then the opposite.
      const isShrinking = step % 1_500 < 1_000;
      const what = random.below(isShrinking ? 10 : 7);
      if (what < 2) {
        list.pushFirst(element);
        array.unshift(element);
      } else if (what < 4) {
        list.pushLast(element);
        array.push(element);
      } else if (what === 4 && array.length > 0) {
        const index = random.below(array.length);
        list.set(index, element);
        array[index] = element;
      } else if (what === 5 && random.below(20) === 0) {
        const index = random.below(array.length + 1);
        list.insert(index, element);
        array.splice(index, 0, element);
      } else if (what === 6 && array.length > 0) {
        const index = random.below(array.length);
        assert.equal(list.at(index), array[index], note);
      } else if (what > 6 && array.length > 0) {
        if (random.below(2) === 0) assert.equal(list.popFirst(), array.shift(), note);
        else assert.equal(list.popLast(), array.pop(), note);
      }
      assert.equal(list.length, array.length, note);
    }
    const copy = list.copy();
    assertSame(list, array, `seed ${seed}`);
    assertSame(copy, array, `seed ${seed}, copy`);
  }
});

test("a copy and its original are independent", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seededRandom(seed);
    const list = new ListValue();
    const array: string[] = [];
    for (let step = 0; step < 12; step += 1) change(list, array, random);
    const copy = list.copy();
    const copied = [...array];
    for (let step = 0; step < 12; step += 1) {
      change(list, array, random);
      change(copy, copied, random);
    }
    assertSame(list, array, `seed ${seed}`);
    assertSame(copy, copied, `seed ${seed}, copy`);
  }
});

test("a visit ends when the visitor returns false", () => {
  const list = new ListValue();
  for (let i = 0; i < 1_000; i += 1) list.pushLast(`${i}`);
  const seen: string[] = [];

  list.visit({ from: 100, to: 900, backwards: true }, (element) => seen.push(element) < 3);

  assert.deepEqual(seen, ["899", "898", "897"]);
});

test("a list takes little more memory than its elements", () => {
  const list = new ListValue();
  for (let i = 0; i < 10_000; i += 1) list.pushLast("0123456789");
  const bytes = list.memoryBytes;
  assert.ok(bytes > 10_000 * 11 && bytes < 10_000 * 15, `${bytes}`);

  list.keep(5_000, 5_010);
  assert.ok(list.memoryBytes < 1_000, `${list.memoryBytes}`);
});

/** Work of one call on average, in nodes visited and elements moved. */
function workOf(list: ListValue, countOfCalls: number, call: (i: number) => void): number {
  const before = list.work;
  for (let i = 0; i < countOfCalls; i += 1) call(i);
  return (list.work - before) / countOfCalls;
}

function filled(length: number): ListValue {
  const list = new ListValue();
  for (let i = 0; i < length; i += 1) list.pushLast(`element ${i}`);
  return list;
}

const measured: readonly (readonly [what: string, workMax: number, call: (list: ListValue, i: number) => void])[] = [
  ["a push at the front", 5, (list, i) => list.pushFirst(`${i}`)],
  ["a push at the back", 5, (list, i) => list.pushLast(`${i}`)],
  ["a pop at the front", 5, (list) => list.popFirst()],
  ["a pop at the back", 5, (list) => list.popLast()],
  ["a move from back to front", 9, (list) => list.pushFirst(list.popLast())],
  ["a look at an index", 4, (list, i) => list.at((i * 7_919) % list.length)],
  ["a change at an index", 4 + 2 * 128, (list, i) => list.set((i * 7_919) % list.length, "x")],
  ["an insertion at an index", 5 + 4 * 128, (list, i) => list.insert((i * 7_919) % list.length, "x")],
  ["a trim of half of what is left", 7 * 128, (list) => list.keep(list.length >> 2, list.length - (list.length >> 2))],
];

for (const [what, workMax, call] of measured) {
  test(`the work of ${what} does not grow with the length`, () => {
    const calls = what.includes("trim") ? 5 : 900;
    for (const length of [1_000, 100_000]) {
      const list = filled(length);
      const work = workOf(list, calls, (i) => call(list, i));
      assert.ok(work <= workMax, `${work} with ${length} elements`);
    }
  });
}
