/** Refusals of the client, with the texts and statuses that it and its siblings match on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusalOf, Served } from "./served.ts";

const served = new Served();

test("an invalid token is refused", async () => {
  assert.equal(await refusalOf(served.indexWith("wrong").info()), "Unauthorized: Invalid auth token");
});

test("a read-only token reads, and cannot write", async () => {
  const index = served.readOnlyIndex();
  await served.index().upsert({ id: "1", vector: [1, 1] });

  assert.deepEqual(await index.query({ vector: [1, 1], topK: 1 }), [{ id: "1", score: 1 }]);
  assert.deepEqual(await index.fetch(["1"]), [{ id: "1" }]);
  assert.equal((await index.info()).vectorCount, 1);
  for (const write of [
    () => index.upsert({ id: "2", vector: [1, 1] }),
    () => index.update({ id: "1", metadata: {} }),
    () => index.delete("1"),
    () => index.reset(),
    () => index.reset({ all: true }),
    () => index.deleteNamespace("ns"),
  ])
    await assert.rejects(write, { name: "UpstashError" });
  assert.equal((await index.info()).vectorCount, 1);
});

test("a token is valid for its own index only", async () => {
  await served.index("plain").upsert({ id: "1", vector: [1, 1] });

  assert.equal((await served.index("euclidean").info()).vectorCount, 0);
});

test("a record and a text in one batch are refused", async () => {
  const mixed = [
    { id: "1", data: "text" },
    { id: "2", vector: [1, 1] },
  ];

  assert.equal(await refusalOf(served.index().upsert(mixed as never)), "This index requires dense vectors");
  assert.deepEqual(await served.index().fetch(["1", "2"]), [null, null]);
});

const refused: readonly (readonly [line: string, body: unknown, status: number, error: string])[] = [
  ["POST /upsert", { id: "1", vector: [1, 2, 3] }, 422, "Invalid vector dimension: 3, expected: 2"],
  ["POST /query", { vector: [1], topK: 1 }, 422, "Invalid vector dimension: 1, expected: 2"],
  ["POST /upsert", { id: "1" }, 422, "This index requires dense vectors"],
  ["POST /fetch", { ids: ["1"], prefix: "a" }, 422, "Only one of ids or prefix must be provided."],
  ["POST /delete", {}, 422, "Only and only one of the ids, prefix, or filter must be provided."],
  ["POST /delete", { ids: [], prefix: "a" }, 422, "Only and only one of the ids, prefix, or filter must be provided."],
  [
    "POST /delete",
    { prefix: "a", filter: "a = 1" },
    422,
    "Only and only one of the ids, prefix, or filter must be provided.",
  ],
];

for (const [line, body, status, error] of refused) {
  test(`${line} ${JSON.stringify(body)}: ${status} ${error}`, async () => {
    const reply = await served.send(line, body);

    assert.deepEqual([reply.status, reply.json], [status, { error, status }]);
  });
}

test("B2.filter: a filter is refused with the position of its error", async () => {
  const refusal = await refusalOf(served.index().query({ vector: [1, 1], topK: 1, filter: "population >= " }));

  assert.match(refusal, /^Invalid filter at character 1\d: /);
});

test("a page size of zero is refused", async () => {
  const { status, json } = await served.send("POST /range", { cursor: "0", limit: 0 });

  assert.equal(status, 422);
  assert.match((json as { error: string }).error, /limit/);
});
