/**
 * An index with its rows in files answers as one with its rows in memory does:
 * with threads and without, after changes, restarts and damage. `npm test` draws some of the similarities.
 *
 * To repeat:  LARDER_TEST_SIZE=test LARDER_DISK_INDEX_SEED=… npm run t -- test/simulation/vector/disk-index.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import type { Effort } from "../../../src/vector/api.ts";
import { similarities } from "../../../src/vector/index/definition.ts";
import type { RecordView } from "../../../src/vector/index/record.ts";
import { DefinitionMismatch } from "../../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../../src/vector/index/vector-index.ts";
import { entryBytesOf, HEAD_BYTES } from "../../../src/vector/row-files/row-entries.ts";
import { DamagedRow } from "../../../src/vector/row-files/row-file-storage.ts";
import { clusteredRows } from "../../harness/clustered-rows.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { RecordingJournal } from "../../harness/recording-journal.ts";
import { seedFrom } from "../../harness/seed.ts";
import { DIMENSION, DiskLife, emptyDisk } from "./disk-world.ts";
import { MemoryFiles } from "./graph-world.ts";

const RECORDS = 1_500;
const QUERIES = 40;
/** As often as the recall keeper looks for a namespace that is due. */
const LOOK_MS = 5_000;

const rows = clusteredRows(seededRandom(5), {
  count: RECORDS + QUERIES,
  dimension: DIMENSION,
  clusters: 30,
  noise: 0.6,
});
const rowOf = (i: number): Float32Array => rows.slice(i * DIMENSION, (i + 1) * DIMENSION);
const queries = Array.from({ length: QUERIES }, (_, i) => rowOf(RECORDS + i));
const VECTORS = { metadata: true, vectors: true, data: false } as const;

function fill({ index }: DiskLife, from = 0, to = RECORDS): void {
  for (let first = from; first < to; first += 500)
    index.upsert(
      "",
      Array.from({ length: Math.min(500, to - first) }, (_, i) => ({
        id: `r-${first + i}`,
        vector: rowOf(first + i),
        metadata: JSON.stringify({ tenth: (first + i) % 10 }),
      })),
    );
}

/** Writes that reach rows in files: other vectors, other metadata, removals of most records, which move the others. */
function change({ index }: DiskLife): void {
  for (let i = 0; i < 200; i += 1)
    index.upsert("", [{ id: `r-${i * 3}`, vector: rowOf((i * 7) % RECORDS), metadata: JSON.stringify({ tenth: 11 }) }]);
  index.delete("", { kind: "ids", ids: Array.from({ length: 400 }, (_, i) => `r-${i * 2 + 1}`) });
  index.update("", { id: "r-900", metadata: JSON.stringify({ tenth: 12 }), metadataUpdateMode: "OVERWRITE" });
}

const asked: readonly { readonly effort?: Effort; readonly filter?: string }[] = [
  {},
  { effort: "exact" },
  { effort: 40 },
  { filter: "tenth = 3" },
  { filter: "tenth < 8", effort: 60 },
  { filter: "tenth > 1", effort: "exact" },
];

async function answersOf(life: DiskLife): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const options of asked)
    for (const vector of queries.slice(0, 12)) answers.push(await life.ask({ vector, ...options, include: VECTORS }));
  const ids = ["r-0", "r-3", "r-1", "none", "r-900"];
  answers.push(await life.index.fetch("", { kind: "ids", ids }, VECTORS));
  answers.push(await life.index.fetch("", { kind: "prefix", prefix: "r-12" }, VECTORS));
  const records: RecordView[] = [];
  for (let cursor = 0; cursor < RECORDS; cursor += 100) {
    const { vectors } = await life.index.range("", { cursor, limit: 100, prefix: "", include: VECTORS });
    records.push(...vectors);
  }
  answers.push(records, life.index.info().namespaces);
  return answers;
}

const drawn = { oneIn: 3, random: seededRandom(seedFrom("LARDER_DISK_INDEX_SEED")) };

for (const hasThreads of [true, false])
  for (const similarity of drawnPart(similarities, drawn))
    test(`${similarity}, ${hasThreads ? "with" : "without"} threads: rows in files give the same answers as rows in memory`, async () => {
      const definition = { similarity };
      const inMemory = await DiskLife.begin({ rows: "memory", definition, hasThreads });
      const onDisk = await DiskLife.begin({ rows: "disk", definition, hasThreads });
      for (const step of [fill, change]) {
        for (const life of [inMemory, onDisk]) {
          step(life);
          await life.settled();
        }
        assert.deepEqual(await answersOf(onDisk), await answersOf(inMemory));
      }
      assert.ok(onDisk.fileNames.length > 1, `${onDisk.fileNames.length} files`);
      assert.equal(inMemory.fileNames.length, 0);
      assert.deepEqual(onDisk.faults, []);
      for (const life of [inMemory, onDisk]) await life.end();
    });

test("more searches than the threads have room for wait, and each has its answer", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  fill(life);
  await life.settled();
  const wanted = [];
  for (const vector of queries) wanted.push(await life.ask({ vector, effort: 30 }));
  assert.deepEqual(await Promise.all(queries.map((vector) => life.ask({ vector, effort: 30 }))), wanted);
  await life.end();
});

test("pending records with rows in files are found", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  fill(life);
  // The graph is not built.
  for (let i = 0; i < 20; i += 1) await nextTurn();
  assert.equal(life.index.info().pendingVectorCount, RECORDS);
  for (const i of [0, 700, RECORDS - 1])
    assert.equal((await life.ask({ vector: rowOf(i), effort: 20 }))[0]?.id, `r-${i}`);
  await life.end();
});

test("a start finds rows and graph in their files, and answers as before", async () => {
  const graphFiles = new MemoryFiles();
  const first = await DiskLife.begin({ rows: "disk", graphFiles });
  fill(first);
  change(first);
  await first.settled();
  const before = await answersOf(first);
  await first.end();

  const again = await DiskLife.begin({ rows: "disk", graphFiles, journal: first.journal, disk: first.disk });
  assert.deepEqual(again.refused, []);
  assert.equal(again.rewrittenCount, 0);
  assert.equal(again.index.info().pendingVectorCount, 0);
  assert.deepEqual(await answersOf(again), before);
  await again.end();
});

for (const [what, damage] of [
  ["a missing file", (life: DiskLife, path: string) => life.disk.remove(path)],
  ["a torn file", (life: DiskLife, path: string) => life.disk.put(path, life.disk.bytesOf(path).subarray(0, 5_000))],
  ["a changed byte", (life: DiskLife, path: string) => life.disk.flipBit(path, 3_000, 4)],
  ["a damaged head", (life: DiskLife, path: string) => life.disk.flipBit(path, 3, 4)],
] as const)
  test(`the rows of ${what} are written again from the journal`, async () => {
    const first = await DiskLife.begin({ rows: "disk" });
    fill(first);
    await first.settled();
    const before = await answersOf(first);
    await first.end();
    damage(first, first.fileNames[1] as string);

    const again = await DiskLife.begin({ rows: "disk", journal: first.journal, disk: first.disk });
    assert.ok(again.rewrittenCount > 0);
    await again.settled();
    assert.deepEqual(await answersOf(again), before);
    assert.deepEqual(again.faults, []);
    await again.end();
    const last = await DiskLife.begin({ rows: "disk", journal: first.journal, disk: first.disk });
    assert.deepEqual([last.refused, last.rewrittenCount], [[], 0]);
    await last.end();
  });

test("a start moves rows to files and back when the setting changes", async () => {
  const disk = emptyDisk();
  const first = await DiskLife.begin({ rows: "memory", disk });
  fill(first);
  await first.settled();
  const before = await answersOf(first);
  await first.end();
  for (const placement of ["disk", "memory"] as const) {
    const life = await DiskLife.begin({ rows: placement, journal: first.journal, disk });
    await life.settled();
    assert.equal(life.fileNames.length > 0, placement === "disk");
    assert.equal(life.index.info().rows, placement === "disk" ? "disk" : undefined);
    assert.deepEqual(await answersOf(life), before);
    await life.end();
  }
});

test("a change of the setting while the server runs is refused", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  const embedders = { dense: undefined, sparse: undefined };
  assert.throws(
    () => life.engine.define("docs", life.index.definition, embedders, { rows: "memory" }),
    new DefinitionMismatch("the rows of the index docs are on disk and cannot move while the server runs: restart it"),
  );
  await life.end();
});

test("files of a deleted namespace, of a deleted index and of a reset are removed", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  const index = (): VectorIndex => life.engine.index("docs") as VectorIndex;
  for (const remove of [() => life.engine.reset(), () => index().reset(""), () => life.engine.drop("docs")]) {
    index().upsert(
      "",
      Array.from({ length: 600 }, (_, i) => ({ id: `r-${i}`, vector: rowOf(i) })),
    );
    await life.settled();
    assert.ok(life.fileNames.length > 0);
    remove();
    await life.settled();
    assert.deepEqual(life.fileNames, []);
  }
  await life.end();
});

test("a snapshot of an index with rows in files rebuilds the same index", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  fill(life);
  change(life);
  await life.settled();
  const before = await answersOf(life);
  const journal = new RecordingJournal();
  for (const frame of life.engine.dump()) journal.append(frame);
  const again = await DiskLife.begin({ rows: "disk", journal });
  await again.settled();
  assert.deepEqual(await answersOf(again), before);
  for (const each of [life, again]) await each.end();
});

test("the thread of the index answers other calls while reads wait for the disk", async () => {
  const first = await DiskLife.begin({ rows: "disk" });
  fill(first);
  await first.settled();
  await first.end();
  // Operations of this disk end while it runs only.
  const disk = first.disk.afterKill(seededRandom(1)).restarted({ seed: 1, isStepped: true });
  const random = seededRandom(2);
  let state: "runs" | "stands" | "gone" = "runs";
  const turn = (): void => {
    for (let i = 0; i < 50 && state === "runs"; i += 1) disk.step(random);
    if (state !== "gone") setImmediate(turn);
  };
  turn();
  const life = await DiskLife.begin({ rows: "disk", journal: first.journal, disk, hasThreads: false });
  await life.settled();
  state = "stands";

  let answered = 0;
  const count = (): void => {
    answered += 1;
  };
  const asking = [
    life.ask({ vector: rowOf(3), effort: 30 }).then(count),
    life.ask({ vector: rowOf(3), effort: "exact" }).then(count),
    Promise.resolve(life.index.fetch("", { kind: "ids", ids: ["r-3"] }, VECTORS)).then(count),
  ];
  for (let i = 0; i < 50; i += 1) await nextTurn();
  assert.equal(answered, 0);
  life.index.upsert("", [{ id: "new", vector: rowOf(5) }]);
  const found = life.index.fetch("", { kind: "ids", ids: ["new"] }, VECTORS);
  assert.ok(!(found instanceof Promise), "a row in memory is answered at once");
  assert.deepEqual(found[0]?.vector, rowOf(5));
  assert.equal(life.index.info().namespaces[0]?.name, "");

  state = "runs";
  await Promise.all(asking);
  await life.end();
  state = "gone";
});

test("a row that is damaged while the server runs is no answer: the search fails and the fault is reported", async () => {
  for (const hasThreads of [true, false]) {
    const life = await DiskLife.begin({ rows: "disk", hasThreads });
    fill(life);
    await life.settled();
    const entryBytes = entryBytesOf(DIMENSION);
    for (const path of life.fileNames) {
      const { length } = life.disk.bytesOf(path);
      for (let at = HEAD_BYTES + 20; at < length; at += entryBytes) life.disk.flipBit(path, at, 2);
    }
    await assert.rejects(life.ask({ vector: rowOf(3), effort: "exact" }), DamagedRow);
    await assert.rejects(life.ask({ vector: rowOf(3), effort: 30 }), DamagedRow);
    await assert.rejects(async () => life.index.fetch("", { kind: "ids", ids: ["r-3"] }, VECTORS), DamagedRow);
    assert.equal(life.faults.length, 3);
    await life.end();
  }
});

test("the recall of an index with rows in files is measured with a pending record, and not again after one change", async () => {
  const life = await DiskLife.begin({ rows: "disk" });
  fill(life);
  await life.settled();
  // The graph gets neither this record nor the next one.
  life.index.upsert("", [{ id: "pending", vector: rowOf(RECORDS) }]);
  life.engine.recall.start();
  const measuredAfter = async (looks: number): Promise<boolean> => {
    for (let i = 0; i < looks; i += 1) {
      if (life.index.info().recall?.measured.length === 1 && !life.engine.recall.isMeasuring) return true;
      life.clock.advance(LOOK_MS);
      await nextTurn();
    }
    return false;
  };
  assert.ok(await measuredAfter(60_000));
  const [report] = life.index.info().recall?.measured ?? [];
  assert.ok(report !== undefined && report.recall > 0.9, JSON.stringify(report));

  life.index.upsert("", [{ id: "pending", vector: rowOf(RECORDS + 1) }]);
  life.clock.advance(LOOK_MS);
  await nextTurn();
  assert.equal(life.engine.recall.isMeasuring, false);
  await life.end();
});
