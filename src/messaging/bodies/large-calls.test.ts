import assert from "node:assert/strict";
import { test } from "node:test";
import type { User } from "../state/user.ts";
import { LargeCalls } from "./large-calls.ts";

const a = { name: "a" } as User;
const b = { name: "b" } as User;

test("one user's calls take half of the limit, in their order, and another user's the other half", () => {
  const calls = new LargeCalls(100);
  const started: string[] = [];
  const enter = (user: User, bytes: number): void =>
    calls.enter(user, bytes, () => started.push(`${user.name}${bytes}`));
  for (const bytes of [30, 40, 10]) enter(a, bytes);
  enter(b, 50);
  assert.deepEqual(started, ["a30", "b50"]);

  calls.leave(a, 30);
  assert.deepEqual(started, ["a30", "b50", "a40", "a10"]);
  assert.equal(calls.bytes, 100);

  for (const [user, bytes] of [
    [a, 40],
    [a, 10],
    [b, 50],
  ] as const)
    calls.leave(user, bytes);
  assert.deepEqual([calls.bytes, calls.waitingCount], [0, 0]);
});

test("when the common limit is reached, the first call starts first", () => {
  const calls = new LargeCalls(100);
  const started: string[] = [];
  const enter = (user: User, bytes: number): void =>
    calls.enter(user, bytes, () => started.push(`${user.name}${bytes}`));
  enter(a, 50);
  enter(b, 45);
  const c = { name: "c" } as User;
  enter(c, 20);
  enter(b, 5);
  assert.deepEqual(started, ["a50", "b45"]);

  calls.leave(a, 50);
  assert.deepEqual(started, ["a50", "b45", "c20", "b5"]);
});

test("a call that exceeds the limit starts when no other call is under way", () => {
  const calls = new LargeCalls(100);
  const started: number[] = [];
  calls.enter(a, 10, () => started.push(10));
  calls.enter(b, 300, () => started.push(300));
  assert.deepEqual(started, [10]);
  calls.leave(a, 10);
  assert.deepEqual(started, [10, 300]);
});
