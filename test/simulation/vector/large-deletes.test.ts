/**
 * Deletes of thousands of records by prefix or filter, which take several turns
 * while other records are added, changed and removed: records selected all the
 * time are deleted, records never selected remain.
 *
 * To repeat:  LARDER_VECTOR_DELETES_SEED=… npm run t -- test/simulation/vector/large-deletes.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import type { IndexApi } from "../../../src/vector/api.ts";
import { atOnce } from "../../harness/at-once.ts";
import { seedFrom } from "../../harness/seed.ts";
import type { Program } from "./programs/draw-programs.ts";
import { Draw } from "./programs/draw-values.ts";
import { EngineSubject } from "./programs/engine-subject.ts";

const seed = seedFrom("LARDER_VECTOR_DELETES_SEED");

const RUNS = 12;
const RECORDS = 6_000;
const BATCH = 1_000;

/** The old and new number of an id, which a filter compares. Undefined: the record does not exist. */
type Numbers = Map<string, number | undefined>;

test("a large delete removes the right records while others change", async (context) => {
  for (let run = 0; run < RUNS; run += 1) await runOnce(seed + run);
  context.diagnostic(`SEED=${seed}`);
});

async function runOnce(runSeed: number): Promise<void> {
  const draw = new Draw(seededRandom(runSeed));
  const subject = new EngineSubject(program(runSeed), new VirtualClock());
  const [index] = subject.apis;
  assert.ok(index !== undefined);
  const now: Numbers = new Map();
  for (let start = 0; start < RECORDS; start += BATCH)
    put(
      index,
      now,
      Array.from({ length: BATCH }, (_, i) => [`${draw.pick(["a", "b"])}-${start + i}`, draw.below(10)]),
    );
  const bound = draw.pick([2, 5, 9]);
  const isByPrefix = draw.oneIn(3);
  const isSelected = (id: string, number: number) => (isByPrefix ? id.startsWith("a-") : number < bound);
  const before = new Map(now);

  subject.delay();
  const deleting = index.delete(
    "",
    isByPrefix ? { kind: "prefix", prefix: "a-" } : { kind: "filter", filter: `n < ${bound}` },
  );
  const touched = new Set<string>();
  for (let write = 0; write < 12; write += 1) {
    await nextTurn();
    change(index, { draw, now, touched });
  }
  subject.release();
  const count = await deleting;

  const ids = [...now.keys()];
  const views = atOnce(index.fetch("", { kind: "ids", ids }, { metadata: false, vectors: false, data: false }));
  const where = `SEED=${runSeed}: `;
  let gone = 0;
  for (const [i, id] of ids.entries()) {
    const number = now.get(id);
    const isThere = views[i] !== undefined;
    if (number !== undefined && !isThere) gone += 1;
    if (touched.has(id)) continue;
    assert.equal(isThere, !isSelected(id, before.get(id) ?? 0), `${where}${id}, n = ${number}`);
  }
  // Records put again after their deletion, or deleted first by another client, may or may not be counted.
  assert.ok(count >= gone && count <= gone + touched.size, `${where}${count} counted, ${gone} gone`);
}

function program(runSeed: number): Program {
  const definition = {
    type: "DENSE",
    dimension: 2,
    similarity: "EUCLIDEAN",
    denseModel: undefined,
    sparseModel: undefined,
  } as const;
  return { seed: runSeed, indexes: [{ definition, dimension: 2, components: "halves" }], sums: "exact", commands: [] };
}

function put(index: IndexApi, now: Numbers, records: readonly (readonly [id: string, number: number])[]): void {
  index.upsert(
    "",
    records.map(([id, number]) => ({ id, vector: Float32Array.of(1, number), metadata: `{"n":${number}}` })),
  );
  for (const [id, number] of records) now.set(id, number);
}

/** Removes, changes or adds some records. */
function change(
  index: IndexApi,
  { draw, now, touched }: { readonly draw: Draw; readonly now: Numbers; readonly touched: Set<string> },
): void {
  const known = [...now.keys()];
  const ids = draw.list(1 + draw.below(300), () => draw.pick(known));
  for (const id of ids) touched.add(id);
  if (draw.oneIn(2)) {
    index.delete("", { kind: "ids", ids });
    for (const id of ids) now.set(id, undefined);
  } else {
    put(
      index,
      now,
      ids.map((id) => [id, draw.below(10)]),
    );
  }
  const fresh = draw.list(draw.below(50), () => [`b-new-${draw.below(1e6)}`, draw.below(10)] as const);
  for (const [id] of fresh) touched.add(id);
  if (fresh.length > 0) put(index, now, fresh);
}
