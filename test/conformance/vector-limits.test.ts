/** Limits of a request, a day and an index (B.limits). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../harness/vector-server.ts";

const vector = [1, 0];
const record = (id: string) => ({ id, vector });

test("B.limits, B.errors.422: a request above a limit is refused with the field named, and changes nothing", async () => {
  await using server = await startVectorServer(
    {},
    { topKMax: 3, readsPerRequestMax: 2, writesPerRequestMax: 2, namespacesMax: 2 },
  );
  await server.post("/upsert", [record("a"), record("b")]);
  await server.post("/upsert/one", record("a"));
  for (const [target, body, error] of [
    ["/query", { vector, topK: 4 }, /^topK must be a whole number from 1 to 3$/],
    ["/range", { cursor: "0", limit: 4 }, /^limit must be a whole number from 1 to 3$/],
    ["/query", [{ vector }, { vector }, { vector }], /^The body has more than 2 elements$/],
    ["/fetch", { ids: ["a", "b", "c"] }, /^ids has more than 2 ids$/],
    ["/upsert", [record("c"), record("d"), record("e")], /^The body has more than 2 elements$/],
    ["/delete", { ids: ["a", "b", "c"] }, /^ids has more than 2 ids$/],
    ["/upsert/two", record("a"), /namespaces/],
  ] as const) {
    const [status, text] = await server.refusal(target, body);
    assert.equal(status, 422, `${target}: ${text}`);
    assert.match(text, error, target);
  }
  assert.deepEqual(await server.post("/list-namespaces"), ["", "one"]);
  assert.deepEqual(await server.post("/fetch", { ids: ["a", "c"] }), [{ id: "a" }, null]);
});

test("B.limits, B.errors.429: the number of queries and updates per day is limited", async () => {
  await using server = await startVectorServer({}, { queriesPerDayMax: 3, updatesPerDayMax: 3 });
  await server.post("/upsert", [record("a"), record("b")]);
  assert.deepEqual(await server.refusal("/upsert", [record("c"), record("d")]), [
    429,
    "Maximum number of updates per day exceeded: 3",
  ]);
  await server.post("/query", [{ vector }, { vector }]);
  assert.deepEqual(await server.refusal("/query", [{ vector }, { vector }]), [
    429,
    "Maximum number of queries per day exceeded: 3",
  ]);
  assert.deepEqual(await server.post("/query", { vector, topK: 1 }), [{ id: "a", score: 1 }]);
  assert.equal((await server.refusal("/query", { vector }))[0], 429);

  server.clock.advance(86_400_000);

  assert.equal(await server.post("/upsert", [record("c"), record("d")]), "Success");
  assert.deepEqual(await server.post("/query", { vector, topK: 1 }), [{ id: "a", score: 1 }]);
});

test("B.limits, B.errors.429, B.resumable: an index has a maximum number of resumable queries, and a query that ends makes room", async () => {
  await using server = await startVectorServer({}, { resumableQueriesMax: 1 });
  await server.post("/upsert", record("a"));
  const { uuid } = (await server.post("/resumable-query", { vector })) as { uuid: string };
  assert.equal((await server.refusal("/resumable-query", { vector }))[0], 429);
  await server.post("/resumable-query-end", { uuid });
  assert.partialDeepStrictEqual(await server.post("/resumable-query", { vector }), { scores: [{ id: "a", score: 1 }] });
});

test("B.limits: a page that would be too long ends early, any other answer that is too long is refused", async () => {
  await using server = await startVectorServer({}, { answerBytesMax: 1_000 });
  const records = Array.from({ length: 8 }, (_, number) => ({ ...record(`id-${number}`), data: "x".repeat(300) }));
  await server.post("/upsert", records);
  const page = (await server.post("/range", { cursor: "0", limit: 8, includeData: true })) as {
    nextCursor: string;
    vectors: unknown[];
  };
  assert.ok(page.vectors.length > 0 && page.vectors.length < 8, `${page.vectors.length} records`);
  assert.match(page.nextCursor, /^p/);
  const [status, text] = await server.refusal("/query", { vector, includeData: true });
  assert.deepEqual([status, /1000/.test(text)], [422, true], text);
});
