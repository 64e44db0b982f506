import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type Address, LookupTimeout, Resolver } from "./resolver.ts";

const loopback: readonly Address[] = [{ address: "127.0.0.1", family: 4 }];

/** A system whose look-ups are ended by the test. */
function open() {
  const clock = new VirtualClock();
  const running = new Map<string, PromiseWithResolvers<readonly Address[]>>();
  const lookedUp: string[] = [];
  const resolver = new Resolver({
    clock,
    lookup(name) {
      lookedUp.push(name);
      const answer = Promise.withResolvers<readonly Address[]>();
      running.set(name, answer);
      return answer.promise;
    },
  });
  return { clock, resolver, lookedUp, running };
}

test("S-16: six look-ups run at a time; the seventh starts when one of them has ended", async () => {
  const { resolver, lookedUp, running } = open();
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  const answers = names.map((name) => resolver.resolve(name));
  assert.deepEqual(lookedUp, ["a", "b", "c", "d", "e", "f"]);

  running.get("c")?.resolve(loopback);
  assert.deepEqual(await answers[2], loopback);

  assert.deepEqual(lookedUp, names);
});

test("S-16: a caller gets an error after five seconds, and its slot stays taken until the system answers", async () => {
  const { clock, resolver, lookedUp, running } = open();
  const answers = ["a", "b", "c", "d", "e", "f"].map((name) => resolver.resolve(name));
  const refused = Promise.allSettled(answers);

  clock.advance(5_000);
  for (const outcome of await refused) {
    assert.equal(outcome.status, "rejected");
    assert.ok(outcome.reason instanceof LookupTimeout);
  }

  const late = resolver.resolve("g");
  assert.equal(lookedUp.length, 6);
  running.get("a")?.resolve(loopback);
  await new Promise((resolve) => setImmediate(resolve));
  running.get("g")?.resolve(loopback);
  assert.deepEqual(await late, loopback);
});

test("callers of one name share one look-up and its failure", async () => {
  const { resolver, lookedUp, running } = open();
  const answers = [resolver.resolve("a"), resolver.resolve("a")];

  running.get("a")?.reject(new Error("ENOTFOUND"));

  for (const answer of answers) await assert.rejects(answer, /ENOTFOUND/);
  assert.deepEqual(lookedUp, ["a"]);
});

test("does not look up a name without waiting callers", async () => {
  const { clock, resolver, lookedUp, running } = open();
  const answers = ["a", "b", "c", "d", "e", "f", "unwanted"].map((name) => resolver.resolve(name));
  const refused = Promise.allSettled(answers);
  clock.advance(5_000);
  await refused;

  for (const answer of running.values()) answer.resolve(loopback);
  await new Promise((resolve) => setImmediate(resolve));

  assert.ok(!lookedUp.includes("unwanted"));
});
