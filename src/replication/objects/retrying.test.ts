import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../../test/harness/object-stores/memory-store.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { contentOf, type FailureKind, type ObjectStore, ObjectStoreFailure } from "./object-store.ts";
import { RetryingStore, ThrottledFailure } from "./retrying.ts";

const ONE = contentOf(Buffer.from("one"));

interface Wrapped {
  readonly inner: MemoryStore;
  readonly store: RetryingStore;
  readonly clock: VirtualClock;
  readonly pauses: number[];
}

/** Advances the clock by each pause, unless it stands. */
function wrap(
  change: (inner: MemoryStore) => Partial<ObjectStore>,
  { isStanding = false, inner = new MemoryStore() } = {},
): Wrapped {
  const clock = new VirtualClock();
  const pauses: number[] = [];
  const changed: ObjectStore = {
    putNew: (name, content) => inner.putNew(name, content),
    get: (name, range) => inner.get(name, range),
    list: (prefix, after) => inner.list(prefix, after),
    remove: (names) => inner.remove(names),
    close: () => inner.close(),
    ...change(inner),
  };
  const store = new RetryingStore(changed, {
    clock,
    random: seededRandom(1),
    onRetry: (_, pauseMs) => {
      pauses.push(pauseMs);
      if (!isStanding) setImmediate(() => clock.advance(pauseMs));
    },
  });
  return { inner, store, clock, pauses };
}

function failing(kind: FailureKind): Promise<never> {
  return Promise.reject(new ObjectStoreFailure(kind, `it is ${kind}`));
}

/** Fails so many times after the object was stored. */
function lostAnswers(times: number): (inner: MemoryStore) => Partial<ObjectStore> {
  let left = times;
  return (inner) => ({
    putNew: async (name, content) => {
      const outcome = await inner.putNew(name, content);
      if (left === 0) return outcome;
      left -= 1;
      return failing("unavailable");
    },
  });
}

test("only what may succeed later is repeated", async () => {
  for (const kind of ["refused", "damaged"] as const) {
    const { store, pauses } = wrap(() => ({ list: () => failing(kind) }));
    await assert.rejects(store.list(""), { kind, message: `it is ${kind}` });
    assert.deepEqual(pauses, []);
  }
  const fault = new Error("the file is gone");
  const { store } = wrap(() => ({ putNew: () => Promise.reject(fault) }));
  await assert.rejects(store.putNew("a", ONE), (error) => error === fault);
});

test("pauses grow to 20 s, and at least to what the store asks for", async () => {
  const { store, pauses } = wrap(() => ({ list: () => failing("unavailable") }));
  await assert.rejects(store.list(""), { kind: "unavailable" });
  const most = [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000, 20_000];
  for (const [index, mostMs] of most.entries()) {
    const pauseMs = pauses[index] ?? 0;
    assert.ok(pauseMs >= mostMs / 2 && pauseMs <= mostMs, `pause ${index} is ${pauseMs} ms`);
  }
  let left = 2;
  const throttled = wrap((inner) => ({
    list: (prefix) => {
      left -= 1;
      return left < 0 ? inner.list(prefix) : Promise.reject(new ThrottledFailure("slow down", 42_000));
    },
  }));
  assert.deepEqual(await throttled.store.list(""), []);
  assert.deepEqual(throttled.pauses, [42_000, 42_000]);
});

test("a store that asks for more time than a call has fails the call at once", async () => {
  const { store, pauses } = wrap(() => ({ list: () => Promise.reject(new ThrottledFailure("slow down", 3_600_000)) }));
  await assert.rejects(store.list(""), { kind: "unavailable", message: "slow down" });
  assert.deepEqual(pauses, []);
});

test("a new object whose answer was lost is stored, if the object there is equal", async () => {
  const sizes = [0, 3, 1024 * 1024, 4 * 1024 * 1024, 9_000_000];
  for (const size of sizes) {
    const content = contentOf(Buffer.alloc(size, "abc"));
    const { store } = wrap(lostAnswers(1));
    assert.equal(await store.putNew("a", content), "stored", `${size} bytes`);
    assert.equal(await store.putNew("a", content), "exists");
  }
});

test("a name is taken if the object there is longer, shorter or different", async () => {
  const own = Buffer.alloc(1024 * 1024, "x");
  const others = [
    Buffer.alloc(0),
    own.subarray(1),
    Buffer.concat([own, own]),
    Buffer.concat([own.subarray(1), Buffer.from("y")]),
  ];
  for (const content of [own, own.subarray(0, 100)])
    for (const other of others) {
      let isFirst = true;
      const { store } = wrap((inner) => ({
        putNew: async (name, given) => {
          if (!isFirst) return inner.putNew(name, given);
          isFirst = false;
          await inner.putNew(name, contentOf(other));
          return failing("unavailable");
        },
      }));
      assert.equal(await store.putNew("a", contentOf(content)), "exists");
    }
});

test("a store whose reads are late is asked again until the object can be compared", async () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { store } = wrap(lostAnswers(1), { inner: new MemoryStore(seededRandom(seed)) });
    assert.equal(await store.putNew("a", ONE), "stored", `seed ${seed}`);
  }
});

test("closing ends a pause, and the call fails with the failure before it", async () => {
  const { store, pauses } = wrap(() => ({ list: () => failing("unavailable") }), { isStanding: true });
  const call = assert.rejects(store.list(""), { kind: "unavailable", message: "it is unavailable" });
  await new Promise((resolve) => setImmediate(resolve));
  await store.close();
  await call;
  assert.equal(pauses.length, 1);
});
