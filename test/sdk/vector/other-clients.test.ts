/**
 * How the clients in Python, Go and PHP send the same requests: null for fields that the client
 * in JavaScript omits, bodies where none is needed, empty strings for options.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Served } from "./served.ts";

const served = new Served();

/** Every path accepts POST, although other methods are documented. */
const METHODS = ["GET", "POST", "PUT", "DELETE"];

test("B.fields: Python: null members count as absent", async () => {
  const record = { id: "id-0", vector: [0.1, 0.2], metadata: null, data: null, sparseVector: null };

  const put = await served.send("POST /upsert", [record, { ...record, id: "id-1" }]);
  const found = await served.send("POST /fetch", {
    ids: ["id-0", "none"],
    includeVectors: true,
    includeMetadata: true,
    includeData: true,
  });

  assert.deepEqual(put.json, { result: "Success" });
  assert.deepEqual(found.json, { result: [{ id: "id-0", vector: [0.1, 0.2] }, null] });
});

test("Python: a query sends every option, and an empty filter", async () => {
  await served.send("POST /upsert", { id: "1", vector: [0.1, 0.2] });

  const { json } = await served.send("POST /query", {
    vector: [0.1, 0.2],
    sparseVector: null,
    topK: 10,
    includeVectors: false,
    includeMetadata: false,
    includeData: false,
    filter: "",
    weightingStrategy: null,
    fusionAlgorithm: null,
  });

  assert.deepEqual(json, { result: [{ id: "1", score: 1 }] });
});

test("B2: a query without topK returns ten hits", async () => {
  const records = Array.from({ length: 12 }, (_, id) => ({ id: String(id), vector: [1, 1] }));
  await served.send("POST /upsert", records);

  const { json } = await served.send("POST /query", { vector: [1, 1] });

  assert.equal((json as { result: unknown[] }).result.length, 10);
});

test("B2.result: an array of one query is answered like the query alone, an array of two with two lists", async () => {
  await served.send("POST /upsert", { id: "1", vector: [1, 1] });
  const hit = { id: "1", score: 1 };
  const query = { vector: [1, 1] };

  assert.deepEqual((await served.send("POST /query", query)).json, { result: [hit] });
  assert.deepEqual((await served.send("POST /query", [query])).json, { result: [hit] });
  assert.deepEqual((await served.send("POST /query", [query, query])).json, { result: [[hit], [hit]] });
});

test("B1.cursor: an empty cursor is the start, and so is 0 as a number or a string", async () => {
  await served.send(
    "POST /upsert",
    [1, 2].map((id) => ({ id, vector: [1, 1] })),
  );

  for (const cursor of ["", "0", 0]) {
    const { json } = await served.send("POST /range", { cursor, limit: 1 });
    assert.deepEqual((json as { result: { vectors: unknown } }).result.vectors, [{ id: "1" }]);
  }
});

for (const body of [undefined, "", "null", "[]", "{}"]) {
  test(`routes without a body accept ${body === undefined ? "none" : JSON.stringify(body)}, by every method`, async () => {
    for (const method of METHODS) {
      if (method === "GET" && body !== undefined) continue;
      assert.deepEqual((await served.send(`${method} /list-namespaces`, body)).json, { result: [""] });
      assert.deepEqual((await served.send(`${method} /reset`, body)).json, { result: "Success" });
      assert.deepEqual((await served.send(`${method} /random`, body)).json, { result: null });
      assert.equal((await served.send(`${method} /info`, body)).status, 200);
    }
  });
}

test("B.reset: ?all resets all namespaces, with or without a value", async () => {
  for (const all of ["?all", "?all=", "?all=true"]) {
    await served.send("POST /upsert/ns", { id: "1", vector: [1, 1] });
    assert.deepEqual((await served.send(`POST /reset${all}`, [])).json, { result: "Success" });
    assert.equal((await served.index().info()).vectorCount, 0, all);
  }
});

test("B.random: a random record is an existing one, with its vectors", async () => {
  await served.send("POST /upsert", { id: "1", vector: [0.1, 0.1], metadata: { a: 1 }, data: "data" });

  assert.deepEqual((await served.send("GET /random")).json, { result: { id: "1", vector: [0.1, 0.1] } });
  assert.deepEqual((await served.send("GET /random/never-made")).json, { result: null });
});

test("B.delete, B.delete.bare: PHP: ids are deleted as one string, as a list, or as a bare list", async () => {
  await served.send(
    "POST /upsert",
    [1, 2, 3].map((id) => ({ id, vector: [1, 1] })),
  );

  assert.deepEqual((await served.send("DELETE /delete", { ids: "1" })).json, { result: { deleted: 1 } });
  assert.deepEqual((await served.send("POST /delete", { ids: ["2"] })).json, { result: { deleted: 1 } });
  assert.deepEqual((await served.send("POST /delete", ["3", "4"])).json, { result: { deleted: 1 } });
});

test("B.rename-namespace, B.errors.409: a namespace is renamed, and an existing one is replaced only on request", async () => {
  for (const namespace of ["old", "kept"])
    await served.send(`POST /upsert/${namespace}`, { id: namespace, vector: [1, 1] });
  const names = async () => (await served.send("GET /list-namespaces")).json;
  const rename = (body: object) => served.send("POST /rename-namespace", body);

  assert.deepEqual((await rename({ namespace: "old", newNamespace: "new" })).json, { result: { renamed: true } });
  assert.deepEqual(await names(), { result: ["", "new", "kept"] });
  assert.deepEqual((await rename({ namespace: "none", newNamespace: "other" })).json, { result: { renamed: false } });
  assert.equal((await rename({ namespace: "new", newNamespace: "kept" })).status, 409);
  assert.equal((await rename({ namespace: "", newNamespace: "other" })).status, 422);

  const replaced = await rename({ namespace: "new", newNamespace: "kept", deleteExisting: true });
  assert.deepEqual(replaced.json, { result: { renamed: true } });
  assert.deepEqual(await names(), { result: ["", "kept"] });
  assert.deepEqual((await served.send("POST /fetch/kept", { ids: ["old", "kept"] })).json, {
    result: [{ id: "old" }, null],
  });
});
