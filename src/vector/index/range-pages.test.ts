/**
 * Pages of a range during writes (B1.cursor), compared with a plain model: a
 * record that exists all the time is on exactly one page, and a record is on two
 * pages only if it was removed and added again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../../../test/harness/at-once.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import type { IndexApi } from "../api.ts";
import { defaultVectorLimits } from "../limits.ts";
import { parseRangeCursor } from "./range-cursor.ts";
import { VectorEngine } from "./vector-engine.ts";

const NOTHING = { metadata: false, vectors: false, data: false };
const definition = {
  type: "SPARSE",
  dimension: undefined,
  similarity: "COSINE",
  denseModel: undefined,
  sparseModel: undefined,
} as const;

function newEngine(past: Iterable<Uint8Array> = []): VectorEngine {
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
  });
  for (const frame of past) engine.replay(Buffer.from(frame));
  engine.define("docs", definition, { dense: undefined, sparse: undefined });
  return engine;
}

function indexOf(engine: VectorEngine): IndexApi {
  const index = engine.index("docs");
  assert.ok(index !== undefined);
  return index;
}

function upsert(index: IndexApi, ids: readonly string[], namespace = ""): void {
  const sparseVector = { indices: Int32Array.of(1), values: Float32Array.of(1) };
  index.upsert(
    namespace,
    ids.map((id) => ({ id, sparseVector })),
  );
}

interface Page {
  readonly ids: readonly string[];
  readonly next: string;
}

function page(
  index: IndexApi,
  cursor: string,
  options: { limit?: number; prefix?: string; namespace?: string } = {},
): Page {
  const { limit = 2, prefix = "", namespace = "" } = options;
  const parsed = parseRangeCursor(cursor);
  assert.ok(parsed !== undefined, cursor);
  const { nextCursor, vectors } = atOnce(index.range(namespace, { cursor: parsed, limit, prefix, include: NOTHING }));
  return { ids: vectors.map(({ id }) => id), next: nextCursor };
}

test("B1: the page after a delete continues after the last record of the previous page", () => {
  const index = indexOf(newEngine());
  upsert(index, ["a", "b", "c", "d", "e"]);
  const first = page(index, "0");
  index.delete("", { kind: "ids", ids: ["a", "b"] });

  assert.deepEqual(first, { ids: ["a", "b"], next: "p1.0.2" });
  assert.deepEqual(page(index, first.next), { ids: ["c", "d"], next: "p1.0.4" });
  // An offset counts existing records.
  assert.deepEqual(page(index, "2"), { ids: ["e"], next: "" });
});

test("B1.order: a record that was removed and added again is the last, and a replaced one keeps its place", () => {
  const index = indexOf(newEngine());
  upsert(index, ["a", "b", "c", "d"]);
  const first = page(index, "0");
  upsert(index, ["b", "c"]);
  index.delete("", { kind: "ids", ids: ["a"] });
  upsert(index, ["a"]);

  const second = page(index, first.next);
  assert.deepEqual(second.ids, ["c", "d"]);
  assert.deepEqual(page(index, second.next), { ids: ["a"], next: "" });
});

test("B1: a cursor means the same after a reset, and after the namespace is created again", () => {
  const index = indexOf(newEngine());
  for (const namespace of ["", "ns"]) upsert(index, ["a", "b", "c"], namespace);
  const first = page(index, "0");
  const inNamespace = page(index, "0", { namespace: "ns" });
  index.reset("");
  index.deleteNamespace("ns");
  assert.deepEqual(page(index, first.next), { ids: [], next: "" });
  assert.deepEqual(page(index, inNamespace.next, { namespace: "ns" }), { ids: [], next: "" });
  for (const namespace of ["", "ns"]) upsert(index, ["x", "y"], namespace);

  assert.deepEqual(page(index, first.next), { ids: ["x", "y"], next: "" });
  assert.deepEqual(page(index, inNamespace.next, { namespace: "ns" }), { ids: ["x", "y"], next: "" });
});

test("B1.foreign: a cursor stays valid when its namespace is renamed, and is refused for another one", () => {
  const index = indexOf(newEngine());
  for (const namespace of ["one", "other"]) upsert(index, ["a", "b", "c"], namespace);
  const first = page(index, "0", { namespace: "one" });
  assert.throws(() => page(index, first.next, { namespace: "other" }), {
    text: 'cursor belongs to the namespace "one", not to "other": begin with "0"',
  });
  index.renameNamespace("one", { newName: "two", deletesExisting: false });

  assert.deepEqual(page(index, first.next, { namespace: "two" }), { ids: ["c"], next: "" });
});

test("B1: a cursor means the same after a restart from a snapshot", () => {
  const engine = newEngine();
  const index = indexOf(engine);
  upsert(index, ["a", "b", "c", "d", "e", "f"]);
  index.delete("", { kind: "ids", ids: ["a", "c"] });
  const first = page(index, "0");
  index.delete("", { kind: "ids", ids: ["b", "f"] });

  const again = indexOf(newEngine(engine.dump()));
  assert.deepEqual(first, { ids: ["b", "d"], next: "p1.0.4" });
  assert.deepEqual(page(again, first.next), { ids: ["e"], next: "" });
  upsert(again, ["g", "h", "i"]);
  assert.deepEqual(page(again, "p1.0.5"), { ids: ["g", "h"], next: "p1.0.8" });
});

test("B1: remaining records are neither skipped nor repeated, whatever is written between the pages", () => {
  for (let seed = 1; seed <= 60; seed += 1) checkWalk(seededRandom(seed), `seed ${seed}`);
});

/** Walks through a namespace of up to 3,000 records, and deletes, upserts, resets and restarts between the pages. */
function checkWalk(random: Random, seed: string): void {
  let engine = newEngine();
  let index = indexOf(engine);
  const present = new Set<string>();
  const add = (ids: readonly string[]): void => {
    upsert(index, ids);
    for (const id of ids) present.add(id);
  };
  const remove = (ids: readonly string[]): void => {
    index.delete("", { kind: "ids", ids });
    for (const id of ids) present.delete(id);
  };
  const drawn = (): string => `${random.below(2) === 0 ? "x" : "y"}${random.below(4_000)}`;
  const someOf = (ids: Iterable<string>, oneIn: number): string[] => [...ids].filter(() => random.below(oneIn) === 0);
  add(Array.from({ length: 1 + random.below(3_000) }, drawn));
  remove(someOf(present, 3));

  const prefix = random.below(3) === 0 ? "x" : "";
  const stayed = new Set([...present].filter((id) => id.startsWith(prefix)));
  /** Records removed since the walk began, which may come twice. */
  const went = new Set<string>();
  const seen: string[] = [];
  let cursor = "0";
  do {
    const { ids, next } = page(index, cursor, { limit: 1 + random.below(400), prefix });
    seen.push(...ids);
    cursor = next;
    const gone = someOf(present, 20 + random.below(40));
    for (const id of gone) went.add(id);
    remove(gone);
    add(Array.from({ length: random.below(40) }, drawn));
    if (random.below(60) === 0) {
      for (const id of present) went.add(id);
      index.reset("");
      present.clear();
      add(Array.from({ length: random.below(40) }, drawn));
    }
    if (random.below(8) === 0) {
      engine = newEngine(Array.from(engine.dump(), (frame) => Buffer.from(frame)));
      index = indexOf(engine);
    }
  } while (cursor !== "");

  const counts = new Map<string, number>();
  for (const id of seen) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const id of stayed) if (!went.has(id)) assert.equal(counts.get(id), 1, `${seed}: ${id}`);
  for (const [id, count] of counts) if (!went.has(id)) assert.equal(count, 1, `${seed}: ${id}`);
}
