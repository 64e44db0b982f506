/** A server whose index has its rows on disk: over restarts, without its row files, and through a snapshot. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Larder, start } from "../../src/mod.ts";
import { runSnapshot } from "../../src/program/areas/snapshot-role.ts";

const TOKEN = "token-of-the-index-docs";
/** So many values that the namespace has a graph. */
const DIMENSION = 2_000;
const RECORDS = 2_050;
const UPSERTED = 205;

const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Small numbers, of which each row has other ones. */
function rowOf(record: number): number[] {
  return Array.from({ length: DIMENSION }, (_, i) => ((record * 31 + i * (1 + (record % 13))) % 17) - 8);
}

function startServer(rows: "memory" | "disk"): Promise<Larder> {
  const index = { name: "docs", token: TOKEN, readOnlyToken: `read-only-${TOKEN}`, dimension: DIMENSION, rows };
  return start({ dataDir: directory, vector: { indexes: [index] } });
}

async function post({ vector: { url } }: Larder, path: string, body: unknown = {}): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reply = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return (JSON.parse(text) as { result: unknown }).result;
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

const rowFileNames = (): readonly string[] =>
  readdirSync(join(directory, "vector")).filter((name) => name.startsWith("rows-"));

test("an index with its rows on disk answers the same after restarts, without row files, and from a snapshot", async () => {
  let larder = await startServer("disk");
  for (let from = 0; from < RECORDS; from += UPSERTED)
    await post(
      larder,
      "/upsert",
      Array.from({ length: UPSERTED }, (_, i) => ({
        id: `r-${from + i}`,
        vector: rowOf(from + i),
        metadata: { half: (from + i) % 2 },
      })),
    );
  assert.equal(((await post(larder, "/info")) as { rows: unknown }).rows, "disk");
  const before = await answersOf(larder);
  const [[nearest]] = before as [[{ id: string; score: number; vector: number[] }]];
  assert.deepEqual([nearest.id, nearest.score, nearest.vector], ["r-70", 1, rowOf(70)]);

  for (const damage of [
    () => {},
    () => truncateSync(join(directory, "vector", rowFileNames()[0] as string), 1_000_000),
    () => {
      for (const name of rowFileNames()) rmSync(join(directory, "vector", name));
    },
  ]) {
    await larder.stop();
    assert.ok(rowFileNames().length > 0);
    damage();
    larder = await startServer("disk");
    assert.deepEqual(await answersOf(larder), before);
  }

  await runSnapshot([directory, "vector"]);
  const snapshots = readdirSync(join(directory, "vector")).filter((name) => name.includes("snapshot"));
  assert.equal(snapshots.length, 1, `only the snapshot itself: ${snapshots.join(", ")}`);
  await larder.stop();
  larder = await startServer("memory");
  assert.deepEqual(rowFileNames(), []);
  assert.deepEqual(await answersOf(larder), before);
  assert.equal("rows" in ((await post(larder, "/info")) as object), false);
  await larder.stop();
});
