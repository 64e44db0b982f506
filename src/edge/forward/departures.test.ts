import assert from "node:assert/strict";
import { test } from "node:test";
import { Departures } from "./departures.ts";

function bench() {
  const departures = new Departures();
  const events: string[] = [];
  /** Adds departures with these names. Those in `leavesAtOnce` find a connection that is open. */
  const add = (names: readonly string[], leavesAtOnce: readonly string[] = []): void => {
    for (const name of names)
      departures.add({
        begin() {
          events.push(name);
          if (leavesAtOnce.includes(name)) departures.left({ isConnected: true });
        },
        refuse: () => void events.push(`not ${name}`),
      });
  };
  return { departures, events, add };
}

const names = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

test("32 requests begin a connection at once, and others follow in their order", () => {
  const { departures, events, add } = bench();
  add(names(1, 40));
  assert.deepEqual(events, names(1, 32));
  departures.left({ isConnected: true });
  departures.left({ isConnected: true });
  assert.deepEqual(events, names(1, 34));
});

test("requests that find an open connection do not wait for each other", () => {
  const { events, add } = bench();
  const all = names(1, 5_000);
  add(all, all);
  assert.deepEqual(events, all);
});

test("those that wait leave one after the other, as far as connections are open", () => {
  const { departures, events, add } = bench();
  add(names(1, 2_000), names(33, 1_999));
  assert.equal(events.length, 32);
  departures.left({ isConnected: true });
  assert.equal(events.length, 2_000);
});

test("a connection that cannot be made refuses those that wait, not those that come later", () => {
  const { departures, events, add } = bench();
  add(names(1, 34));
  departures.left({ isConnected: false });
  assert.deepEqual(events.slice(32), ["not 33", "not 34"]);
  add(["35"]);
  assert.equal(events.at(-1), "35");
});

test("closed departures refuse those that wait and those that come", () => {
  const { departures, events, add } = bench();
  add(names(1, 33));
  departures.close();
  add(["34"]);
  assert.deepEqual(events.slice(32), ["not 33", "not 34"]);
});

test("the last one to leave is noticed", () => {
  const { departures, add } = bench();
  let noticed = 0;
  const notice = (): void => {
    noticed += 1;
  };
  departures.whenNone(notice);
  assert.equal(noticed, 1);
  add(names(1, 33));
  departures.whenNone(notice);
  for (let count = 0; count < 32; count += 1) departures.left({ isConnected: true });
  assert.equal(noticed, 1);
  departures.left({ isConnected: true });
  assert.equal(noticed, 2);
});
