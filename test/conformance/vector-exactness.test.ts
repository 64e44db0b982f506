/** Stored values come back exactly as written, also after a restart (B.exact). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer, type VectorServer } from "../harness/vector-server.ts";

const EVERYTHING = { includeMetadata: true, includeVectors: true, includeData: true };

/** The answer as text. */
async function textOf(server: VectorServer, target: string, body: unknown): Promise<string> {
  const { status, text } = await server.send(`POST ${target}`, { body });
  assert.equal(status, 200, text);
  return text;
}

test("B.exact, B.record.id: numeric ids are distinguished to the last digit, in every place for an id", async () => {
  await using server = await startVectorServer();
  const [one, other] = ["1152921504606846977", "1152921504606846978"];
  await server.post("/upsert", `[{"id":${one},"vector":[1,0]},{"id":${other},"vector":[0,1]}]`);
  assert.deepEqual(await server.post("/fetch", `{"ids":[${one},${other},1152921504606846979]}`), [
    { id: one },
    { id: other },
    null,
  ]);
  assert.deepEqual(await server.post("/update", `{"id":${other},"data":"changed"}`), { updated: 1 });
  assert.deepEqual(await server.post("/delete", `{"ids":${one}}`), { deleted: 1 });
  assert.deepEqual(await server.post("/range", { cursor: "0", limit: 5, includeData: true }), {
    nextCursor: "",
    vectors: [{ id: other, data: "changed" }],
  });
  assert.deepEqual(await server.post("/delete", `[${other}]`), { deleted: 1 });
});

test("two ids that are invalid Unicode do not become one record", async () => {
  await using server = await startVectorServer();
  for (const id of ['"\\ud800"', '"\\ud801"']) {
    const [status, error] = await server.refusal("/upsert", `[{"id":"a","vector":[1,0]},{"id":${id},"vector":[1,0]}]`);
    assert.equal(status, 422);
    assert.match(error, /^vectors\[1\]\.id has a lone surrogate/);
  }
  assert.deepEqual(await server.post("/range", { cursor: "0", limit: 5 }), { nextCursor: "", vectors: [] });
});

test("B.exact, B.numbers, B.record.vector: numbers in metadata and the sign of zero come back as they were written, from every route", async () => {
  await using server = await startVectorServer({ type: "HYBRID", dimension: 2, similarity: "EUCLIDEAN" });
  const metadata = '{"big":12345678901234567890,"odd":9007199254740993,"float":1.0,"zero":-0,"list":[1e2,0.10]}';
  const vectors = '"vector":[-0,5],"sparseVector":{"indices":[3,-1],"values":[5,-0.0]}';
  const printed = '"vector":[-0.0,5.0],"sparseVector":{"indices":[3,-1],"values":[5.0,-0.0]}';
  await server.post("/upsert", `{"id":"a",${vectors},"metadata":${metadata}}`);
  const record = `{"id":"a",${printed},"metadata":${metadata}}`;
  const scored = `{"id":"a","score":1.0,${printed},"metadata":${metadata}}`;
  assert.equal(await textOf(server, "/fetch", { ids: ["a"], ...EVERYTHING }), `{"result":[${record}]}`);
  assert.equal(await textOf(server, "/fetch", { prefix: "a", ...EVERYTHING }), `{"result":[${record}]}`);
  assert.equal(
    await textOf(server, "/range", { cursor: "0", limit: 1, ...EVERYTHING }),
    `{"result":{"nextCursor":"","vectors":[${record}]}}`,
  );
  assert.equal(await textOf(server, "/random", {}), `{"result":{"id":"a",${printed}}}`);
  const query = { vector: [0, 5], ...EVERYTHING };
  assert.equal(await textOf(server, "/query", query), `{"result":[${scored}]}`);
  assert.equal(await textOf(server, "/resumable-query", query), `{"result":{"uuid":"handle-1","scores":[${scored}]}}`);
});

test("a patch keeps the spelling of untouched fields, and filters compare the numbers", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", '{"id":"a","vector":[1,0],"metadata":{"big":12345678901234567890,"float":1.0}}');
  await server.post("/update", '{"id":"a","metadata":{"new":2.50},"metadataUpdateMode":"PATCH"}');
  const metadata = '{"big":12345678901234567890,"float":1.0,"new":2.50}';
  assert.equal(
    await textOf(server, "/fetch", { ids: ["a"], includeMetadata: true }),
    `{"result":[{"id":"a","metadata":${metadata}}]}`,
  );
  for (const filter of [
    "float = 1",
    "new = 2.5",
    "big > 12345678901234560000",
    "new IN (2.5)",
    "big = 12345678901234567890",
  ]) {
    const body = { vector: [1, 0], filter };
    assert.equal(await textOf(server, "/query", body), '{"result":[{"id":"a","score":1.0}]}', filter);
  }
});

test("A-21, B.exact: names in metadata do not depend on names that others wrote at the same place", async () => {
  await using server = await startVectorServer();
  // V8 expects the name of an earlier object that began in the same way, and would read the other as this one.
  const pairs = [
    ["\\\\", '\\"'],
    ["\\\\", "\\n"],
    ["\\\\u", "\\u001f!"],
    ["a\\\\", 'a\\"'],
    ['x\\"\\\\', 'x\\"\\"'],
  ];
  for (const [at, [earlier, name]] of pairs.entries()) {
    const other = `{"id":"b","vector":[1,0],"metadata":{"at ${at}":1,"${earlier}":2}}`;
    await server.post("/upsert/other", `[${other},${other},${other}]`);
    const metadata = `{"at ${at}":1,"${name}":2}`;
    await server.post("/upsert", `{"id":"a","vector":[1,0],"metadata":${metadata}}`);
    const fetched = { ids: ["a"], includeMetadata: true };
    assert.equal(await textOf(server, "/fetch", fetched), `{"result":[{"id":"a","metadata":${metadata}}]}`);
    // A merge parses the record and the patch, with the spelling of numbers.
    await server.post("/update/other", `{"id":"b","metadata":{"c":1.0},"metadataUpdateMode":"PATCH"}`);
    await server.post("/update", `{"id":"a","metadata":{"c":1.0},"metadataUpdateMode":"PATCH"}`);
    const merged = `{"at ${at}":1,"${name}":2,"c":1.0}`;
    assert.equal(await textOf(server, "/fetch", fetched), `{"result":[{"id":"a","metadata":${merged}}]}`);
  }
});

test("the journal and the snapshot have stored values to the last digit", async () => {
  await using server = await startVectorServer({ type: "HYBRID", dimension: 2 });
  const metadata = '{"a":9007199254740993,"b":1.0,"c":-0}';
  const vectors = '"vector":[-0,5],"sparseVector":{"indices":[3],"values":[-0]}';
  await server.post("/upsert", `{"id":1152921504606846977,${vectors},"metadata":${metadata}}`);
  const printed = '"vector":[-0.0,5.0],"sparseVector":{"indices":[3],"values":[-0.0]}';
  const wanted = `{"result":[{"id":"1152921504606846977",${printed},"metadata":${metadata}}]}`;
  for (const frames of [server.journal.frames, Array.from(server.engine.dump(), (frame) => Buffer.from(frame))]) {
    await using other = await startVectorServer({ type: "HYBRID", dimension: 2 }, {}, frames);
    assert.equal(await textOf(other, "/fetch", { prefix: "", ...EVERYTHING }), wanted);
  }
});

test("filters distinguish whole numbers to the last digit, with and without columns", async () => {
  await using server = await startVectorServer();
  const numbers = [
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "12345678901234567890",
    "-9007199254740993",
    "1e19",
    "7",
  ];
  const records = numbers.map((n) => `{"id":"${n}","vector":[1,0],"metadata":{"n":${n},"list":[${n},"x"]}}`);
  await server.post("/upsert", `[${records.join()}]`);
  const idsWith = async (filter: string): Promise<readonly string[]> => {
    const hits = (await server.post("/query", { vector: [1, 0], topK: 100, filter })) as { id: string }[];
    return hits.map(({ id }) => id);
  };
  const rows: [string, readonly string[]][] = [
    ["n = 9007199254740993", ["9007199254740993"]],
    ["n = 9007199254740992", ["9007199254740992"]],
    ["n = 9007199254740991", ["9007199254740991"]],
    ["n = -9007199254740993", ["-9007199254740993"]],
    ["n = 10000000000000000000", ["1e19"]],
    ["n = 1.2345678901234567890e19", []],
    ["n IN (9007199254740993, 7)", ["9007199254740993", "7"]],
    ["n NOT IN (9007199254740993, 7)", numbers.filter((n) => n !== "9007199254740993" && n !== "7")],
    ["n != 12345678901234567890", numbers.filter((n) => n !== "12345678901234567890")],
    ["n > 9007199254740992", ["9007199254740993", "12345678901234567890", "1e19"]],
    ["n >= 9007199254740992 AND n < 1e19", ["9007199254740992", "9007199254740993"]],
    ["n < 8", ["-9007199254740993", "7"]],
    ["n <= 9007199254740991", ["9007199254740991", "-9007199254740993", "7"]],
    ["list CONTAINS 9007199254740993", ["9007199254740993"]],
    [
      "list NOT CONTAINS 9007199254740993 AND n > 7",
      numbers.filter((n) => !["9007199254740993", "-9007199254740993", "7"].includes(n)),
    ],
  ];
  for (const [filter, ids] of rows) assert.deepEqual(await idsWith(filter), ids, filter);
  // Enough records that conditions are decided by columns.
  const many = Array.from(
    { length: 900 },
    (_, i) => `{"id":"m${i}","vector":[0,1],"metadata":{"n":"text ${i}","list":[]}}`,
  );
  await server.post("/upsert", `[${many.join()}]`);
  for (const [filter, ids] of rows) {
    // Strings are present and so not equal to a number; the same goes for lists without that number.
    const numbersOnly = (await idsWith(filter)).filter((id) => !id.startsWith("m"));
    assert.deepEqual(numbersOnly, ids, filter);
  }
  assert.deepEqual(await server.post("/delete", { filter: "n = 9007199254740993" }), { deleted: 1 });
  assert.deepEqual(await idsWith("n >= 9007199254740992"), ["9007199254740992", "12345678901234567890", "1e19"]);
});
