/** A running server describes itself: its OpenAPI documents, and the metrics that the reference lists. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import { start } from "../../src/mod.ts";

test("each area serves its document below its prefix, and the admin port serves its own, without a token", async () => {
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

test("a read-only token is refused where the documents require the standard one, in streams and PUBLISH", async () => {
  await using larder = await start({ port: 0 });
  const { operations } = describedAreas.store();
  for (const [path, asked, status] of [
    ["/publish/{channel}/{message}", "/publish/c/m", 400],
    ["/monitor", "/monitor", 400],
    ["/subscribe/{channel}", "/subscribe/c", 400],
    ["/psubscribe/{pattern}", "/psubscribe/c", 400],
    ["/{command}/{arguments}", "/get/k", 200],
  ] as const) {
    const headers = { authorization: `Bearer ${larder.store.readOnlyToken}`, accept: "text/event-stream" };
    const answer = await fetch(larder.store.url + asked, { method: "POST", headers });
    assert.equal(answer.status, status, path);
    const tokens = new Set(operations.filter((each) => each.path === path).map(({ token }) => token));
    assert.deepEqual([...tokens], [status === 200 ? "read-only" : "standard"], path);
    await answer.body?.cancel();
  }
});

test("every metric of a server with data and a RESP port is in docs/reference/metrics.md", async () => {
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
