/** Permissions and paths of an index (B.authentication, B.paths; threats B-03). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { vectorRoutes } from "../../src/edge/vector/routes.ts";
import { OTHER_TOKEN, startVectorServer, VECTOR_READ_ONLY_TOKEN, VECTOR_TOKEN } from "../harness/vector-server.ts";

test("B.authentication, B.errors.401: without a token, or with a wrong one, every path is 401", async () => {
  await using server = await startVectorServer();
  for (const { command } of vectorRoutes) {
    for (const token of [null, "wrong", ""]) {
      const { status, json } = await server.send(`POST /${command}`, { token });
      assert.deepEqual([status, json], [401, { error: "Unauthorized: Invalid auth token", status: 401 }], command);
    }
  }
});

test("B.authentication, B.errors.403: a read-only token reads everything and changes nothing", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert/ns", { id: "a", vector: [1, 0] });
  const frameCount = server.journal.frames.length;
  const body = { id: "a", ids: ["a"], vector: [1, 1], cursor: "0", limit: 1, data: "text", uuid: "u", additionalK: 1 };
  const refused = { error: "A read-only token may only read", status: 403 };
  for (const { command, takesNamespace, access } of vectorRoutes) {
    const path = takesNamespace ? `/${command}/ns` : `/${command}`;
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      const { status, json } = await server.send(`${method} ${path}`, { token: VECTOR_READ_ONLY_TOKEN, body });
      if (access === "write") assert.deepEqual([status, json], [403, refused], path);
      else assert.ok([200, 404, 422].includes(status), `${path}: ${status}`);
    }
  }
  assert.equal(server.journal.frames.length, frameCount);
  const query = { token: VECTOR_READ_ONLY_TOKEN, body: { vector: [1, 0] } };
  assert.deepEqual((await server.send("POST /query/ns", query)).json, { result: [{ id: "a", score: 1 }] });
});

test("B.paths: a token belongs to one index, with or without its name in the path", async () => {
  await using server = await startVectorServer();
  await server.post("/main/upsert/ns", { id: "of main", vector: [1, 0] });
  assert.deepEqual(await server.post("/fetch/ns", { ids: ["of main"] }), [{ id: "of main" }]);
  for (const [line, token] of [
    ["POST /other/fetch/ns", VECTOR_TOKEN],
    ["POST /main/fetch/ns", OTHER_TOKEN],
    ["POST /nowhere/fetch/ns", VECTOR_TOKEN],
  ] as const) {
    assert.equal((await server.send(line, { token, body: { ids: ["of main"] } })).status, 401, line);
  }
  const other = await server.send("POST /fetch/ns", { token: OTHER_TOKEN, body: { ids: ["of main"] } });
  assert.deepEqual(other.json, { result: [null] });
});

test("B.methods, B.result: GET, POST, PUT and DELETE are equivalent, with or without a body; HEAD returns no body", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", { id: "a", vector: [1, 0] });
  for (const method of ["GET", "POST", "PUT", "DELETE"]) {
    const { json } = await server.send(`${method} /range`, { body: { cursor: 0, limit: 1 } });
    assert.deepEqual(json, { result: { nextCursor: "", vectors: [{ id: "a" }] } }, method);
  }
  const head = await server.send("HEAD /list-namespaces");
  assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "15"]);
  const patch = await server.send("PATCH /range");
  assert.deepEqual([patch.status, patch.headers["allow"]], [405, "GET, HEAD, POST, PUT, DELETE"]);
});

test("B.errors.503: while the journal cannot be written, writes are 503 and reads are answered", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", { id: "a", vector: [1, 0] });
  server.journal.refusal = "no space left on the device";
  const { status, json, headers } = await server.send("POST /upsert", { body: { id: "b", vector: [1, 0] } });
  assert.deepEqual(json, { error: "Writes are refused: no space left on the device", status });
  assert.deepEqual([status, headers["retry-after"]], [503, "1"]);
  assert.deepEqual(await server.post("/fetch", { ids: ["a", "b"] }), [{ id: "a" }, null]);
  server.journal.refusal = undefined;
  assert.equal(await server.post("/upsert", { id: "b", vector: [1, 0] }), "Success");
});

test("B.errors.503: vectors that are longer than the space of the disk are 503, and shorter ones are stored", async () => {
  await using server = await startVectorServer();
  server.journal.frameBytesMax = 1_000;
  const long = { id: "b", vector: [1, 0], data: "x".repeat(1_000) };
  const { status, json } = await server.send("POST /upsert", { body: [{ id: "a", vector: [1, 0] }, long] });
  assert.deepEqual(json, { error: "Writes are refused: no space is left on the device", status });
  assert.deepEqual([status, await server.post("/fetch", { ids: ["a", "b"] })], [503, [null, null]]);
  assert.equal(await server.post("/upsert", { id: "a", vector: [1, 0] }), "Success");
});

// B.consistency
test("B-02: if one record of a list is refused, none is stored", async () => {
  await using server = await startVectorServer();
  for (const body of [
    [{ id: "a", vector: [1, 0] }, { vector: [1, 0] }],
    [
      { id: "a", vector: [1, 0] },
      { id: "b", data: "no vector" },
    ],
    [
      { id: "a", vector: [1, 0] },
      { id: "b", vector: [1] },
    ],
  ]) {
    assert.equal((await server.refusal("/upsert/ns", body))[0], 422);
  }
  assert.deepEqual(await server.post("/fetch/ns", { ids: ["a"] }), [null]);
  assert.deepEqual(await server.post("/list-namespaces"), [""]);
});

test("B.delete.portions: a large delete by prefix or filter is several frames, a delete by ids is a single frame", async () => {
  await using server = await startVectorServer();
  const ids = Array.from({ length: 2_500 }, (_, number) => `id-${number}`);
  const fill = async () => {
    for (let start = 0; start < ids.length; start += 500)
      await server.post(
        "/upsert",
        ids.slice(start, start + 500).map((id) => ({ id, vector: [1, 0], metadata: { n: 1 } })),
      );
    return server.journal.frames.length;
  };
  for (const [body, deleted, frameCount] of [
    [{ prefix: "id-" }, 2_500, 3],
    [{ filter: "n = 1" }, 2_500, 3],
    [{ ids: ids.slice(0, 1_000) }, 1_000, 1],
  ] as const) {
    const before = await fill();
    assert.deepEqual(await server.post("/delete", body), { deleted });
    assert.equal(server.journal.frames.length - before, frameCount, JSON.stringify(body).slice(0, 20));
  }
});
