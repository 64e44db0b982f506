/** A hash with expiring fields against the obvious one: two Maps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { HashValue } from "./hash.ts";

const SEED = new Uint8Array(8);

/** The expected contents of a HashValue. */
class PlainHash {
  readonly values = new Map<string, string>();
  readonly expiries = new Map<string, number>();

  delete(field: string): boolean {
    this.expiries.delete(field);
    return this.values.delete(field);
  }

  get nextDueMs(): number {
    return Math.min(...this.expiries.values());
  }
}

function entriesOf(hash: HashValue): [string, string][] {
  return Array.from({ length: hash.size }, (_, place) => [hash.fieldAt(place), hash.valueAt(place)]);
}

function assertSame(hash: HashValue, plain: PlainHash, note: string): void {
  assert.equal(hash.size, plain.values.size, note);
  assert.deepEqual(new Map(entriesOf(hash)), plain.values, note);
  assert.equal(hash.nextDueMs, plain.nextDueMs, note);
  assert.equal(hash.hasExpiries, plain.expiries.size > 0, note);
  for (const field of plain.values.keys()) assert.equal(hash.expiryOf(field), plain.expiries.get(field), note);
}

test("random changes give the contents of two Maps, in the flat form and beyond it", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed);
    // Some stay flat, some switch between small and large sizes repeatedly.
    const fieldCount = 10 + random.below(300);
    const hash = new HashValue(SEED);
    const plain = new PlainHash();
    for (let step = 0; step < 600; step += 1) {
      const field = `f${random.below(fieldCount)}`;
      const atMs = random.below(1_000);
      const note = `seed ${seed}, step ${step}, field ${field}`;
      switch (random.below(6)) {
        case 0:
        case 1:
        case 2:
          assert.equal(hash.set(field, `${step}`), !plain.values.has(field), note);
          plain.values.set(field, `${step}`);
          break;
        case 3:
          assert.equal(hash.delete(field), plain.delete(field), note);
          break;
        case 4:
          if (!plain.values.has(field)) break;
          hash.setExpiry(field, atMs);
          plain.expiries.set(field, atMs);
          break;
        default:
          assert.equal(hash.clearExpiry(field), plain.expiries.delete(field), note);
      }
      if (step % 20 === 0) assertSame(hash, plain, note);
    }
    assertSame(hash, plain, `seed ${seed}`);
    const copy = hash.copy();
    assertSame(copy, plain, `copy, seed ${seed}`);

    const nowMs = 500;
    const alive = hash.copyWithoutDue(nowMs);
    for (const [field, atMs] of [...plain.expiries]) if (atMs < nowMs) plain.delete(field);
    assertSame(alive, plain, `alive, seed ${seed}`);
    assert.equal(hash.hasFieldNotDue(nowMs), plain.values.size > 0);

    // The same by removing due fields one after the other.
    for (let due = hash.findDue(nowMs); due !== undefined; due = hash.findDue(nowMs)) hash.delete(due);
    assertSame(hash, plain, `taken out, seed ${seed}`);
  }
});

test("a field whose expiry is set repeatedly has the last one", () => {
  const hash = new HashValue(SEED);
  hash.set("f", "v");
  hash.set("g", "v");
  hash.setExpiry("g", 5);
  for (let i = 0; i < 100_000; i += 1) hash.setExpiry("f", 1_000_000 - i);

  assert.equal(hash.nextDueMs, 5);
  hash.delete("g");
  assert.equal(hash.nextDueMs, 900_001);
});

test("no change of an expiry pays for the changes before it", () => {
  const hash = new HashValue(SEED);
  for (let i = 0; i < 2_000; i += 1) {
    hash.set(`f${i}`, "v");
    hash.setExpiry(`f${i}`, i);
  }
  let workMax = 0;
  for (let i = 0; i < 6_000; i += 1) {
    const before = hash.work;
    hash.setExpiry(`f${(i * 7) % 2_000}`, 10_000 - i);
    workMax = Math.max(workMax, hash.work - before);
  }
  assert.ok(workMax < 50, `${workMax} entries examined or moved`);
});

test("a copy shares nothing with its original", () => {
  const hash = new HashValue(SEED);
  hash.set("f", "v");
  hash.setExpiry("f", 10);
  const copy = hash.copy();

  copy.set("f", "w");
  copy.clearExpiry("f");

  assert.equal(hash.get("f"), "v");
  assert.equal(hash.expiryOf("f"), 10);
});

test("its memory depends on its contents, not on former contents", () => {
  for (const count of [10, 300]) {
    const fresh = new HashValue(SEED);
    const used = new HashValue(SEED);
    for (let i = 0; i < count; i += 1) {
      fresh.set(`f${i}`, "value");
      used.set(`f${i}`, "a value that is longer");
    }
    fresh.set("more", "value");
    fresh.delete("more");
    assert.ok(used.memoryBytes > fresh.memoryBytes);
    for (let i = 0; i < count; i += 1) used.set(`f${i}`, "value");
    used.set("more", "value");
    used.setExpiry("more", 5);
    used.delete("more");
    assert.equal(used.memoryBytes, fresh.memoryBytes);
    for (let i = 0; i < count; i += 1) used.delete(`f${i}`);
    assert.ok(used.memoryBytes < 1_500);
  }
});
