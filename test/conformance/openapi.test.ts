/** What a server that runs says of itself: its OpenAPI documents, and the figures that the reference lists. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { start } from "../../src/mod.ts";

test("each area serves its document below its prefix, and the admin port its own, without a token", async () => {
  await using larder = await start({ port: 0 });
  const titles: unknown[] = [];
  for (const { url } of [larder.store, larder.vector, larder.messaging, larder.admin]) {
    const answer = await fetch(`${url}/openapi.json`);
    assert.equal(answer.status, 200);
    const { info, servers } = (await answer.json()) as { info: { title: string }; servers: readonly { url: string }[] };
    assert.equal(new URL(servers[0]?.url ?? "", answer.url).href, `${url}/`);
    titles.push(info.title);
  }
  assert.deepEqual(titles, [
    "larder: the store",
    "larder: the vector index",
    "larder: messaging",
    "larder: the admin port",
  ]);
});

test("every figure of a server that keeps something and speaks RESP is in docs/reference/metrics.md", async () => {
  const page = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");
  const dataDir = mkdtempSync(join(tmpdir(), "larder-metrics-"));
  try {
    await using larder = await start({ dataDir, respPort: 0 });
    const figures = await (await fetch(`${larder.admin.url}/metrics`)).text();
    const families = Array.from(figures.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = "", kind = ""]) => ({
      name,
      kind,
    }));
    assert.ok(families.length > 50);
    for (const { name, kind } of families) assert.ok(page.includes(`| \`${name}\` | ${kind} |`), name);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
