/** Full-text search over HTTP: the contract's example with its numbers, and the forms of all answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resp2Result, resp3Result } from "../../src/edge/resp/replies.ts";
import { READ_ONLY_TOKEN, startServer, type TestServer } from "../harness/server.ts";
import { startSession, testCaller } from "../harness/store-harness.ts";

const CREATE =
  "SEARCH.CREATE reef ON JSON PREFIX 1 reef: SCHEMA note TEXT depth F64 FAST zone KEYWORD taxon FACET".split(" ");
const documents: readonly string[] = [
  '{"note":"A pale octopus hides under coral","depth":12.5,"zone":"slope","taxon":"/mollusc/octopus"}',
  '{"note":"Coral, coral and more coral","depth":3,"zone":"flat","taxon":"/cnidaria/coral"}',
  '{"note":"The octopus watched the diver; the diver fled","depth":30,"zone":"slope","taxon":"/mollusc/octopus"}',
  '{"note":"Octopuses and squids","depth":200,"zone":"deep","taxon":"/mollusc"}',
  '{"note":"Sea grass","zone":"flat","taxon":"/plant/grass"}',
];

async function withReef(server: TestServer): Promise<(...words: readonly unknown[]) => Promise<unknown>> {
  const ask = async (...words: readonly unknown[]): Promise<unknown> => (await server.post("/", words)).json;
  assert.deepEqual(await ask(...CREATE), { result: 1 });
  for (const [number, document] of documents.entries()) await ask("JSON.SET", `reef:${number}`, "$", document);
  return ask;
}

/** Filters, and the numbers and scores of their hits in order. */
const filters: readonly (readonly [filter: string, hits: readonly (readonly [number: number, score: number])[]])[] = [
  [
    '{"note":{"$eq":"octopus"}}',
    [
      [3, 0.636667],
      [0, 0.488987],
      [2, 0.423497],
    ],
  ],
  [
    '{"note":{"$eq":"coral"}}',
    [
      [1, 1.363562],
      [0, 0.79424],
    ],
  ],
  ['{"note":{"$phrase":"pale octopus"}}', [[0, 1.746656]]],
  ['{"note":{"$phrase":{"value":"octopus coral","slop":2}}}', [[0, 1.283226]]],
  ['{"note":{"$phrase":{"value":"octopus coral","slop":1}}}', []],
  ['{"note":{"$phrase":{"value":"octopus pale","slop":2}}}', [[0, 1.746656]]],
  ['{"note":{"$fuzzy":"octopu diver"}}', [[2, 2]]],
  [
    '{"note":"octopus"}',
    [
      [3, 3.273334],
      [0, 2.977973],
      [2, 2.846994],
    ],
  ],
  [
    '{"note":{"$regex":"OCTO.*"}}',
    [
      [0, 1],
      [2, 1],
      [3, 1],
    ],
  ],
  [
    '{"zone":"slope","$should":{"note":{"$eq":"diver","$boost":2}}}',
    [
      [2, 4.210366],
      [0, 1],
    ],
  ],
  [
    '{"taxon":"/mollusc"}',
    [
      [0, 1],
      [2, 1],
      [3, 1],
    ],
  ],
  ['{"$mustNot":{"zone":"flat"}}', []],
  ["{}", documents.map((_, number) => [number, 1] as const)],
];

test("A.search, A.search.order: the filters of the contract find its hits, with its scores, in its order", async () => {
  await using server = await startServer();
  const ask = await withReef(server);
  for (const [filter, expected] of filters) {
    const { result } = (await ask("SEARCH.QUERY", "reef", filter, "NOCONTENT")) as { result: [string, string][] };
    assert.deepEqual(
      result.map(([key]) => key),
      expected.map(([number]) => `reef:${number}`),
      filter,
    );
    // The score of swapped neighbours depends on how often the phrase counts; the contract gives the document only.
    if (filter.includes("octopus pale")) continue;
    for (const [place, [, score]] of expected.entries())
      assert.ok(Math.abs(Number(result[place]?.[1]) - score) <= 1e-5, `${filter}: ${result[place]?.[1]} for ${score}`);
    assert.deepEqual(await ask("SEARCH.COUNT", "reef", filter), { result: expected.length }, filter);
  }
});

test("A.search.aggregate: the aggregations of the contract, in its form", async () => {
  await using server = await startServer();
  const ask = await withReef(server);
  const request = {
    z: { $terms: { field: "zone" }, $aggs: { d: { $avg: { field: "depth" } } } },
    r: { $range: { field: "depth", ranges: [{ from: 5, to: 50 }] } },
    h: { $histogram: { field: "depth", interval: 100 } },
    p: { $percentiles: { field: "depth", percents: [50, 99.9] } },
    f: { $facet: { field: "taxon", path: "/mollusc" } },
  };
  const { result } = (await ask("SEARCH.AGGREGATE", "reef", "{}", JSON.stringify(request))) as { result: unknown[] };
  const percentiles = result[7] as [string, string[]];
  assert.ok(Math.abs(Number(percentiles[1][3]) - 199.49) <= 1e-9);
  percentiles[1][3] = "199.49";
  const expected =
    '["z",["buckets",[["key","slope","docCount",2,"d",["value","21.25"]],["key","flat","docCount",2,"d",["value","3"]],["key","deep","docCount",1,"d",["value","200"]]],"sumOtherDocCount",0,"docCountErrorUpperBound",0],"r",["buckets",[["key","*-5","docCount",1,"to","5"],["key","5-50","docCount",2,"from","5","to","50"],["key","50-*","docCount",1,"from","50"]]],"h",["buckets",[["key",0,"docCount",3],["key",100,"docCount",0],["key",200,"docCount",1]]],"p",["values",["50.0","21.25","99.9","199.49"]],"f",["path","/mollusc","sumOtherDocCount",0,"children",[["path","/mollusc/octopus","docCount",2,"sumOtherDocCount",0]]]]';
  assert.equal(JSON.stringify(result), expected);
});

test("A.search.hit: keys, scores and contents have the forms of the contract", async () => {
  await using server = await startServer();
  const ask = await withReef(server);
  const coral = '{"note":{"$eq":"coral"}}';
  const highlight = ["HIGHLIGHT", "FIELDS", "1", "note", "TAGS", "[", "]", "SELECT", "2", "note", "depth"];
  assert.deepEqual(await ask("SEARCH.QUERY", "reef", coral, ...highlight), {
    result: [
      [
        "reef:1",
        "1.3635619",
        [
          ["note", "[Coral], [coral] and more [coral]"],
          ["depth", "3"],
        ],
      ],
      [
        "reef:0",
        "0.7942397",
        [
          ["note", "A pale octopus hides under [coral]"],
          ["depth", "12.5"],
        ],
      ],
    ],
  });
  assert.deepEqual(await ask("SEARCH.QUERY", "reef", '{"zone":"deep"}'), {
    result: [["reef:3", "1", [["$", documents[3]]]]],
  });
  const ordered = ["SEARCH.QUERY", "reef", "{}", "ORDERBY", "depth", "DESC", "NOCONTENT"];
  assert.deepEqual(await ask(...ordered), {
    result: [
      ["reef:3", "200"],
      ["reef:2", "30"],
      ["reef:0", "12.5"],
      ["reef:1", "3"],
      ["reef:4", "0"],
    ],
  });
  const encoded = await server.post("/", ["SEARCH.QUERY", "reef", '{"zone":"deep"}', "NOCONTENT"], {
    headers: { "upstash-encoding": "base64" },
  });
  assert.deepEqual(encoded.json, { result: [[btoa("reef:3"), btoa("1")]] });
});

test("A.search.missing: without the index the answer is null, -1 or 0, whatever the filter", async () => {
  await using server = await startServer();
  const ask = await withReef(server);
  await ask("SEARCH.ALIASADD", "dangling", "none");
  for (const name of ["none", "dangling"]) {
    for (const filter of ["{}", "nonsense"]) {
      assert.deepEqual(await ask("SEARCH.QUERY", name, filter), { result: null });
      assert.deepEqual(await ask("SEARCH.COUNT", name, filter), { result: -1 });
      assert.deepEqual(await ask("SEARCH.AGGREGATE", name, filter, "{}"), { result: null });
    }
    assert.deepEqual(await ask("SEARCH.DESCRIBE", name), { result: null });
    for (const command of ["WAITINDEXING", "REINDEX", "DROP"])
      assert.deepEqual(await ask(`SEARCH.${command}`, name), { result: 0 });
  }
  assert.deepEqual(await ask("SEARCH.QUERY", "reef", '{"zone":"none"}'), { result: [] });
  assert.deepEqual(await ask("SEARCH.COUNT", "reef", '{"zone":"none"}'), { result: 0 });
});

test("A.search.create, A.search.alias, A.search.keys: definitions, aliases and the keys of indexes", async () => {
  await using server = await startServer();
  const ask = await withReef(server);
  assert.deepEqual(await ask(...CREATE), { error: "ERR Index reef already exists" });
  assert.deepEqual(await ask(...CREATE.with(2, "EXISTSOK"), "x"), {
    error: "ERR syntax error: the options are ON, PREFIX, LANGUAGE, SKIPINITIALSCAN and EXISTSOK, and then SCHEMA",
  });
  assert.deepEqual(await ask("SEARCH.CREATE", "reef", "EXISTSOK", ...CREATE.slice(2)), { result: 0 });
  assert.deepEqual(await ask("SEARCH.ALIASADD", "sea", "reef"), { result: 1 });
  assert.deepEqual(await ask("SEARCH.ALIASADD", "sea", "reef"), { result: 2 });
  assert.deepEqual(await ask("SEARCH.LISTALIASES"), { result: [["sea", "reef"]] });
  assert.deepEqual(await ask("SEARCH.LISTINDEXES"), { result: [["name", "reef", "type", "JSON"]] });
  assert.deepEqual(await ask("TYPE", "reef"), { result: "search" });
  assert.deepEqual(await ask("SET", "reef", "x"), {
    error: "WRONGTYPE Operation against a key holding the wrong kind of value",
  });
  assert.deepEqual(await ask("DEL", "reef"), { result: 1 });
  assert.deepEqual(await ask("SEARCH.COUNT", "sea", "{}"), { result: -1 });
  await ask(...CREATE);
  assert.deepEqual(await ask("SEARCH.COUNT", "sea", "{}"), { result: 5 });
  await ask("FLUSHDB");
  assert.deepEqual(await ask("SEARCH.LISTALIASES"), { result: [] });
});

test("A.search.units: pipelines and transactions take searches", async () => {
  await using server = await startServer();
  await withReef(server);
  const count = ["SEARCH.COUNT", "reef", '{"zone":"slope"}'];
  const commands = [["JSON.SET", "reef:9", "$", '{"zone":"slope"}'], count, ["DEL", "reef:9"], count];
  const answers = [{ result: "OK" }, { result: 3 }, { result: 1 }, { result: 2 }];
  for (const path of ["/pipeline", "/multi-exec"]) assert.deepEqual((await server.post(path, commands)).json, answers);
  const query = ["SEARCH.QUERY", "reef", "{}", "LIMIT", "1"];
  const units = [query, [...query, "NOCONTENT"], ["SEARCH.WAITINDEXING", "reef"], ["SEARCH.REINDEX", "reef"]];
  const waits = { error: "ERR SEARCH.WAITINDEXING and SEARCH.REINDEX cannot be used in transactions and scripts" };
  assert.deepEqual((await server.post("/multi-exec", units)).json, [
    { error: "ERR SEARCH.QUERY needs NOCONTENT in a transaction, a script or a function" },
    { result: [["reef:0", "1"]] },
    waits,
    waits,
  ]);
});

test("A.search.rights: the read-only token searches, and changes nothing", async () => {
  await using server = await startServer();
  await withReef(server);
  const token = READ_ONLY_TOKEN;
  const ask = async (...words: readonly string[]): Promise<unknown> => (await server.post("/", words, { token })).json;
  assert.deepEqual(await ask("SEARCH.COUNT", "reef", "{}"), { result: 5 });
  assert.deepEqual(await ask("SEARCH.QUERY", "reef", "{}", "LIMIT", "1", "NOCONTENT"), { result: [["reef:0", "1"]] });
  assert.deepEqual(await ask("SEARCH.WAITINDEXING", "reef"), { result: 1 });
  for (const words of [CREATE, ["SEARCH.DROP", "reef"], ["SEARCH.REINDEX", "reef"], ["SEARCH.ALIASADD", "a", "reef"]])
    assert.match(JSON.stringify(await ask(...words)), /NOPERM/, words.join(" "));
});

test("A.search.hit: over RESP scores are strings in RESP2 and doubles in RESP3, objects flat arrays and maps", () => {
  const { database, call } = startSession();
  call(...CREATE);
  for (const [number, document] of documents.entries()) call("JSON.SET", `reef:${number}`, "$", document);
  const ask = (...words: readonly string[]) => database.execute(testCaller, words);
  const hits = ask("SEARCH.QUERY", "reef", '{"zone":"deep"}', "NOCONTENT");
  assert.equal(resp2Result(hits, 1_000), "*1\r\n*2\r\n$6\r\nreef:3\r\n$1\r\n1\r\n");
  assert.equal(resp3Result(hits, 1_000), "*1\r\n*2\r\n$6\r\nreef:3\r\n,1\r\n");
  const listed = ask("SEARCH.LISTINDEXES");
  const words = "$4\r\nname\r\n$4\r\nreef\r\n$4\r\ntype\r\n$4\r\nJSON\r\n";
  assert.equal(resp2Result(listed, 1_000), `*1\r\n*4\r\n${words}`);
  assert.equal(resp3Result(listed, 1_000), `*1\r\n%2\r\n${words}`);
  const missing = ask("SEARCH.QUERY", "none", "{}");
  assert.equal(resp2Result(missing, 1_000), "*-1\r\n");
  assert.equal(resp3Result(missing, 1_000), "_\r\n");
});
