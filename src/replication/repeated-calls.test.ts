import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelObjectStore, type StoreTrouble } from "../../test/simulation/replication/model-object-store.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { silentLog } from "../kernel/log.ts";
import { claimGeneration } from "./claim.ts";
import { ownerName } from "./names.ts";
import { contentOf, type ObjectStore } from "./objects/object-store.ts";
import { ThrottledFailure } from "./objects/retrying.ts";
import { CopyEnded, RepeatedCalls } from "./repeated-calls.ts";

const facts = { directory: "a", version: "1.0.0", startedAtMs: 0 };

function callsOf(store: ObjectStore): { readonly calls: RepeatedCalls; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { calls: new RepeatedCalls({ store, clock, log: silentLog }), clock };
}

test("a call is repeated after 1, 2, 4 … and at most 60 seconds, until it succeeds", async () => {
  const model = new ModelObjectStore();
  const triedAtMs: number[] = [];
  let trouble: StoreTrouble = "before";
  const { calls, clock } = callsOf(
    model.client(() => {
      triedAtMs.push(clock.monotonicMs());
      return Promise.resolve(trouble);
    }),
  );
  const put = calls.put("name", contentOf(Buffer.from("x")));
  await clock.advanceAsync(150_000);
  assert.deepEqual(triedAtMs, [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
  assert.equal(calls.fault?.text, "The model store refused putNew");

  trouble = "after";
  await clock.advanceAsync(60_000);
  trouble = "none";
  await clock.advanceAsync(60_000);
  await put;

  assert.equal(calls.fault, undefined);
  assert.equal(model.objects.get("name")?.toString(), "x");
});

test("a pause is at least what the store asks for, up to three minutes", async () => {
  const triedAtMs: number[] = [];
  const asked = [42_000, 3_600_000];
  const { calls, clock } = callsOf(new ModelObjectStore().client());
  const listed = calls.repeat(async () => {
    triedAtMs.push(clock.monotonicMs());
    const retryAfterMs = asked.shift();
    if (retryAfterMs !== undefined) throw new ThrottledFailure("slow down", retryAfterMs);
    return [];
  });
  await clock.advanceAsync(300_000);
  assert.deepEqual(await listed, []);
  assert.deepEqual(triedAtMs, [0, 42_000, 222_000]);
});

test("the end rejects calls that wait, that are under way, and later ones", async () => {
  const model = new ModelObjectStore();
  const waiting = callsOf(model.client(() => Promise.resolve("before")));
  const waits = waiting.calls.put("a", contentOf(Buffer.from("x")));
  await waiting.clock.advanceAsync(500);
  waiting.calls.end();
  await assert.rejects(waits, CopyEnded);

  const hanging = callsOf(model.client(() => new Promise<StoreTrouble>(() => {})));
  const hangs = hanging.calls.put("b", contentOf(Buffer.from("x")));
  hanging.calls.end();
  await assert.rejects(hangs, CopyEnded);
  await assert.rejects(hanging.calls.put("c", contentOf(Buffer.from("x"))), CopyEnded);
});

test("an error that is not the store's is not repeated", async () => {
  const { calls } = callsOf(new ModelObjectStore().client());
  const content = { bytes: 1, read: () => Promise.reject(new Error("EIO")) };
  await assert.rejects(calls.put("a", content), { message: "EIO" });
});

test("each claim has a number of its own, also when an answer is lost and when lists lag", async () => {
  const model = new ModelObjectStore();
  let trouble: StoreTrouble = "none";
  const store = model.client((call) => Promise.resolve(call === "putNew" ? trouble : "none"));
  const { calls, clock } = callsOf(store);
  assert.equal(await claimGeneration({ store, calls, facts }), 1);
  model.lag(true);
  assert.equal(await claimGeneration({ store, calls, facts }), 2);
  assert.equal(await claimGeneration({ store, calls, facts }), 3);

  model.lag(false);
  trouble = "after";
  const claim = claimGeneration({ store, calls, facts });
  await clock.advanceAsync(500);
  trouble = "none";
  await clock.advanceAsync(10_000);

  // The server cannot know that 4 was its own.
  assert.equal(await claim, 5);
  assert.ok(model.objects.has(ownerName(4)));
});

test("a claim refuses the copy of another directory, also one that came while it claimed", async () => {
  const model = new ModelObjectStore();
  const store = model.client();
  const other = { ...facts, directory: "b" };
  model.lag(true);
  assert.equal(await claimGeneration({ store, calls: callsOf(store).calls, facts: other }), 1);

  await assert.rejects(claimGeneration({ store, calls: callsOf(store).calls, facts }), {
    name: "ForeignCopy",
    message:
      "The copy belongs to another data directory: its id is b, and this one has a. " +
      "Restore the copy into an empty directory to continue it, or choose another prefix",
  });
  assert.equal(model.objects.size, 1);
});
