/** Pages of the records of a namespace (B1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer, type VectorServer } from "../harness/vector-server.ts";

async function fill(server: VectorServer, count: number, target = "/upsert"): Promise<void> {
  const records = Array.from({ length: count }, (_, number) => ({ id: `id-${number}`, vector: [1, number] }));
  await server.post(target, records);
}

function idsOf(page: unknown): readonly string[] {
  return (page as { vectors: { id: string }[] }).vectors.map(({ id }) => id);
}

test("B1.cursor, B1.order: pages follow each other by their cursor, in the order of insertion", async () => {
  await using server = await startVectorServer();
  await fill(server, 20);
  const first = await server.post("/range", { cursor: "0", limit: 5 });
  assert.deepEqual(first, {
    nextCursor: "p1.0.5",
    vectors: [{ id: "id-0" }, { id: "id-1" }, { id: "id-2" }, { id: "id-3" }, { id: "id-4" }],
  });
  const seen: string[] = [];
  let cursor = "0";
  do {
    const page = (await server.post("/range", { cursor, limit: 6 })) as { nextCursor: string };
    seen.push(...idsOf(page));
    cursor = page.nextCursor;
  } while (cursor !== "");
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, number) => `id-${number}`),
  );
});

test("B1.end: the page that ends at the last record has an empty cursor", async () => {
  await using server = await startVectorServer();
  await fill(server, 4);
  assert.deepEqual(await server.post("/range", { cursor: "2", limit: 2 }), {
    nextCursor: "",
    vectors: [{ id: "id-2" }, { id: "id-3" }],
  });
  for (const cursor of ["4", "99"]) {
    assert.deepEqual(await server.post("/range", { cursor, limit: 2 }), { nextCursor: "", vectors: [] });
  }
});

test("B1: a prefix excludes other ids, on every page", async () => {
  await using server = await startVectorServer();
  await fill(server, 14);
  const first = await server.post("/range", { cursor: "0", limit: 2, prefix: "id-1" });
  assert.deepEqual(idsOf(first), ["id-1", "id-10"]);
  const { nextCursor } = first as { nextCursor: string };
  const second = await server.post("/range", { cursor: nextCursor, limit: 3, prefix: "id-1" });
  assert.deepEqual([idsOf(second), (second as { nextCursor: string }).nextCursor], [["id-11", "id-12", "id-13"], ""]);
});

test("B1, B.include: included fields are present if the record has them", async () => {
  await using server = await startVectorServer();
  const metadata = { a: { b: [1, null, "ü"] }, ["__proto__"]: 1 };
  await server.post("/upsert", [
    { id: "whole", vector: [0.1, 0.2], metadata, data: "text" },
    { id: "bare", vector: [1, 2] },
  ]);
  const page = { cursor: "0", limit: 2 };
  const everything = { includeMetadata: true, includeVectors: true, includeData: true };
  assert.deepEqual(await server.post("/range", { ...page, ...everything }), {
    nextCursor: "",
    vectors: [
      { id: "whole", vector: [0.1, 0.2], metadata, data: "text" },
      { id: "bare", vector: [1, 2] },
    ],
  });
  for (const [flag, record] of [
    ["includeMetadata", { id: "whole", metadata }],
    ["includeVectors", { id: "whole", vector: [0.1, 0.2] }],
    ["includeData", { id: "whole", data: "text" }],
  ] as const) {
    const { vectors } = (await server.post("/range", { ...page, [flag]: true })) as { vectors: unknown[] };
    assert.deepEqual(vectors[0], record, flag);
  }
});

test("B1, B.namespace: a namespace has its own pages; a missing one has none", async () => {
  await using server = await startVectorServer();
  await fill(server, 3);
  await fill(server, 2, "/upsert/a%20b/c");
  const page = { cursor: "0", limit: 10 };
  assert.deepEqual(idsOf(await server.post("/range/a%20b/c", page)), ["id-0", "id-1"]);
  assert.deepEqual(idsOf(await server.post("/main/range/", page)), ["id-0", "id-1", "id-2"]);
  assert.deepEqual(await server.post("/range/nowhere", page), { nextCursor: "", vectors: [] });
  assert.deepEqual(await server.post("/list-namespaces"), ["", "a b/c"]);
});

test("B1.order: an update keeps the position of a record, a delete does not", async () => {
  await using server = await startVectorServer();
  await fill(server, 4);
  await server.post("/update", { id: "id-1", metadata: { new: true } });
  await server.post("/delete", { ids: ["id-2"] });
  assert.deepEqual(idsOf(await server.post("/range", { cursor: "0", limit: 10 })), ["id-0", "id-1", "id-3"]);
});

test("B1.cursor, B1.offset: deletes between two pages skip no record of the next page; an offset counts existing records", async () => {
  await using server = await startVectorServer();
  await fill(server, 6);
  const { nextCursor } = (await server.post("/range", { cursor: "0", limit: 2 })) as { nextCursor: string };
  await server.post("/delete", { ids: ["id-0", "id-3"] });
  const next = await server.post("/range", { cursor: nextCursor, limit: 2 });
  assert.deepEqual(next, { nextCursor: "p1.0.5", vectors: [{ id: "id-2" }, { id: "id-4" }] });
  assert.deepEqual(idsOf(await server.post("/range", { cursor: "2", limit: 2 })), ["id-4", "id-5"]);
  assert.deepEqual(idsOf(await server.post("/range", { cursor: 2, limit: 2 })), ["id-4", "id-5"]);
});

test("B1.foreign: a cursor of another namespace is refused", async () => {
  await using server = await startVectorServer();
  await fill(server, 3);
  await fill(server, 3, "/upsert/ns");
  const { nextCursor } = (await server.post("/range/ns", { limit: 1 })) as { nextCursor: string };
  assert.deepEqual(await server.refusal("/range", { cursor: nextCursor, limit: 1 }), [
    422,
    'cursor belongs to the namespace "ns", not to "": begin with "0"',
  ]);
});

test("B1: the cursor may be a number, empty or missing; an invalid one is named", async () => {
  await using server = await startVectorServer();
  await fill(server, 3);
  assert.deepEqual(idsOf(await server.post("/range", { limit: 1 })), ["id-0"]);
  for (const cursor of [0, "", "0", null]) {
    assert.deepEqual(idsOf(await server.post("/range", { cursor, limit: 1 })), ["id-0"]);
  }
  for (const [body, status, field] of [
    [{}, 422, /^limit is missing/],
    [{ cursor: true, limit: 1 }, 422, /^cursor must be/],
    [{ cursor: "p1.0", limit: 1 }, 422, /^cursor must be/],
    [{ cursor: "0" }, 422, /^limit is missing/],
    [{ cursor: "x", limit: 1 }, 422, /^cursor must be/],
    [{ cursor: -1, limit: 1 }, 422, /^cursor must be/],
    [{ cursor: "0", limit: 0 }, 422, /^limit must be/],
    [{ cursor: "0", limit: 1_001 }, 422, /^limit must be/],
    [{ cursor: "0", limit: "1" }, 422, /^limit must be/],
    [{ cursor: "0", limit: 1, prefix: 1 }, 422, /^prefix must be/],
    [{ cursor: "0", limit: 1, includeData: "yes" }, 422, /^includeData must be/],
    [{ cursor: "0", limit: 1, namespace: "a" }, 422, /^namespace is not allowed here: put it into the path/],
    ["{", 400, /JSON/],
    ["", 400, /empty/],
  ] as const) {
    const [given, error] = await server.refusal("/range", body);
    assert.equal(given, status, JSON.stringify(body));
    assert.match(error, field);
  }
});
