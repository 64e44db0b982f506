import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBudget, NOBODY } from "./byte-budget.ts";

const a = { name: "a" };
const b = { name: "b" };
const c = { name: "c" };

test("one owner gets half in small parts, and others still have room", () => {
  const budget = new ByteBudget(1_000);
  for (let i = 0; i < 5; i += 1) assert.equal(budget.take(100, a), true);
  assert.equal(budget.take(1, a), false);
  assert.equal(budget.take(250, b), true);
  assert.equal(budget.take(1, b), false);
  assert.equal(budget.take(125, c), true);
  assert.equal(budget.usedBytes, 875);
});

test("an owner that holds nothing gets more than half at once, but not the last eighth", () => {
  const budget = new ByteBudget(1_000);
  assert.equal(budget.take(876, a), false);
  assert.equal(budget.take(875, a), true);
  assert.equal(budget.take(1, a), false);
});

test("a reply to the only request of its owner gets more than half", () => {
  const budget = new ByteBudget(1_000);
  budget.take(10, a);
  assert.equal(budget.take(600, a), false);
  assert.equal(budget.take(866, a, 10), false);
  assert.equal(budget.take(865, a, 10), true);
});

test("an owner without bytes may always begin, one with more than is left may not", () => {
  const budget = new ByteBudget(1_000);
  budget.add(600, a);
  assert.equal(budget.hasRoom(a), false);
  assert.equal(budget.hasRoom(b), true);
  budget.add(5_000, b);
  assert.equal(budget.hasRoom(b), false);
  assert.equal(budget.hasRoom(c), true);
});

test("is quiet while few bytes are held", () => {
  const budget = new ByteBudget(1_000);
  budget.add(250, a);
  assert.equal(budget.isQuiet, true);
  budget.add(1, a);
  assert.equal(budget.isQuiet, false);
});

test("released bytes are free again, and an owner without bytes is not listed", () => {
  const budget = new ByteBudget(1_000);
  budget.add(300, a);
  budget.release(100, a);
  assert.deepEqual([...budget.owners], [[a, 200]]);
  budget.release(200, a);
  assert.deepEqual([...budget.owners], []);
  assert.equal(budget.usedBytes, 0);
});

test("moves bytes from NOBODY to their owner", () => {
  const budget = new ByteBudget(1_000);
  budget.take(300);
  budget.move(300, NOBODY, a);
  assert.deepEqual([...budget.owners], [[a, 300]]);
  assert.equal(budget.usedBytes, 300);
});

test("calls a waiter once, when its owner has room", () => {
  const budget = new ByteBudget(1_000);
  const called: string[] = [];
  budget.add(800, a);
  budget.whenRoom(a, () => called.push("first"));
  budget.whenRoom(a, () => called.push("removed"))();
  budget.release(100, a);
  assert.deepEqual(called, []);
  budget.release(300, a);
  assert.deepEqual(called, ["first"]);
  budget.release(400, a);
  assert.deepEqual(called, ["first"]);
});
