import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView } from "../../../test/harness/cluster/cluster-views.ts";
import { BeatWatch } from "./beat-watch.ts";

/** Polls that are answered 100 ms after they were sent. */
class Polls {
  readonly watch = new BeatWatch();

  saw(sentMs: number, beats: Readonly<Record<string, number | "dead">>): void {
    const nodes = Object.entries(beats).map(([life, beat]) =>
      nodeView(life, { life, beat: beat === "dead" ? 0 : beat, isDead: beat === "dead" }),
    );
    this.watch.saw(nodes, { sentMs, answeredMs: sentMs + 100 });
  }

  /** One poll in each second. */
  sawFor(fromMs: number, toMs: number, beats: Readonly<Record<string, number | "dead">>): void {
    for (let sentMs = fromMs; sentMs <= toMs; sentMs += 1_000) this.saw(sentMs, beats);
  }

  get silent(): readonly string[] {
    return this.watch.silent().map(({ life }) => life);
  }
}

test("a node is silent after a lease from the answer of the first poll to the sending of the last", () => {
  const polls = new Polls();
  polls.sawFor(0, 6_000, { a: 1 });
  assert.deepEqual(polls.silent, []);
  polls.saw(6_100, { a: 1 });
  assert.deepEqual(polls.silent, ["a"]);
});

test("it is known when a late node will be silent", () => {
  const polls = new Polls();
  polls.sawFor(0, 3_000, { a: 1, b: 1 });
  assert.equal(polls.watch.silentFromMs, undefined);
  polls.saw(4_000, { a: 1, b: 2 });
  assert.equal(polls.watch.silentFromMs, 6_100);
  polls.saw(5_000, { a: 1, b: 2 });
  polls.saw(6_100, { a: 1, b: 2 });
  assert.deepEqual(polls.silent, ["a"]);
  assert.equal(polls.watch.silentFromMs, undefined);
  polls.sawFor(7_100, 8_100, { a: 1, b: 2 });
  assert.equal(polls.watch.silentFromMs, 10_100);
});

test("each beat begins the count again", () => {
  const polls = new Polls();
  polls.sawFor(0, 6_000, { a: 1 });
  polls.sawFor(7_000, 13_000, { a: 2 });
  assert.deepEqual(polls.silent, []);
  polls.saw(14_000, { a: 2 });
  assert.deepEqual(polls.silent, ["a"]);
});

test("a poll without an answer begins all counts again", () => {
  const polls = new Polls();
  polls.sawFor(0, 6_000, { a: 1 });
  polls.watch.restart();
  polls.saw(6_500, { a: 1 });
  assert.deepEqual(polls.silent, []);
  polls.sawFor(7_500, 12_500, { a: 1 });
  assert.deepEqual(polls.silent, []);
  polls.saw(12_600, { a: 1 });
  assert.deepEqual(polls.silent, ["a"]);
});

test("polls that are more than 2 s apart begin all counts again", () => {
  const polls = new Polls();
  polls.sawFor(0, 5_000, { a: 1 });
  polls.saw(6_901, { a: 1 });
  assert.deepEqual(polls.silent, []);
});

test("polls up to 2 s apart count, from the sending of one to the answer of the next", () => {
  const polls = new Polls();
  polls.sawFor(0, 5_000, { a: 1 });
  polls.saw(6_900, { a: 1 });
  assert.deepEqual(polls.silent, ["a"]);
});

test("a dead node is not silent", () => {
  const polls = new Polls();
  polls.sawFor(0, 7_000, { a: "dead", b: 1 });
  assert.deepEqual(polls.silent, ["b"]);
});

test("another life of a node has a count of its own", () => {
  const polls = new Polls();
  polls.sawFor(0, 7_000, { a: 1 });
  polls.saw(8_000, { a2: 1 });
  assert.deepEqual(polls.silent, []);
});

/** A node that renews in each poll. */
function steady(polls: Polls, fromMs: number, toMs: number): void {
  for (let sentMs = fromMs; sentMs <= toMs; sentMs += 1_000) polls.saw(sentMs, { a: sentMs });
}

test("a node is settled after 30 s of steady renewals", () => {
  const polls = new Polls();
  steady(polls, 0, 30_000);
  assert.equal(polls.watch.isSettled("a"), false);
  steady(polls, 31_000, 31_000);
  assert.equal(polls.watch.isSettled("a"), true);
  assert.equal(polls.watch.isSettled("b"), false);
});

test("a node that pauses for half a lease settles again from there", () => {
  const polls = new Polls();
  steady(polls, 0, 40_000);
  polls.sawFor(41_000, 44_000, { a: 40_000 });
  assert.equal(polls.watch.isSettled("a"), false);
  steady(polls, 45_000, 74_000);
  assert.equal(polls.watch.isSettled("a"), false);
  steady(polls, 75_000, 76_000);
  assert.equal(polls.watch.isSettled("a"), true);
});

test("an outage of the store does not unsettle a node", () => {
  const polls = new Polls();
  steady(polls, 0, 31_000);
  polls.watch.restart();
  polls.sawFor(60_000, 61_000, { a: 31_000 });
  assert.equal(polls.watch.isSettled("a"), true);
});
