/** The OpenAPI documents of a server that runs, on one port and on its admin port. */
import assert from "node:assert/strict";
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
