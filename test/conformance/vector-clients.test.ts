/**
 * The requests of the official clients in Go and PHP, with their exact
 * bodies, and the answers that their own tests expect.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer, type VectorServer } from "../harness/vector-server.ts";

const HEADERS = ["Upstash-Telemetry-Runtime", "vector-go@go1.22.0", "Upstash-Telemetry-Platform", "unknown"];

/** Sends as the client in Go does: POST without a content type. */
async function go(server: VectorServer, target: string, body: string): Promise<unknown> {
  const { status, json, text } = await server.send(`POST ${target}`, { body, headers: HEADERS });
  assert.equal(status, 200, `${target} ${body}: ${text}`);
  return (json as { result: unknown }).result;
}

/** Sends as the client in PHP does: the documented method, and JSON as content type, also without a body. */
async function php(server: VectorServer, line: string, body = ""): Promise<unknown> {
  const headers = ["Content-Type", "application/json", "Upstash-Telemetry-Runtime", "php@8.3.0"];
  const { status, json, text } = await server.send(line, { body, headers });
  assert.equal(status, 200, `${line} ${body}: ${text}`);
  return (json as { result: unknown }).result;
}

test("Go: a range without a cursor is the first page, and the cursor leads to the next", async () => {
  await using server = await startVectorServer();
  for (const target of ["", "/ns"]) {
    await go(server, `/reset${target}`, "");
    const records = '[{"id":"a+/=","vector":[0.1,0.2],"metadata":{"foo":"bar"}},{"id":"b==","vector":[0.3,0.4]}]';
    assert.equal(await go(server, `/upsert${target}`, records), "Success");
    assert.deepEqual(await go(server, `/range${target}`, '{"limit":2}'), {
      nextCursor: "",
      vectors: [{ id: "a+/=" }, { id: "b==" }],
    });
    const first = await go(server, `/range${target}`, '{"limit":1}');
    const { nextCursor } = first as { nextCursor: string };
    assert.deepEqual(first, { nextCursor, vectors: [{ id: "a+/=" }] });
    assert.deepEqual(await go(server, `/range${target}`, `{"cursor":"${nextCursor}","limit":1}`), {
      nextCursor: "",
      vectors: [{ id: "b==" }],
    });
    const everything = '{"cursor":null,"limit":2,"includeVectors":true,"includeMetadata":true}';
    assert.deepEqual(await go(server, `/range${target}`, everything), {
      nextCursor: "",
      vectors: [
        { id: "a+/=", vector: [0.1, 0.2], metadata: { foo: "bar" } },
        { id: "b==", vector: [0.3, 0.4] },
      ],
    });
  }
});

test("B.delete.bare: Go: an id is deleted as the bare body, as a string or as a list, in each namespace", async () => {
  await using server = await startVectorServer();
  // Base64 of random bytes, as the client's tests draw ids.
  const id = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=";
  for (const target of ["", "/ns"]) {
    for (const body of [id, `"${id}"`, `["${id}"]`]) {
      await go(server, `/upsert${target}`, `{"id":"${id}","vector":[0,1]}`);
      assert.deepEqual(await go(server, `/delete${target}`, body), { deleted: 1 }, body);
      assert.deepEqual(await go(server, `/delete${target}`, body), { deleted: 0 }, body);
    }
  }
  await go(server, "/upsert", '[{"id":"7","vector":[0,1]},{"id":"abc==","vector":[0,1]},{"id":"true","vector":[0,1]}]');
  for (const body of ["7", "abc==", "true"]) assert.deepEqual(await go(server, "/delete", body), { deleted: 1 }, body);
  assert.deepEqual(await go(server, "/upsert", '[{"id":"a","vector":[0,1]},{"id":"b","vector":[5,10]}]'), "Success");
  assert.deepEqual(await go(server, "/delete", '["a","b","c"]'), { deleted: 2 });
});

test("B.list-namespaces, B.delete-namespace, B.reset: Go: a namespace is created by a record without an id, and reset, listed and deleted", async () => {
  await using server = await startVectorServer();
  assert.equal(await go(server, "/reset/ns", ""), "Success");
  assert.equal(await go(server, "/upsert/ns", '{"id":"","vector":[0.1,0.1]}'), "Success");
  const info = (await go(server, "/info", "null")) as { namespaces: object; pendingVectorCount: number };
  assert.equal(info.pendingVectorCount, 0);
  assert.deepEqual(info.namespaces, {
    "": { vectorCount: 0, pendingVectorCount: 0 },
    ns: { vectorCount: 1, pendingVectorCount: 0 },
  });
  assert.deepEqual(await go(server, "/fetch/ns", '{"ids":[""],"includeVectors":true}'), [
    { id: "", vector: [0.1, 0.1] },
  ]);
  assert.deepEqual(await go(server, "/update/ns", '{"id":"","data":"new-data"}'), { updated: 1 });
  assert.deepEqual(await go(server, "/delete/ns", '[""]'), { deleted: 1 });
  assert.equal(await go(server, "/reset/ns", ""), "Success");
  assert.deepEqual(await go(server, "/list-namespaces", "null"), ["", "ns"]);
  assert.equal(await go(server, "/delete-namespace/ns", ""), "Success");
  assert.deepEqual(await go(server, "/list-namespaces", "null"), [""]);
});

test("Go: queries, resumable queries and updates omit empty fields", async () => {
  await using server = await startVectorServer();
  const records = [0, 1, 2, 3].map((id) => ({ id: `id${id}`, vector: [1, id], metadata: { metadata: `id${id}` } }));
  await go(server, "/upsert", JSON.stringify(records));
  assert.deepEqual(await go(server, "/fetch", '{"ids":["id0","none"]}'), [{ id: "id0" }, null]);
  assert.deepEqual(
    await go(server, "/query", '{"vector":[1,0],"topK":1,"includeMetadata":true,"filter":"metadata = \'id0\'"}'),
    [{ id: "id0", score: 1, metadata: { metadata: "id0" } }],
  );
  const { uuid, scores } = (await go(server, "/resumable-query", '{"vector":[1,0],"topK":2}')) as {
    uuid: string;
    scores: unknown[];
  };
  assert.equal(scores.length, 2);
  const next = await go(server, "/resumable-query-next", `{"additionalK":3,"uuid":"${uuid}"}`);
  assert.equal((next as unknown[]).length, 2);
  assert.equal(await go(server, "/resumable-query-end", `{"uuid":"${uuid}"}`), "Success");
  assert.deepEqual(await go(server, "/update", '{"id":"none","data":"new-data"}'), { updated: 0 });
  const patch = '{"id":"id0","metadata":{"new":"metadata"},"metadataUpdateMode":"PATCH"}';
  assert.deepEqual(await go(server, "/update", patch), { updated: 1 });
  assert.deepEqual(await go(server, "/fetch", '{"ids":["id0"],"includeMetadata":true}'), [
    { id: "id0", metadata: { metadata: "id0", new: "metadata" } },
  ]);
});

test("PHP: every operation, with the client's method and body", async () => {
  await using server = await startVectorServer();
  const flags = '"includeMetadata":false,"includeVectors":false,"includeData":false';
  assert.equal(await php(server, "DELETE /reset"), "Success");
  assert.equal(await php(server, "DELETE /reset?all=true"), "Success");
  const first = '{"id":"users:1","metadata":{"salary":1000},"vector":[0.1,0.1]}';
  assert.equal(await php(server, "POST /upsert", first), "Success");
  const others =
    '[{"id":"users:2","metadata":{"salary":2000},"vector":[0.2,0.2]},{"id":"posts\\/1","vector":[0.3,0.3],"data":"\\u00e9"}]';
  assert.equal(await php(server, "POST /upsert", others), "Success");

  assert.deepEqual(await php(server, "GET /range", `{"limit":2,"cursor":"0",${flags}}`), {
    nextCursor: "p1.0.2",
    vectors: [{ id: "users:1" }, { id: "users:2" }],
  });
  assert.deepEqual(await php(server, "GET /range", `{"limit":20,"cursor":"p1.0.2",${flags}}`), {
    nextCursor: "",
    vectors: [{ id: "posts/1" }],
  });
  assert.deepEqual(await php(server, "GET /fetch", `{"ids":["posts\\/1"],${flags.replaceAll("false", "true")}}`), [
    { id: "posts/1", vector: [0.3, 0.3], data: "é" },
  ]);
  assert.deepEqual(await php(server, "GET /fetch", `{"prefix":"users:",${flags}}`), [
    { id: "users:1" },
    { id: "users:2" },
  ]);
  const query = `{"vector":[0.1,0.1],"topK":1,${flags},"filter":""}`;
  assert.deepEqual(await php(server, "POST /query", query), [{ id: "users:1", score: 1 }]);
  assert.deepEqual(await php(server, "POST /query", `[${query},${query}]`), [
    [{ id: "users:1", score: 1 }],
    [{ id: "users:1", score: 1 }],
  ]);
  const update = '{"id":"users:1","vector":[0.6,0.6],"metadata":{"foo":"baz"},"metadataUpdateMode":"PATCH"}';
  assert.deepEqual(await php(server, "POST /update", update), { updated: 1 });
  assert.deepEqual(await php(server, "DELETE /delete", '{"filter":"salary < 1500"}'), { deleted: 1 });
  assert.deepEqual(await php(server, "DELETE /delete", '{"prefix":"users:"}'), { deleted: 1 });
  assert.deepEqual(await php(server, "DELETE /delete", '{"ids":["posts\\/1"]}'), { deleted: 1 });
  assert.equal(await php(server, "GET /random"), null);
  await php(server, "POST /upsert/ns", first);
  assert.deepEqual(await php(server, "GET /list-namespaces"), ["", "ns"]);
  assert.equal(await php(server, "DELETE /delete-namespace/ns"), "Success");
  const info = (await php(server, "GET /info")) as { namespaces: object };
  assert.deepEqual(info.namespaces, { "": { vectorCount: 0, pendingVectorCount: 0 } });
});

test("PHP: whole sparse values come back as floats, and indices as integers", async () => {
  await using server = await startVectorServer({ type: "SPARSE", dimension: undefined });
  await php(server, "POST /upsert", '{"id":"1","sparseVector":{"indices":[1,2,3],"values":[5,6,7]}}');
  const body = '{"ids":["1"],"includeMetadata":false,"includeVectors":true,"includeData":false}';
  const { text } = await server.send("GET /fetch", { body });
  assert.equal(text, '{"result":[{"id":"1","sparseVector":{"indices":[1,2,3],"values":[5.0,6.0,7.0]}}]}');
  const query = await server.send("POST /query", { body: '{"sparseVector":{"indices":[1],"values":[1]},"topK":1}' });
  assert.equal(query.text, '{"result":[{"id":"1","score":5.0}]}');
});

test("B.vectors: PHP: errors have the fields that its exceptions read", async () => {
  await using server = await startVectorServer({ type: "HYBRID" });
  const sparse = '"sparseVector":{"indices":[1],"values":[5]}';
  for (const [body, error] of [
    ['{"id":"1","vector":[0.1,0.1]}', "This index requires sparse vectors"],
    [`{"id":"1",${sparse}}`, "This index requires dense vectors"],
    [`{"id":"1","vector":[0.1],${sparse}}`, "Invalid vector dimension: 1, expected: 2"],
  ] as const)
    assert.deepEqual(await server.refusal("/upsert", body), [422, error]);
});
