/** Search over RESP with node-redis: replies of RESP3, and a connection that waits for an index. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "redis";
import { start } from "../../src/mod.ts";

/** More documents than a server indexes at once. */
const COUNT = 3_000;

test("a connection waits for the scan of an index, and its later commands wait with it", async () => {
  await using larder = await start({ respPort: 0 });
  const url = Object.values(larder.env).find((value) => value.startsWith("redis://"));
  assert.ok(url !== undefined);
  const client = createClient({ url, RESP: 3 });
  await client.connect();
  try {
    const ask = (...words: string[]) => client.sendCommand(words);
    const batch = client.multi();
    for (let i = 0; i < COUNT; i += 1) batch.hSet(`d:${i}`, { t: `some text number ${i}`, n: i });
    await batch.execAsPipeline();
    const create = ["SEARCH.CREATE", "i", "ON", "HASH", "PREFIX", "1", "d:", "SCHEMA", "t", "TEXT", "n", "U64", "FAST"];
    const answers = await Promise.all([
      ask(...create),
      ask("SEARCH.WAITINDEXING", "i"),
      ask("SEARCH.COUNT", "i", "{}"),
      ask("SEARCH.QUERY", "i", '{"t":{"$eq":"7"}}', "SELECT", "1", "n"),
      ask("SEARCH.DESCRIBE", "none"),
    ]);
    assert.deepEqual(answers.slice(0, 3), [1, 1, COUNT]);
    const [[key, score, content] = []] = answers[3] as unknown as [string, number, unknown][];
    assert.deepEqual([key, typeof score, content], ["d:7", "number", [["n", "7"]]]);
    assert.equal(answers[4], null);
    const described = { ...((await ask("SEARCH.DESCRIBE", "i")) as unknown as Record<string, unknown>) };
    assert.deepEqual([described["name"], described["pendingUpdates"]], ["i", 0]);
    const figures = await ask("SEARCH.AGGREGATE", "i", "{}", '{"m":{"$max":{"field":"n"}}}');
    assert.equal(JSON.stringify(figures), '{"m":{"value":"2999"}}');
  } finally {
    client.destroy();
  }
});
