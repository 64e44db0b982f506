/** Replies of searches, letter by letter: over HTTP with and without base64, in RESP2 and in RESP3. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resp3Result } from "../../src/edge/resp/replies.ts";
import { startServer, type TestServer } from "../harness/server.ts";
import { splitLine, testCaller } from "../harness/store-harness.ts";

const BYTES_MAX = 1_000_000;

interface Row {
  readonly line: string;
  /** The value of `result`. */
  readonly http: unknown;
  /** With \r\n as spaces. */
  readonly resp2: string;
  readonly resp3: string;
}

const before: readonly string[] = [
  "SEARCH.CREATE i ON JSON PREFIX 1 j: SCHEMA n F64 FAST o.word KEYWORD u U64 FAST",
  "SEARCH.CREATE all ON HASH PREFIX 1 '' SCHEMA name KEYWORD 42 U64 FAST",
  "SEARCH.CREATE s ON STRING PREFIX 1 s: SCHEMA 'q\"é' TEXT",
  'JSON.SET j:1 $ \'{"n":29.50,"o":{"word":"é \\"q\\"","list":[1,{}]},"u":18446744073709551615,"yes":true,"nil":null}\'',
  "HSET 1 name one 42 7 12.0 x",
  'SET s:é \'{ "q\\"é" : "Été" }\'',
  "SEARCH.ALIASADD 7 i",
];

const rows: readonly Row[] = [
  { line: "SEARCH.QUERY none {}", http: null, resp2: "*-1 ", resp3: "_ " },
  { line: "SEARCH.AGGREGATE none {} {}", http: null, resp2: "*-1 ", resp3: "_ " },
  { line: "SEARCH.DESCRIBE none", http: null, resp2: "*-1 ", resp3: "_ " },
  { line: "SEARCH.COUNT none {}", http: -1, resp2: ":-1 ", resp3: ":-1 " },
  { line: "SEARCH.WAITINDEXING none", http: 0, resp2: ":0 ", resp3: ":0 " },
  { line: "SEARCH.DROP none", http: 0, resp2: ":0 ", resp3: ":0 " },
  { line: 'SEARCH.QUERY i \'{"o.word":"none"}\'', http: [], resp2: "*0 ", resp3: "*0 " },
  {
    line: "SEARCH.QUERY 7 {} NOCONTENT",
    http: [["j:1", "1"]],
    resp2: "*1 *2 $3 j:1 $1 1 ",
    resp3: "*1 *2 $3 j:1 ,1 ",
  },
  {
    line: "SEARCH.QUERY i {} ORDERBY n ASC SELECT 7 o.word n o.list u yes nil o.none",
    http: [
      [
        "j:1",
        "29.5",
        [
          ["o.word", 'é "q"'],
          ["n", "29.5"],
          ["o.list", "[1,{}]"],
          ["u", "18446744073709551615"],
          ["yes", "true"],
          ["nil", "null"],
        ],
      ],
    ],
    resp2:
      '*1 *3 $3 j:1 $4 29.5 *6 *2 $6 o.word $6 é "q" *2 $1 n $4 29.5 *2 $6 o.list $6 [1,{}] *2 $1 u $20 18446744073709551615 *2 $3 yes $4 true *2 $3 nil $4 null ',
    resp3:
      '*1 *3 $3 j:1 ,29.5 *6 *2 $6 o.word $6 é "q" *2 $1 n $4 29.5 *2 $6 o.list $6 [1,{}] *2 $1 u $20 18446744073709551615 *2 $3 yes $4 true *2 $3 nil $4 null ',
  },
  {
    line: "SEARCH.QUERY s {}",
    http: [["s:é", "1", [["$", '{ "q\\"é" : "Été" }']]]],
    resp2: '*1 *3 $4 s:é $1 1 *1 *2 $1 $ $21 { "q\\"é" : "Été" } ',
    resp3: '*1 *3 $4 s:é ,1 *1 *2 $1 $ $21 { "q\\"é" : "Été" } ',
  },
  {
    line: "SEARCH.QUERY all {}",
    http: [
      [
        "1",
        "1",
        [
          ["name", "one"],
          ["42", "7"],
          ["12.0", "x"],
        ],
      ],
    ],
    resp2: "*1 *3 $1 1 $1 1 *3 *2 $4 name $3 one *2 $2 42 $1 7 *2 $4 12.0 $1 x ",
    resp3: "*1 *3 $1 1 ,1 *3 *2 $4 name $3 one *2 $2 42 $1 7 *2 $4 12.0 $1 x ",
  },
  {
    line: 'SEARCH.AGGREGATE i {} \'{"p":{"$percentiles":{"field":"n","percents":[50,99.9]}},"5":{"$max":{"field":"u"}},"t":{"$terms":{"field":"u"}}}\'',
    http: [
      "p",
      ["values", ["50.0", "29.5", "99.9", "29.5"]],
      "5",
      ["value", "18446744073709551615"],
      "t",
      [
        "buckets",
        [["key", "18446744073709551615", "docCount", 1]],
        "sumOtherDocCount",
        0,
        "docCountErrorUpperBound",
        0,
      ],
    ],
    resp2:
      "*6 $1 p *2 $6 values *4 $4 50.0 $4 29.5 $4 99.9 $4 29.5 $1 5 *2 $5 value $20 18446744073709551615 $1 t *6 $7 buckets *1 *4 $3 key $20 18446744073709551615 $8 docCount :1 $16 sumOtherDocCount :0 $23 docCountErrorUpperBound :0 ",
    resp3:
      "%3 $1 p %1 $6 values %2 $4 50.0 $4 29.5 $4 99.9 $4 29.5 $1 5 %1 $5 value $20 18446744073709551615 $1 t %3 $7 buckets *1 %2 $3 key $20 18446744073709551615 $8 docCount :1 $16 sumOtherDocCount :0 $23 docCountErrorUpperBound :0 ",
  },
  {
    line: 'SEARCH.AGGREGATE i \'{"o.word":"none"}\' \'{"a":{"$avg":{"field":"n"}},"t":{"$terms":{"field":"n"}}}\'',
    http: ["a", ["value", null], "t", ["buckets", [], "sumOtherDocCount", 0, "docCountErrorUpperBound", 0]],
    resp2: "*4 $1 a *2 $5 value $-1 $1 t *6 $7 buckets *0 $16 sumOtherDocCount :0 $23 docCountErrorUpperBound :0 ",
    resp3: "%2 $1 a %1 $5 value _ $1 t %3 $7 buckets *0 $16 sumOtherDocCount :0 $23 docCountErrorUpperBound :0 ",
  },
  { line: "SEARCH.AGGREGATE i {} {}", http: [], resp2: "*0 ", resp3: "%0 " },
  { line: "SEARCH.LISTALIASES", http: [["7", "i"]], resp2: "*1 *2 $1 7 $1 i ", resp3: "*1 *2 $1 7 $1 i " },
  {
    line: "SEARCH.LISTINDEXES LIMIT 1 OFFSET 1",
    http: [["name", "i", "type", "JSON"]],
    resp2: "*1 *4 $4 name $1 i $4 type $4 JSON ",
    resp3: "*1 %2 $4 name $1 i $4 type $4 JSON ",
  },
];

async function startWithIndexes(): Promise<TestServer> {
  const server = await startServer();
  for (const line of before) {
    const { status, text } = await server.post("/", wordsOf(line));
    assert.equal(status, 200, `${line}: ${text}`);
  }
  return server;
}

/** The words as text; `splitLine` reads bytes. */
function wordsOf(line: string): string[] {
  return splitLine(Buffer.from(line).latin1Slice()).map((word) => Buffer.from(word, "latin1").toString());
}

function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded);
  return typeof value === "string" ? Buffer.from(value, "base64").toString() : value;
}

const onOneLine = (text: string): string => text.replaceAll("\r\n", " ");

test("replies over HTTP are texts, integers, arrays and null, with and without base64", async () => {
  await using server = await startWithIndexes();
  for (const { line, http } of rows) {
    const words = wordsOf(line);
    assert.deepEqual((await server.post("/", words)).json, { result: http }, line);
    const { json } = await server.post("/", words, { headers: { "upstash-encoding": "base64" } });
    assert.deepEqual(decoded((json as { result: unknown }).result), http, `${line} in base64`);
    assert.deepEqual((await server.post("/pipeline", [words, words])).json, [{ result: http }, { result: http }], line);
  }
});

test("replies in RESP2 are flat, with scores as texts", async () => {
  await using server = await startWithIndexes();
  for (const { line, resp2 } of rows) {
    const { text } = await server.post("/", wordsOf(line), { headers: { "upstash-response-format": "resp2" } });
    assert.equal(onOneLine(text), resp2, line);
  }
});

test("replies in RESP3 have maps, and scores are doubles", async () => {
  await using server = await startWithIndexes();
  const database = server.store.database("main");
  for (const { line, resp3 } of rows) {
    const reply = database.execute(testCaller, splitLine(Buffer.from(line).latin1Slice()));
    const text = Buffer.from(resp3Result(reply, BYTES_MAX), "latin1").toString();
    assert.equal(onOneLine(text), resp3, line);
  }
});

test("a wrong filter is answered with status 400, and names the field", async () => {
  await using server = await startWithIndexes();
  const { status, json } = await server.post("/", ["SEARCH.COUNT", "i", '{"no\\"ne":1}']);
  assert.deepEqual([status, json], [400, { error: 'ERR Unknown field: no"ne' }]);
  const object = await server.post("/", ["SEARCH.COUNT", "i", { n: 1 }]);
  assert.equal(object.status, 400);
});
