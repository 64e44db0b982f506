/** What every object store must do, as a table of cases: each begins with an empty store. */
import assert from "node:assert/strict";
import { contentOf, type ObjectContent, type ObjectStore } from "../../../src/replication/objects/object-store.ts";

export interface StoreCase {
  readonly name: string;
  run(store: ObjectStore): Promise<void>;
}

const ALL = { start: 0, end: 1_000_000 };
/** Names whose characters mean something in URLs, XML, shells or file systems. */
const HARD_NAMES = [
  "%2F",
  "%25.d",
  "+ plus & space",
  ".hidden",
  "a=b;c,d/e@f:g",
  "quote'\"`/<tag>&amp;",
  "star*(1)!~",
  "what?/#hash",
  "x/..d/y.d",
  "{[|]}^\\$",
];

function text(value: string): ObjectContent {
  return contentOf(Buffer.from(value));
}

async function read(store: ObjectStore, name: string, range = ALL): Promise<string | undefined> {
  return (await store.get(name, range))?.toString("latin1");
}

async function names(store: ObjectStore, prefix: string, after?: string): Promise<readonly string[]> {
  return (await store.list(prefix, after)).map(({ name }) => name);
}

export const storeCases: readonly StoreCase[] = [
  {
    name: "stores an object once and refuses its name afterwards",
    async run(store) {
      assert.equal(await store.putNew("a/1", text("one")), "stored");
      assert.equal(await store.putNew("a/1", text("two")), "exists");
      assert.equal(await store.putNew("a/1", text("one")), "exists");
      assert.equal(await read(store, "a/1"), "one");
    },
  },
  {
    name: "reads ranges, fewer bytes at the end and none after it",
    async run(store) {
      await store.putNew("digits", text("0123456789"));
      const ranges = [
        [0, 10],
        [0, 1],
        [3, 6],
        [8, 20],
        [9, 10],
        [10, 11],
        [50, 60],
        [4, 4],
        [99, 99],
      ] as const;
      const found = [];
      for (const [start, end] of ranges) found.push(await read(store, "digits", { start, end }));
      assert.deepEqual(found, ["0123456789", "0", "345", "89", "9", "", "", "", ""]);
    },
  },
  {
    name: "an object that does not exist has no bytes, and one without bytes exists",
    async run(store) {
      assert.equal(await store.putNew("empty", text("")), "stored");
      assert.equal(await store.putNew("empty", text("more")), "exists");
      assert.deepEqual(
        [await read(store, "empty"), await read(store, "empty", { start: 0, end: 0 }), await read(store, "none")],
        ["", "", undefined],
      );
      assert.equal(await read(store, "none", { start: 0, end: 0 }), undefined);
      assert.deepEqual(await store.list(""), [{ name: "empty", bytes: 0 }]);
    },
  },
  {
    name: "lists names in the order of their bytes, below a prefix and after a name",
    async run(store) {
      const made = ["b", "a/2", "a/10", "a", "a-b", "a/b/c", "a0", "A", "~", "a/b.x", "a.d", "a.d/1"];
      for (const name of made) await store.putNew(name, text(name));
      const sorted = ["A", "a", "a-b", "a.d", "a.d/1", "a/10", "a/2", "a/b.x", "a/b/c", "a0", "b", "~"];
      assert.deepEqual(await names(store, ""), sorted);
      assert.deepEqual(await store.list("a/"), [
        { name: "a/10", bytes: 4 },
        { name: "a/2", bytes: 3 },
        { name: "a/b.x", bytes: 5 },
        { name: "a/b/c", bytes: 5 },
      ]);
      assert.deepEqual(await names(store, "a/b"), ["a/b.x", "a/b/c"]);
      assert.deepEqual(await names(store, "", "a/2"), ["a/b.x", "a/b/c", "a0", "b", "~"]);
      assert.deepEqual(await names(store, "a/", "a/10"), ["a/2", "a/b.x", "a/b/c"]);
      assert.deepEqual(await names(store, "", "a/b/"), ["a/b/c", "a0", "b", "~"]);
      assert.deepEqual(await names(store, "a/", "z"), []);
      assert.deepEqual(await names(store, "c"), []);
    },
  },
  {
    name: "removes objects, also those that are gone",
    async run(store) {
      for (const name of ["a", "b/1", "b/2"]) await store.putNew(name, text(name));
      await store.remove([]);
      await store.remove(["b/1", "none", "b/none", "a"]);
      await store.remove(["b/1"]);
      assert.deepEqual(await names(store, ""), ["b/2"]);
      assert.equal(await read(store, "a"), undefined);
      assert.equal(await store.putNew("a", text("again")), "stored");
      assert.equal(await read(store, "a"), "again");
    },
  },
  {
    name: "keeps every character that a name may have",
    async run(store) {
      for (const name of HARD_NAMES) assert.equal(await store.putNew(name, text(name)), "stored", name);
      for (const name of HARD_NAMES) assert.equal(await read(store, name), name);
      assert.deepEqual(await names(store, ""), [...HARD_NAMES].sort());
      assert.deepEqual(await names(store, "", "+ plus & space"), [...HARD_NAMES].sort().slice(3));
      await store.remove(HARD_NAMES);
      assert.deepEqual(await names(store, ""), []);
    },
  },
  {
    name: "keeps every byte of an object",
    async run(store) {
      const bytes = Buffer.from(Array.from({ length: 256 * 300 }, (_, index) => (index * 7 + (index >> 8)) & 255));
      await store.putNew("bytes", contentOf(bytes));
      assert.ok((await store.get("bytes", ALL))?.equals(bytes));
      assert.ok((await store.get("bytes", { start: 70_001, end: 70_900 }))?.equals(bytes.subarray(70_001, 70_900)));
    },
  },
  {
    name: "lists a thousand objects at a time",
    async run(store) {
      const made = Array.from({ length: 1_003 }, (_, index) => `part/${String(index).padStart(5, "0")}`);
      for (const name of made) await store.putNew(name, text("x"));
      const first = await names(store, "part/");
      assert.deepEqual(first, made.slice(0, 1_000));
      assert.deepEqual(await names(store, "part/", first.at(-1)), made.slice(1_000));
      await store.remove(made.slice(0, 1_000));
      assert.deepEqual(await names(store, ""), made.slice(1_000));
    },
  },
  {
    name: "gives one of many writers the name",
    async run(store) {
      const writers = Array.from({ length: 8 }, (_, index) => `writer ${index}`);
      const outcomes = await Promise.all(writers.map((writer) => store.putNew("lock", text(writer))));
      assert.equal(outcomes.filter((outcome) => outcome === "stored").length, 1);
      assert.equal(await read(store, "lock"), writers[outcomes.indexOf("stored")]);
    },
  },
  {
    name: "throws the fault of a content as it is, and stores nothing",
    async run(store) {
      const fault = new Error("the file is gone");
      const broken: ObjectContent = { bytes: 100, read: () => Promise.reject(fault) };
      await assert.rejects(store.putNew("broken", broken), (error) => error === fault);
      assert.deepEqual(await names(store, ""), []);
    },
  },
];

/** For stores that send large objects in another way. */
export const largeObjectCase: StoreCase = {
  name: "stores an object of 20 MiB, once",
  async run(store) {
    const bytes = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdefghijklmnopqrstuvw");
    assert.equal(await store.putNew("large", contentOf(bytes)), "stored");
    assert.equal(await store.putNew("large", contentOf(Buffer.alloc(bytes.length, 1))), "exists");
    assert.equal(await store.putNew("large", text("small")), "exists");
    assert.deepEqual(await store.list(""), [{ name: "large", bytes: 20_971_520 }]);
    const range = { start: 8_388_000, end: 8_390_000 };
    assert.ok((await store.get("large", range))?.equals(bytes.subarray(range.start, range.end)));
    await store.remove(["large"]);
    assert.deepEqual(await store.list(""), []);
  },
};
