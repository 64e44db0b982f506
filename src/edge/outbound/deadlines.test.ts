import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { Deadlines, type Timed } from "./deadlines.ts";

function harness() {
  const clock = new VirtualClock();
  const armed = new Set<object>();
  const deadlines = new Deadlines({
    monotonicMs: () => clock.monotonicMs(),
    after(delayMs, task) {
      const timer = {};
      armed.add(timer);
      const cancel = clock.after(delayMs, () => {
        armed.delete(timer);
        task();
      });
      return () => {
        armed.delete(timer);
        cancel();
      };
    },
  });
  const expired: string[] = [];
  const startMs = clock.monotonicMs();
  const add = (name: string, timeoutMs: number): Timed => {
    const expire = (): void => void expired.push(`${name} at ${clock.monotonicMs() - startMs}`);
    const call: Timed = { deadlineMs: 0, earlier: undefined, later: undefined, expire };
    deadlines.add(call, timeoutMs);
    return call;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await nextTurn();
    await nextTurn();
  };
  return { clock, deadlines, armed, expired, add, advance };
}

test("each call expires at its own deadline, and not before it", async () => {
  const { expired, add, advance } = harness();
  add("a", 100);
  await advance(40);
  add("b", 100);
  add("short", 30);
  await advance(29);
  assert.deepEqual(expired, []);
  await advance(1);
  assert.deepEqual(expired, ["short at 70"]);
  await advance(30);
  assert.deepEqual(expired, ["short at 70", "a at 100"]);
  await advance(39);
  assert.deepEqual(expired, ["short at 70", "a at 100"]);
  await advance(1);
  assert.deepEqual(expired, ["short at 70", "a at 100", "b at 140"]);
});

test("a call that has ended does not expire, wherever it is in its list", async () => {
  for (const removed of [0, 1, 2]) {
    const { deadlines, expired, add, advance } = harness();
    const calls = ["a", "b", "c"].map((name) => add(name, 10));
    deadlines.remove(calls[removed] as Timed, 10);
    await advance(10);
    const rest = ["a at 10", "b at 10", "c at 10"].filter((_, index) => index !== removed);
    assert.deepEqual(expired, rest);
  }
});

test("removing a call that has expired leaves the others", async () => {
  const { deadlines, expired, add, advance } = harness();
  const first = add("a", 10);
  await advance(5);
  add("b", 10);
  await advance(5);
  deadlines.remove(first, 10);
  await advance(5);
  assert.deepEqual(expired, ["a at 10", "b at 15"]);
});

test("a call added after the last one has ended has its whole time", async () => {
  const { deadlines, expired, add, advance } = harness();
  const first = add("a", 10);
  await advance(6);
  deadlines.remove(first, 10);
  add("b", 10);
  await advance(9);
  assert.deepEqual(expired, []);
  await advance(1);
  assert.deepEqual(expired, ["b at 16"]);
});

test("no timer remains without calls", async () => {
  const { armed, deadlines, add, advance } = harness();
  const calls = [add("a", 10), add("b", 10), add("c", 20)];
  assert.equal(armed.size, 2);
  deadlines.remove(calls[0] as Timed, 10);
  assert.equal(armed.size, 2);
  deadlines.remove(calls[1] as Timed, 10);
  deadlines.remove(calls[2] as Timed, 20);
  assert.equal(armed.size, 0);
  add("d", 10);
  await advance(10);
  assert.equal(armed.size, 0);
});

test("a call that ends between its timer and the poll does not expire", async () => {
  const { clock, deadlines, expired, add, advance } = harness();
  const call = add("a", 10);
  clock.advance(10);
  deadlines.remove(call, 10);
  await advance(0);
  assert.deepEqual(expired, []);
});
