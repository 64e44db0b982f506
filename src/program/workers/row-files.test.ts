/** Rows in real files, ranked by a real search thread. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { silentLog } from "../../kernel/log.ts";
import { seededRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { RowFiles } from "../../vector/row-files/row-files.ts";
import { RowMemory } from "../../vector/rows/row-memory.ts";
import { RowStore } from "../../vector/rows/row-store.ts";
import type { FileScanResult, RankResult, SearchTask } from "../../vector/threads/search-task.ts";
import type { SearchThreads } from "../../vector/threads/search-threads.ts";
import { rowFiles } from "./row-files.ts";
import { openSearchThreads } from "./search-threads.ts";

const DIMENSION = 200;
const COUNT = 1_000;
const FILE = "rows-3-0-1";

const random = seededRandom(11);
const memory = new RowMemory();
const store = new RowStore(memory, DIMENSION);
store.ensure(COUNT - 1);
const rows = Array.from({ length: COUNT }, () => Float32Array.from({ length: DIMENSION }, () => random.unit() - 0.5));
for (const [record, row] of rows.entries()) store.set(record, row);

async function open(directory: string): Promise<RowFiles> {
  const versionOf = (record: number): number => record + 1;
  const storage = rowFiles(fileDisk, directory);
  const { files } = await RowFiles.open({ storage, index: 3, namespace: 0, dimension: DIMENSION, versionOf });
  for (const [record, values] of rows.entries())
    files.set(record, { version: record + 1, squaredLength: store.squaredLength(record), values });
  files.endRecovery();
  return files;
}

async function done<Result>(
  threads: SearchThreads,
  taskOf: (finished: (result: Result | undefined) => void) => SearchTask,
): Promise<Result> {
  while (!threads.hasIdle) await nextTurn();
  const result = await new Promise<Result | undefined>((resolve) => {
    threads.onWake = () => threads.collect();
    assert.ok(threads.take(taskOf(resolve), () => {}));
    threads.sleep();
    threads.collect();
  });
  assert.ok(result, "the thread has read the files");
  return result;
}

test("a search thread ranks and scans the rows of files, and reports a damaged one", async () => {
  const directory = mkdtempSync(`${tmpdir()}/larder-row-files-`);
  const threads = openSearchThreads({ log: silentLog, count: 2 });
  assert.ok(threads);
  let files = await open(directory);
  try {
    await files.flush();
    const query = memory.prepare((rows[5] as Float32Array).map((value) => value + 0.01));
    const records = [999, 5, 0, 500];
    const wanted = records.map((record) => store.rank("COSINE", query, record));
    const rank = async (): Promise<RankResult> => {
      const held = files.hold(records);
      const places = held.places.filter((place) => place !== undefined);
      const task = {
        kind: "rank",
        costMs: 1,
        query,
        similarity: "COSINE",
        places,
        hitCount: 0,
        distances: [],
      } as const;
      const result = await done<RankResult>(threads, (finished) => ({ ...task, done: finished }));
      held.release();
      return result;
    };
    assert.deepEqual([...(await rank()).ranks], wanted);

    const held = files.holdFiles();
    const scans = held.files.map(({ descriptor, records: listed }) => {
      const task = { kind: "file scan", costMs: 1, query, similarity: "COSINE", descriptor, count: 3 } as const;
      return done<FileScanResult>(threads, (finished) => ({ ...task, records: listed.slice(), done: finished }));
    });
    assert.deepEqual(
      (await Promise.all(scans)).map((scan) => scan.records[0]),
      [5],
    );
    held.release();

    await files.close();
    files = await open(directory);
    assert.equal(files.bufferedCount, 0, "all rows are found again");
    assert.deepEqual(readdirSync(directory), [FILE]);
    const bytes = readFileSync(`${directory}/${FILE}`);
    const at = bytes.indexOf(Buffer.from((rows[0] as Float32Array).buffer)) + 9;
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(`${directory}/${FILE}`, bytes);
    const { ranks, isDamaged } = await rank();
    assert.equal(isDamaged, true);
    assert.deepEqual([...ranks], wanted.slice(0, 2));
  } finally {
    await threads.close();
    await files.close();
    rmSync(directory, { recursive: true });
  }
});
