/**
 * Every fault of the network at every request of a program of calls: results and objects are those of the model. No
 * socket, and virtual time. A proof has all requests, and other runs draw a part of them.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../../test/budget.ts";
import { drawnPart } from "../../../test/harness/drawn-part.ts";
import {
  faultyNetwork,
  NETWORK_FAULTS,
  type NetworkFault,
} from "../../../test/harness/object-stores/faulty-network.ts";
import { MemoryStore } from "../../../test/harness/object-stores/memory-store.ts";
import { SMALL_SIZES, s3On } from "../../../test/harness/object-stores/opened-stores.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { contentOf, type ObjectStore, ObjectStoreFailure } from "./object-store.ts";
import { RetryingStore } from "./retrying.ts";

const bytes = (count: number, fill: string) => contentOf(Buffer.alloc(count, fill));

/** Every kind of request: whole and in parts, taken names, ranges, missing objects, lists of several pages, removals. */
const calls: readonly ((store: ObjectStore) => Promise<unknown>)[] = [
  (store) => store.putNew("a/1", bytes(5, "one")),
  (store) => store.putNew("a/1", bytes(5, "two")),
  (store) => store.putNew("a/2", bytes(1_300, "three")),
  (store) => store.putNew("a/2", bytes(1_300, "four")),
  (store) => store.putNew("b", bytes(0, "x")),
  (store) => store.get("a/2", { start: 1_290, end: 1_310 }),
  (store) => store.get("a/1", { start: 1, end: 3 }),
  (store) => store.get("none", { start: 0, end: 3 }),
  (store) => store.list(""),
  (store) => store.list("a/", "a/1"),
  (store) => store.remove(["a/1", "none"]),
  (store) => store.putNew("a/1", bytes(7, "five")),
  (store) => store.get("a/1", { start: 0, end: 100 }),
  (store) => store.list(""),
];

async function resultsOf(store: ObjectStore): Promise<readonly unknown[]> {
  const results: unknown[] = [];
  for (const call of calls) {
    const result = await call(store);
    results.push(Buffer.isBuffer(result) ? result.toString("latin1") : result);
  }
  return results;
}

interface Run {
  readonly results: readonly unknown[];
  readonly objects: ReadonlyMap<string, string>;
  readonly requestCount: number;
  readonly uploadCount: number;
}

async function runWith(fault: NetworkFault, at: number, isConditional = true): Promise<Run> {
  const clock = new VirtualClock();
  const opened = await s3On({
    clock,
    sizes: SMALL_SIZES,
    isConditional,
    server: { keysPerPage: 2, ...(!isConditional && { putCondition: "ignored", uploadCondition: "ignored" }) },
    between: () => (request) => network.send(request),
  });
  const network = faultyNetwork(opened.server, { fault, at, clock });
  const store = new RetryingStore(opened.store, {
    clock,
    random: seededRandom(at),
    onRetry: (_, pauseMs) => void setImmediate(() => clock.advance(pauseMs)),
  });
  const results = await resultsOf(store);
  const objects = [...opened.server.objects].filter(([key]) => !key.startsWith("larder-check-"));
  return {
    results,
    objects: new Map(objects.map(([key, object]) => [key, object.bytes.toString("latin1")])),
    requestCount: network.requestCount,
    uploadCount: opened.server.uploads.size,
  };
}

const model = new MemoryStore();
const expected = await resultsOf(model);
const expectedObjects = new Map([...model.objects].map(([name, content]) => [name, content.toString("latin1")]));

/**
 * What a fault may do in place of the model's result. A proxy's 404 is no answer of S3, so a call fails with it, or,
 * where 404 means that an upload has ended, asks for the object.
 */
const mayFail: readonly NetworkFault[] = ["404 of a proxy"];

const drawn = {
  oneIn: 4,
  random: seededRandom(seedFrom("LARDER_NETWORK_FAULTS_SEED")),
  drawsLess: !("count" in allowanceOf("object-stores")),
};

for (const isConditional of [true, false]) {
  for (const fault of NETWORK_FAULTS) {
    const store = isConditional ? "" : ", also of a store without conditions";
    test(`a network with the fault "${fault}" at any request changes no result${store}`, async () => {
      const { requestCount } = await runWith(fault, Number.POSITIVE_INFINITY, isConditional);
      assert.equal(requestCount, isConditional ? 38 : 24);
      let failureCount = 0;
      const all = Array.from({ length: requestCount }, (_, i) => i + 1);
      // Which of them fail is known of all together.
      for (const at of mayFail.includes(fault) ? all : drawnPart(all, drawn)) {
        try {
          const run = await runWith(fault, at, isConditional);
          assert.deepEqual(run.results, expected, `request ${at}`);
          assert.deepEqual([...run.objects].sort(), [...expectedObjects].sort(), `request ${at}`);
        } catch (failure) {
          if (!(failure instanceof ObjectStoreFailure) || !mayFail.includes(fault)) throw failure;
          assert.equal(failure.kind, "damaged");
          failureCount += 1;
        }
      }
      assert.equal(failureCount > 0, mayFail.includes(fault));
    });
  }
}

test("without faults an upload leaves no parts", async () => {
  assert.equal((await runWith("500", Number.POSITIVE_INFINITY)).uploadCount, 0);
});

test("a store that stays away fails the call with its last failure, after three minutes at most", async () => {
  const clock = new VirtualClock();
  const { store: inner } = await s3On({
    clock,
    between: () => () => Promise.reject(Object.assign(new Error(), { code: "ECONNREFUSED" })),
  });
  const pauses: number[] = [];
  const store = new RetryingStore(inner, {
    clock,
    random: seededRandom(1),
    onRetry: (_, pauseMs) => {
      pauses.push(pauseMs);
      setImmediate(() => clock.advance(pauseMs));
    },
  });
  await assert.rejects(store.list("a"), {
    name: "ObjectStoreFailure",
    kind: "unavailable",
    message: "s3://bucket, the list of a: the request failed: ECONNREFUSED",
  });
  assert.ok(clock.monotonicMs() > 150_000 && clock.monotonicMs() < 180_000, `${clock.monotonicMs()}`);
  assert.ok((pauses[0] ?? 0) >= 100 && (pauses[0] ?? 0) <= 200);
  assert.ok(pauses.every((pauseMs) => pauseMs <= 20_000));
});
