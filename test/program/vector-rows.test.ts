/** A server whose index has its rows on disk: over restarts, without its row files, through a snapshot and a backup. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { type Larder, start } from "../../src/mod.ts";
import { runSnapshot } from "../../src/program/areas/snapshot-role.ts";
import { runHere } from "../harness/command-runner.ts";
import { drawnPart } from "../harness/drawn-part.ts";
import { pauseBetweenRequests, until } from "../harness/pause.ts";
import { seedFrom } from "../harness/seed.ts";

/** Of the damages: each restart reads all records again, so npm test makes one, and a proof all. */
const seed = seedFrom("LARDER_ROW_DAMAGES_SEED");
const TOKEN = "token-of-the-index-docs";
/** So many values that the namespace has a graph. */
const DIMENSION = 2_000;
const RECORDS = 2_050;
const UPSERTED = 205;
/** The most ids of a fetch. */
const FETCHED_MAX = 1_000;

const root = mkdtempSync(join(tmpdir(), "larder-test-"));
/** With the records and their graph. Each test has a copy. */
const filled = join(root, "filled");
/** Of the server that filled it. */
let answers: unknown;
let steadyAnswers: unknown;

before(async () => {
  const larder = await startLarder("disk", filled);
  await fill(larder);
  await until(async () => ((await post(larder, "/info")) as { pendingVectorCount: number }).pendingVectorCount === 0);
  answers = await answersOf(larder);
  steadyAnswers = await steadyAnswersOf(larder);
  // A stop writes the graph to its file.
  await larder.stop();
});

after(() => rmSync(root, { recursive: true, force: true }));

/** The number of different rows. */
const ROWS = 13 * 17;
/** Small numbers, of which each row has other ones. */
const rows = Array.from({ length: ROWS }, (_, row) =>
  Array.from({ length: DIMENSION }, (_, i) => ((row * 31 + i * (1 + (row % 13))) % 17) - 8),
);
const rowTexts = rows.map((row) => JSON.stringify(row));

function rowOf(record: number): readonly number[] {
  return rows[record % ROWS] ?? [];
}

/** `rows`: where the index has its rows. */
function startLarder(rows: "memory" | "disk", dataDir: string): Promise<Larder> {
  const index = { name: "docs", token: TOKEN, readOnlyToken: `read-only-${TOKEN}`, dimension: DIMENSION, rows };
  return start({ dataDir, vector: { indexes: [index] } });
}

/** The end of the test ends the server, also when the test fails. */
async function startServer(context: TestContext, rows: "memory" | "disk", dataDir: string): Promise<Larder> {
  const larder = await startLarder(rows, dataDir);
  context.after(() => larder.stop());
  return larder;
}

async function fetchAll(larder: Larder, ids: readonly string[]): Promise<{ id: string; vector: number[] }[]> {
  const found: { id: string; vector: number[] }[] = [];
  for (let from = 0; from < ids.length; from += FETCHED_MAX) {
    const body = { ids: ids.slice(from, from + FETCHED_MAX), includeVectors: true };
    found.push(...((await post(larder, "/fetch", body)) as { id: string; vector: number[] }[]));
  }
  return found;
}

function post(larder: Larder, path: string, body: unknown = {}): Promise<unknown> {
  return postText(larder, path, JSON.stringify(body));
}

async function postText({ vector: { url } }: Larder, path: string, body: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reply = await fetch(`${url}${path}`, { method: "POST", headers, body });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return (JSON.parse(text) as { result: unknown }).result;
}

async function fill(larder: Larder): Promise<void> {
  for (let from = 0; from < RECORDS; from += UPSERTED) {
    const records = Array.from({ length: UPSERTED }, (_, i) => {
      const record = from + i;
      return `{"id":"r-${record}","vector":${rowTexts[record % ROWS]},"metadata":{"half":${record % 2}}}`;
    });
    await postText(larder, "/upsert", `[${records.join()}]`);
  }
}

async function answersOf(larder: Larder): Promise<unknown> {
  const query = (extra: object): Promise<unknown> =>
    post(larder, "/query", { vector: rowOf(70), topK: 5, includeVectors: true, ...extra });
  return [
    await query({ exact: true }),
    await query({ exact: true, filter: "half = 1" }),
    await post(larder, "/fetch", { ids: ["r-3", "none"], includeVectors: true }),
    await post(larder, "/range", { cursor: "100", limit: 3, includeVectors: true }),
  ];
}

const rowFileNames = (dataDir: string): readonly string[] =>
  readdirSync(join(dataDir, "vector")).filter((name) => name.startsWith("rows-"));

test("an index with its rows on disk answers the same after restarts, without row files, and from a snapshot", async (context) => {
  const directory = join(root, "first");
  cpSync(filled, directory, { recursive: true });
  const [[nearest]] = answers as [[{ id: string; score: number; vector: number[] }]];
  assert.deepEqual([nearest.id, nearest.score, nearest.vector], ["r-70", 1, rowOf(70)]);

  let larder: Larder | undefined;
  const damages = [
    () => {},
    () => truncateSync(join(directory, "vector", rowFileNames(directory)[0] as string), 1_000_000),
    () => {
      for (const name of rowFileNames(directory)) rmSync(join(directory, "vector", name));
    },
  ];
  for (const damage of drawnPart(damages, { oneIn: damages.length, random: seededRandom(seed) })) {
    await larder?.stop();
    assert.ok(rowFileNames(directory).length > 0);
    damage();
    larder = await startServer(context, "disk", directory);
    assert.equal(((await post(larder, "/info")) as { rows: unknown }).rows, "disk");
    assert.deepEqual(await answersOf(larder), answers);
  }

  await runSnapshot([directory, "vector"]);
  const snapshots = readdirSync(join(directory, "vector")).filter((name) => name.includes("snapshot"));
  assert.equal(snapshots.length, 1, `only the snapshot itself: ${snapshots.join(", ")}`);
  await larder?.stop();
  larder = await startServer(context, "memory", directory);
  assert.deepEqual(rowFileNames(directory), []);
  assert.deepEqual(await answersOf(larder), answers);
  assert.equal("rows" in ((await post(larder, "/info")) as object), false);
  await larder.stop();
});

/** Answers that do not depend on the records `w-…`, which have no metadata. */
async function steadyAnswersOf(larder: Larder): Promise<unknown> {
  const query = (extra: object): Promise<unknown> =>
    post(larder, "/query", { vector: rowOf(70), topK: 5, includeVectors: true, filter: "half >= 0", ...extra });
  return [
    await query({ exact: true }),
    await query({ exact: true, filter: "half = 1" }),
    await post(larder, "/fetch", { ids: ["r-3", "none", "r-2049"], includeVectors: true }),
  ];
}

test("a backup of an index with its rows on disk, made while it is written to, has no row files and answers the same elsewhere", async (context) => {
  const [source, target, copy] = [join(root, "source"), join(root, "target"), join(root, "copy")];
  const file = join(root, "larder.backup");
  cpSync(filled, source, { recursive: true });
  let larder = await startServer(context, "disk", source);
  assert.ok(rowFileNames(source).length > 0);

  let acknowledged = 0;
  let isOver = false;
  const write = async (): Promise<void> => {
    for (; !isOver; acknowledged += 1) {
      await post(larder, "/upsert", [{ id: `w-${acknowledged}`, vector: rowOf(5_000 + acknowledged) }]);
      await pauseBetweenRequests();
    }
  };
  const writing = write();
  await until(async () => acknowledged >= 5);
  const promised = acknowledged;
  const backup = await runHere(["backup", file, "--data-dir", source]);
  assert.equal(backup.code, 0, backup.log);
  isOver = true;
  await writing;
  assert.ok(acknowledged > promised, "writes continued");
  await larder.stop();

  const restored = await runHere(["restore", file, "--data-dir", target]);
  assert.equal(restored.code, 0, restored.log);
  assert.deepEqual(rowFileNames(target), []);
  assert.ok(readdirSync(join(target, "vector")).some((name) => name.startsWith("graph-")));
  // And a directory that was copied without its row files.
  cpSync(source, copy, { recursive: true, filter: (path) => !path.includes("/vector/rows-") });
  assert.deepEqual(rowFileNames(copy), []);

  for (const [dataDir, count] of [
    [target, promised],
    [copy, acknowledged],
  ] as const) {
    larder = await startServer(context, "disk", dataDir);
    assert.equal(((await post(larder, "/info")) as { rows: unknown }).rows, "disk");
    assert.deepEqual(await steadyAnswersOf(larder), steadyAnswers);
    const ids = Array.from({ length: count }, (_, i) => `w-${i}`);
    const written = await fetchAll(larder, ids);
    assert.deepEqual(
      written.map(({ id, vector }) => [id, vector]),
      ids.map((id, i) => [id, rowOf(5_000 + i)]),
    );
    await larder.stop();
    assert.ok(rowFileNames(dataDir).length > 0, "the row files are made again");
  }
});
