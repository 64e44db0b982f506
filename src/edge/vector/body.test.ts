import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultVectorLimits, type VectorLimits } from "../../vector/mod.ts";
import { RequestFailure } from "../errors.ts";
import {
  readDataQueries,
  readDelete,
  readFetch,
  readQueries,
  readRange,
  readRename,
  readResumableDataQuery,
  readResumableEnd,
  readResumableNext,
  readResumableQuery,
  readUpdate,
  readUpsert,
  readUpsertData,
} from "./body.ts";

const limits = defaultVectorLimits;
/** Small limits, which a test can exceed. */
const tight: VectorLimits = {
  ...limits,
  topKMax: 5,
  effortMax: 200,
  readsPerRequestMax: 2,
  writesPerRequestMax: 3,
  metadataBytesMax: 16,
  dataBytesMax: 8,
  sparseValuesMax: 2,
  idBytesMax: 4,
  namespaceBytesMax: 4,
};

type Read = (body: Buffer, limits: VectorLimits) => unknown;

/** Kind and text of the thrown failure. */
function refusal(read: Read, text: string | Buffer, bodyLimits: VectorLimits = limits): string {
  try {
    read(typeof text === "string" ? Buffer.from(text) : text, bodyLimits);
  } catch (thrown) {
    assert.ok(thrown instanceof RequestFailure, String(thrown));
    return `${thrown.kind}: ${thrown.text}`;
  }
  return "accepted";
}

function read<Value>(reader: (body: Buffer, limits: VectorLimits) => Value, text: string, bodyLimits = limits): Value {
  return reader(Buffer.from(text), bodyLimits);
}

const nothing = { vector: undefined, sparseVector: undefined, metadata: undefined, data: undefined };

test("B.upsert: an upsert is an object or a list of objects", () => {
  assert.deepEqual(read(readUpsert, '{"id":"a","vector":[1,0.5]}'), [
    { ...nothing, id: "a", vector: Float32Array.of(1, 0.5) },
  ]);
  assert.deepEqual(
    read(
      readUpsert,
      ' [ {"id":"a"}, { "data":"t\\u00e9xt", "sparseVector":{"values":[0.5, 0.25],"indices":[7,-7]}, "id":33, "metadata":{ "k": [ 1.0, "é" ] } } ] ',
    ),
    [
      { ...nothing, id: "a" },
      {
        ...nothing,
        id: "33",
        sparseVector: { indices: Int32Array.of(7, -7), values: Float32Array.of(0.5, 0.25) },
        metadata: '{"k":[1.0,"é"]}',
        data: "téxt",
      },
    ],
  );
  assert.deepEqual(read(readUpsert, "[]"), []);
});

test("B.fields: null is absent, unknown members are ignored, and the last of several members with one name counts", () => {
  const rows: [string, object][] = [
    ['{"id":"a","vector":null,"sparseVector":null,"metadata":null,"data":null,"namespace":null}', nothing],
    ['{"id":"a","namespace":"","values":[1],"indices":"x","other":{"id":"b"},"":[],"i":1}', nothing],
    ['{"id":"b","vector":[1,2],"vector":"x","vector":[3],"id":"a"}', { ...nothing, vector: Float32Array.of(3) }],
    ['{"id":"a","vector":[1e39],"vector":null}', nothing],
    ['{"\\u0069\\u0064":"a","d\\u0061ta":"x"}', { ...nothing, data: "x" }],
  ];
  for (const [text, rest] of rows) assert.deepEqual(read(readUpsert, text), [{ ...rest, id: "a" }], text);
});

test("B-01: refuses a record with a text that names the field", () => {
  const rows: [string, string][] = [
    ["{}", "unprocessable: id is missing"],
    ['[{"id":"a"},{"vector":[1]}]', "unprocessable: vectors[1].id is missing"],
    ['{"id":null}', "unprocessable: id is missing"],
    ['{"id":true}', "unprocessable: id must be a string or a number"],
    ['[{"id":["a"]}]', "unprocessable: vectors[0].id must be a string or a number"],
    ['{"id":1e400}', "unprocessable: id must be a string or a number"],
    ['{"id":"a","vector":"x"}', "unprocessable: vector must be a list of numbers"],
    ['{"id":"a","vector":{}}', "unprocessable: vector must be a list of numbers"],
    ['{"id":"a","vector":[1,"2"]}', "unprocessable: vector[1] must be a number"],
    ['{"id":"a","vector":[1,[2]]}', "unprocessable: vector[1] must be a number"],
    [
      '[{"id":"a","vector":[1e39]}]',
      "unprocessable: vectors[0].vector[0] must be a number within the range of float32",
    ],
    ['{"id":"a","vector":[0,1e400]}', "unprocessable: vector[1] must be a number within the range of float32"],
    ['{"id":"a","sparseVector":[]}', "unprocessable: sparseVector must be an object of indices and values"],
    ['{"id":"a","sparseVector":{"values":[1]}}', "unprocessable: sparseVector.indices is missing"],
    ['{"id":"a","sparseVector":{"indices":[1]}}', "unprocessable: sparseVector.values is missing"],
    [
      '{"id":"a","sparseVector":{"indices":7,"values":[]}}',
      "unprocessable: sparseVector.indices must be a list of whole numbers",
    ],
    [
      '{"id":"a","sparseVector":{"indices":[2147483648],"values":[1]}}',
      "unprocessable: sparseVector.indices[0] must be a whole number of 32 bits with sign",
    ],
    [
      '[{"id":"a","sparseVector":{"indices":[1],"values":[1,2]}}]',
      "unprocessable: vectors[0].sparseVector has 1 indices and 2 values; each index needs one value",
    ],
    ['{"id":"a","metadata":[]}', "unprocessable: metadata must be an object"],
    ['{"id":"a","metadata":"{}"}', "unprocessable: metadata must be an object"],
    [
      '{"id":"a","metadata":{"n":-1e400}}',
      "unprocessable: metadata must be made of numbers within the range of float64",
    ],
    [
      `{"id":"a","metadata":${'{"a":'.repeat(64)}[]${"}".repeat(64)}}`,
      "unprocessable: metadata must be nested 64 levels deep at most",
    ],
    ['{"id":"a","data":5}', "unprocessable: data must be a string"],
    [
      '{"id":"a","namespace":"ns"}',
      "unprocessable: namespace is not allowed here: put it into the path, after the command",
    ],
    [
      '[{"id":"a","namespace":5}]',
      "unprocessable: vectors[0].namespace is not allowed here: put it into the path, after the command",
    ],
    ['[{"id":"a"},[]]', "unprocessable: vectors[1] must be an object"],
    ['["a"]', "unprocessable: vectors[0] must be an object"],
    ["5", "unprocessable: The body must be an object or a list of objects"],
    ["null", "unprocessable: The body must be an object or a list of objects"],
  ];
  for (const [text, expected] of rows) assert.equal(refusal(readUpsert, text), expected, text);
});

test("B.record.id, B.record.sparse-vector, B.record.metadata, B.record.data, B.limits: refuses only values beyond each limit of a record", () => {
  const rows: [string, string][] = [
    ['{"id":"éé"}', "accepted"],
    ['{"id":"ééa"}', "unprocessable: id has 5 bytes. Limit: 4 bytes"],
    ['{"id":"a","data":"12345678"}', "accepted"],
    ['{"id":"a","data":"1234567é"}', "unprocessable: data has 9 bytes. Limit: 8 bytes"],
    ['{"id":"a","metadata":{"a":"\\u0062234567"   ,  "b":1}}', "unprocessable: metadata has 21 bytes. Limit: 16 bytes"],
    ['{"id":"a","metadata": { "a" : "\\u00622345678" } }', "accepted"],
    ['{"id":"a","metadata":{"a":"123456789"}}', "unprocessable: metadata has 17 bytes. Limit: 16 bytes"],
    [`{"id":"a","metadata":{"a":1.${"0".repeat(200)}}}`, "unprocessable: metadata has 208 bytes. Limit: 16 bytes"],
    ['{"id":"a","sparseVector":{"indices":[1,1],"values":[1,1]}}', "accepted"],
    [
      '{"id":"a","sparseVector":{"indices":[1,1,1],"values":[1,1]}}',
      "unprocessable: sparseVector.indices has more than 2 values",
    ],
    [
      '{"id":"a","sparseVector":{"indices":[1],"values":[1,1,1]}}',
      "unprocessable: sparseVector.values has more than 2 values",
    ],
    ['[{"id":1},{"id":2},{"id":3}]', "accepted"],
    ['[{"id":1},{"id":2},{"id":3},{"id":4}]', "unprocessable: The body has more than 3 elements"],
  ];
  for (const [text, expected] of rows) assert.equal(refusal(readUpsert, text, tight), expected, text);
  const vector = `[${"1,".repeat(65_536)}1]`;
  assert.equal(
    refusal(readUpsert, `{"id":"a","vector":${vector}}`),
    "unprocessable: vector has more than 65536 values",
  );
});

test("B.errors.400: invalid JSON is a bad request, before any other error", () => {
  const rows: [string | Buffer, string][] = [
    ["", "bad request: The body is empty; send JSON"],
    [" ", "bad request: The body is not JSON: error at byte 1"],
    ["\ufeff{}", "bad request: The body is not JSON: error at byte 0"],
    ['{"id":"a"', "bad request: The body is not JSON: error at byte 9"],
    ['{"id":"a"}}', "bad request: The body is not JSON: error at byte 10"],
    ['{"id":"a",}', "bad request: The body is not JSON: error at byte 10"],
    ['[{"id":"a"},]', "bad request: The body is not JSON: error at byte 12"],
    ['[{"id":true},{"vector":[1e39]},{"x":tru}]', "bad request: The body is not JSON: error at byte 36"],
    ['{"vector":[1,]}', "bad request: The body is not JSON: error at byte 13"],
    ['{"vector":[1,"a",]}', "bad request: The body is not JSON: error at byte 17"],
    ['{"sparseVector":{"indices":[1}}', "bad request: The body is not JSON: error at byte 29"],
    ["{'id':'a'}", "bad request: The body is not JSON: error at byte 1"],
    ['{"i\nd":1}', "bad request: The body is not JSON: error at byte 3"],
    [`${"[".repeat(129)}${"]".repeat(129)}`, "bad request: The body is nested deeper than 128 levels"],
    [`{"x":${"[".repeat(128)}${"]".repeat(128)}}`, "bad request: The body is nested deeper than 128 levels"],
    [`[{"x":${'{"":'.repeat(1_000_000)}`, "bad request: The body is nested deeper than 128 levels"],
    [Buffer.from([0x22, 0xff, 0x22]), "bad request: The body is not UTF-8"],
  ];
  for (const [text, expected] of rows) assert.equal(refusal(readUpsert, text), expected, String(text).slice(0, 60));
  assert.equal(refusal(readDelete, "[1,2,3,4,5,]", tight), "bad request: The body is not JSON: error at byte 11");
  assert.equal(
    refusal(readFetch, '{"ids":[1,2,3,4,tru]}', tight),
    "bad request: The body is not JSON: error at byte 16",
  );
  assert.equal(refusal(readUpsert, `{"id":1,"x":${"[".repeat(127)}${"]".repeat(127)}}`), "accepted");
});

const surrogate = "has a lone surrogate (\\ud800 to \\udfff), which is not a character: send whole characters";

test("refuses a lone surrogate in any text, and names the field", () => {
  const rows: [Read, string, string][] = [
    [readUpsert, '{"id":"\\ud800"}', "id"],
    [readUpsert, '[{"id":"a"},{"id":"\\udc00b"}]', "vectors[1].id"],
    [readUpsert, '{"id":"a","data":"b\\ud83d"}', "data"],
    [readUpsert, '{"id":"a","metadata":{"a":[{"b":"\\uDFFF"}]}}', "metadata"],
    [readUpsert, '{"id":"a","metadata":{"\\ud800\\ud800":1}}', "metadata"],
    [readUpsert, '{"id":"a","metadata":{"n":1.0,"s":"\\ude00\\ud83d"}}', "metadata"],
    [readUpsertData, '{"id":"a","data":"\\ud800"}', "data"],
    [readUpdate, '{"id":"a","metadata":{"s":"\\ud800"},"metadataUpdateMode":"PATCH"}', "metadata"],
    [readFetch, '{"ids":["a","\\ud800"]}', "ids[1]"],
    [readFetch, '{"prefix":"\\ud800"}', "prefix"],
    [readDelete, '["\\ud800"]', "ids[0]"],
    [readDelete, '{"ids":"\\ud800"}', "ids"],
    [readDelete, '{"filter":"a = \'\\ud800\'"}', "filter"],
    [readRange, '{"cursor":"0","limit":1,"prefix":"\\ud800"}', "prefix"],
    [readQueries, '[{"vector":[1],"filter":"a = \'\\ud800\'"}]', "queries[0].filter"],
    [readDataQueries, '{"data":"\\ud800"}', "data"],
    [readRename, '{"namespace":"a","newNamespace":"\\ud800"}', "newNamespace"],
  ];
  for (const [reader, text, field] of rows)
    assert.equal(refusal(reader, text), `unprocessable: ${field} ${surrogate}`, text);
});

test("pairs of surrogates are characters, and an escaped backslash begins no escape", () => {
  const text = '{"id":"\\ud83d\\ude00","data":"\\\\ud800","metadata":{"s":"\\ud83d\\ude00","t":"\\\\ud800"}}';
  const [record] = read(readUpsert, text);
  assert.deepEqual(
    { id: record?.id, data: record?.data, metadata: record?.metadata },
    { id: "😀", data: "\\ud800", metadata: '{"s":"😀","t":"\\\\ud800"}' },
  );
});

test("B.record.id: the spelling of a number is its id", () => {
  const ids = ["1152921504606846977", "1152921504606846978", "1.0", "-0", "1e3", "33"];
  const records = read(readUpsert, `[${ids.map((id) => `{"id": ${id} }`).join()}]`);
  assert.deepEqual(
    records.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(read(readFetch, `{"ids":[${ids.join()}]}`).selection, { kind: "ids", ids });
  assert.deepEqual(read(readDelete, `[${ids.join()}]`), { kind: "ids", ids });
  assert.deepEqual(read(readDelete, '{"ids":1152921504606846977}'), { kind: "ids", ids: ["1152921504606846977"] });
  assert.equal(read(readUpdate, '{"id":1152921504606846977}').id, "1152921504606846977");
  assert.equal(read(readUpsertData, '{"id":1152921504606846977,"data":""}')[0]?.id, "1152921504606846977");
});

test("B.record.id: an empty id is an id", () => {
  assert.deepEqual(read(readUpsert, '{"id":"","vector":[0.5]}'), [
    { ...nothing, id: "", vector: Float32Array.of(0.5) },
  ]);
  assert.deepEqual(read(readFetch, '{"ids":[""]}').selection, { kind: "ids", ids: [""] });
  assert.deepEqual(read(readDelete, '{"ids":[""]}'), { kind: "ids", ids: [""] });
});

test("numbers in metadata keep their spelling", () => {
  const compact = '{"a":12345678901234567890,"b":[9007199254740993,1.0,-0,1E+2,0.10],"c":{"d":1.50}}';
  const spaced = compact.replaceAll(/([:,[{])/g, "$1 ");
  assert.equal(read(readUpsert, `{"id":"a","metadata": ${spaced}}`)[0]?.metadata, compact);
  assert.equal(read(readUpdate, `{"id":"a","metadata":${compact}}`).metadata, compact);
});

test("a name like __proto__ is data in metadata and ignored elsewhere", () => {
  const [record] = read(readUpsert, '{"id":"__proto__","__proto__":{"data":"x"},"metadata":{"__proto__":{"a":1}}}');
  assert.deepEqual(record, { ...nothing, id: "__proto__", metadata: '{"__proto__":{"a":1}}' });
});

test("B.upsert-data: an upsert of texts has data in each record", () => {
  assert.deepEqual(read(readUpsertData, '[{"id":1,"data":"x","metadata":{}},{"id":"2","data":""}]'), [
    { id: "1", data: "x", metadata: "{}" },
    { id: "2", data: "", metadata: undefined },
  ]);
  assert.equal(refusal(readUpsertData, '[{"id":1}]'), "unprocessable: vectors[0].data is missing");
  assert.equal(refusal(readUpsertData, '{"id":1,"data":null}'), "unprocessable: data is missing");
});

test("an update overwrites metadata unless its mode is PATCH", () => {
  assert.deepEqual(read(readUpdate, '{"id":"a","metadata":{"x":null}}'), {
    ...nothing,
    id: "a",
    metadata: '{"x":null}',
    metadataUpdateMode: "OVERWRITE",
  });
  assert.equal(read(readUpdate, '{"id":"a","metadataUpdateMode":"PATCH"}').metadataUpdateMode, "PATCH");
  assert.equal(
    refusal(readUpdate, '{"id":"a","metadataUpdateMode":"patch"}'),
    'unprocessable: metadataUpdateMode must be "OVERWRITE" or "PATCH"',
  );
  assert.equal(refusal(readUpdate, '[{"id":"a"}]'), "unprocessable: The body must be an object");
});

test("B.fetch: a fetch has ids or a prefix", () => {
  const none = { metadata: false, vectors: false, data: false };
  const rows: [string, object][] = [
    ['{"ids":["a",2]}', { selection: { kind: "ids", ids: ["a", "2"] }, include: none }],
    ['{"ids":"a","prefix":""}', { selection: { kind: "ids", ids: ["a"] }, include: none }],
    ['{"ids":[],"namespace":""}', { selection: { kind: "ids", ids: [] }, include: none }],
    [
      '{"prefix":"a-","includeMetadata":true,"includeVectors":false,"includeData":null}',
      { selection: { kind: "prefix", prefix: "a-" }, include: { ...none, metadata: true } },
    ],
    [
      '{"ids":null,"prefix":"","includeData":true}',
      { selection: { kind: "prefix", prefix: "" }, include: { ...none, data: true } },
    ],
  ];
  for (const [text, expected] of rows) assert.deepEqual(read(readFetch, text), expected, text);
  const refused: [string, string][] = [
    ["{}", "unprocessable: Only one of ids or prefix must be provided."],
    ['{"ids":[],"prefix":"a"}', "unprocessable: Only one of ids or prefix must be provided."],
    ['{"ids":["a",null]}', "unprocessable: ids[1] must be a string or a number"],
    ['{"ids":[["a"]]}', "unprocessable: ids[0] must be a string or a number"],
    ['{"ids":{}}', "unprocessable: ids must be a string or a number"],
    ['{"ids":[1,2,3]}', "unprocessable: ids has more than 2 ids"],
    ['{"prefix":5}', "unprocessable: prefix must be a string"],
    ['{"prefix":"a","includeVectors":1}', "unprocessable: includeVectors must be true or false"],
  ];
  for (const [text, expected] of refused) assert.equal(refusal(readFetch, text, tight), expected, text);
});

test("B.delete: a delete has exactly one of ids, prefix and filter", () => {
  const rows: [string, object][] = [
    ["[1,2]", { kind: "ids", ids: ["1", "2"] }],
    ['["a"]', { kind: "ids", ids: ["a"] }],
    ["[]", { kind: "ids", ids: [] }],
    ["7", { kind: "ids", ids: ["7"] }],
    [" 1152921504606846977\n", { kind: "ids", ids: ["1152921504606846977"] }],
    [' "a" ', { kind: "ids", ids: ["a"] }],
    ['"a\\u0062=="', { kind: "ids", ids: ["ab=="] }],
    ["abc==", { kind: "ids", ids: ["abc=="] }],
    ["/+é 1 [", { kind: "ids", ids: ["/+é 1 ["] }],
    ["true", { kind: "ids", ids: ["true"] }],
    ["0123", { kind: "ids", ids: ["0123"] }],
    ["nullable", { kind: "ids", ids: ["nullable"] }],
    ['{"ids":["a"]}', { kind: "ids", ids: ["a"] }],
    ['{"ids":7}', { kind: "ids", ids: ["7"] }],
    ['{"ids":["a"],"prefix":"","filter":""}', { kind: "ids", ids: ["a"] }],
    ['{"prefix":"a-"}', { kind: "prefix", prefix: "a-" }],
    ['{"filter":"x > 1","ids":null}', { kind: "filter", filter: "x > 1" }],
  ];
  for (const [text, expected] of rows) assert.deepEqual(read(readDelete, text), expected, text);
  const one = "unprocessable: Only and only one of the ids, prefix, or filter must be provided.";
  const refused: [string, string][] = [
    ["{}", one],
    ['{"prefix":""}', one],
    ['{"filter":""}', one],
    ['{"ids":[],"prefix":"a"}', one],
    ['{"prefix":"a","filter":"b"}', one],
    ["[1,2,3,4]", "unprocessable: ids has more than 3 ids"],
    ["[{}]", "unprocessable: ids[0] must be a string or a number"],
    ["null", "unprocessable: ids must be a string or a number"],
    ['"\\ud800"', `unprocessable: ids ${surrogate}`],
    ["abcde", "unprocessable: ids has 5 bytes. Limit: 4 bytes"],
    ["12345", "unprocessable: ids has 5 bytes. Limit: 4 bytes"],
    ["", "bad request: The body is empty; send JSON"],
    [" ", "bad request: The body is not JSON: error at byte 1"],
    ['"abc', "bad request: The body is not JSON: error at byte 4"],
    ["[a]", "bad request: The body is not JSON: error at byte 1"],
    ['{"namespace":"x"}', "unprocessable: namespace is not allowed here: put it into the path, after the command"],
  ];
  for (const [text, expected] of refused) assert.equal(refusal(readDelete, text, tight), expected, text);
});

test("B1: a range has a limit and may have a cursor", () => {
  const page = { cursor: 0, limit: 2, prefix: "", include: { metadata: false, vectors: false, data: false } };
  const rows: [string, object][] = [
    ['{"cursor":"0","limit":2}', page],
    ['{"cursor":"","limit":2,"prefix":null}', page],
    ['{"limit":2}', page],
    ['{"cursor":null,"limit":2}', page],
    ['{"cursor":"p1.0.12","limit":2}', { ...page, cursor: { index: 1, namespace: 0, place: 12 } }],
    ['{"cursor":0,"limit":2.0}', page],
    ['{"cursor":"12","limit":5,"prefix":"a"}', { ...page, cursor: 12, limit: 5, prefix: "a" }],
    [
      '{"cursor":7,"limit":2,"includeVectors":true}',
      { ...page, cursor: 7, include: { ...page.include, vectors: true } },
    ],
  ];
  for (const [text, expected] of rows) assert.deepEqual(read(readRange, text), expected, text);
  const cursor = 'unprocessable: cursor must be "0" for the start, or the nextCursor of the page before';
  const refused: [string, string][] = [
    ['{"cursor":"0"}', "unprocessable: limit is missing"],
    ['{"cursor":true,"limit":2}', "unprocessable: cursor must be a string or a number"],
    ['{"cursor":-1,"limit":2}', cursor],
    ['{"cursor":"-1","limit":2}', cursor],
    ['{"cursor":"1.5","limit":2}', cursor],
    ['{"cursor":"x","limit":2}', cursor],
    ['{"cursor":"p1.0","limit":2}', cursor],
    ['{"cursor":"99999999999999999999","limit":2}', cursor],
    ['{"cursor":"0","limit":0}', "unprocessable: limit must be a whole number from 1 to 5"],
    ['{"cursor":"0","limit":6}', "unprocessable: limit must be a whole number from 1 to 5"],
    ['{"cursor":"0","limit":1.5}', "unprocessable: limit must be a whole number from 1 to 5"],
    ['{"cursor":"0","limit":"2"}', "unprocessable: limit must be a whole number from 1 to 5"],
  ];
  for (const [text, expected] of refused) assert.equal(refusal(readRange, text, tight), expected, text);
});

const options = {
  topK: 10,
  include: { metadata: false, vectors: false, data: false },
  filter: "",
  weighting: undefined,
  fusion: "RRF",
};

test("B2: a query is an object or a list of objects", () => {
  assert.deepEqual(read(readQueries, '{"vector":[1]}'), {
    queries: [{ ...options, vector: Float32Array.of(1), sparseVector: undefined }],
    isList: false,
  });
  assert.deepEqual(
    read(
      readQueries,
      '[{"sparseVector":{"indices":[3],"values":[2]},"topK":3,"filter":"a = 1","weightingStrategy":"IDF","fusionAlgorithm":"DBSF","includeMetadata":true},{"vector":[]}]',
    ),
    {
      queries: [
        {
          vector: undefined,
          sparseVector: { indices: Int32Array.of(3), values: Float32Array.of(2) },
          topK: 3,
          include: { ...options.include, metadata: true },
          filter: "a = 1",
          weighting: "IDF",
          fusion: "DBSF",
        },
        { ...options, vector: new Float32Array(0), sparseVector: undefined },
      ],
      isList: true,
    },
  );
});

test("B2: refuses a query with a text that names the field", () => {
  const rows: [string, string][] = [
    ['{"topK":0}', "unprocessable: topK must be a whole number from 1 to 5"],
    ['[{"topK":6}]', "unprocessable: queries[0].topK must be a whole number from 1 to 5"],
    ['{"topK":-1e400}', "unprocessable: topK must be a whole number from 1 to 5"],
    ['{"filter":{}}', "unprocessable: filter must be a string"],
    ['{"includeData":"true"}', "unprocessable: includeData must be true or false"],
    ['{"weightingStrategy":"idf"}', 'unprocessable: weightingStrategy must be "IDF"'],
    ['{"fusionAlgorithm":"SUM"}', 'unprocessable: fusionAlgorithm must be "RRF" or "DBSF"'],
    ['[{},{"vector":[null]}]', "unprocessable: queries[1].vector[0] must be a number"],
    ["[{},{},{}]", "unprocessable: The body has more than 2 elements"],
    ['{"exact":1}', "unprocessable: exact must be true or false"],
    ['[{"effort":0}]', "unprocessable: queries[0].effort must be a whole number from 1 to 200"],
    ['{"effort":201}', "unprocessable: effort must be a whole number from 1 to 200"],
    ['{"effort":"50"}', "unprocessable: effort must be a whole number from 1 to 200"],
    [
      '[{},{"exact":true,"effort":50}]',
      'unprocessable: queries[1].effort is not allowed with "exact": true, which searches without the graph: send one of them',
    ],
    ['{"namespace":"ns"}', "unprocessable: namespace is not allowed here: put it into the path, after the command"],
  ];
  for (const [text, expected] of rows) assert.equal(refusal(readQueries, text, tight), expected, text);
});

test("B2.effort: a query is exact, has an effort, or leaves it to the index", () => {
  const efforts = [
    ['{"exact":true}', "exact"],
    ['{"exact":true,"effort":null}', "exact"],
    ['{"effort":300}', 300],
    ['{"exact":false,"effort":4000}', 4_000],
    ['{"exact":false}', undefined],
    ['{"exact":null,"effort":null}', undefined],
    ["{}", undefined],
  ] as const;
  for (const [text, expected] of efforts) {
    assert.equal(read(readQueries, text).queries[0]?.effort, expected, text);
    assert.equal(read(readResumableQuery, text).query.effort, expected, text);
  }
  assert.equal(read(readDataQueries, '{"data":"x","exact":true}').queries[0]?.effort, "exact");
});

test("topK is ten by default, or the limit if that is lower", () => {
  assert.equal(read(readQueries, '{"topK":null}').queries[0]?.topK, 10);
  assert.equal(read(readQueries, "{}", tight).queries[0]?.topK, 5);
});

test("a query by text has data and a mode", () => {
  assert.deepEqual(read(readDataQueries, '[{"data":"x"},{"data":"y","queryMode":"SPARSE"}]').queries, [
    { ...options, data: "x", mode: "HYBRID" },
    { ...options, data: "y", mode: "SPARSE" },
  ]);
  assert.equal(refusal(readDataQueries, '{"vector":[1]}'), "unprocessable: data is missing");
  assert.equal(
    refusal(readDataQueries, '{"data":"x","queryMode":"BOTH"}'),
    'unprocessable: queryMode must be "HYBRID" or "DENSE" or "SPARSE"',
  );
});

test("a resumable query is one object with an optional idle time", () => {
  assert.equal(read(readResumableQuery, '{"vector":[1]}').maxIdleSeconds, 3_600);
  assert.equal(read(readResumableDataQuery, '{"data":"x","maxIdle":5}').maxIdleSeconds, 5);
  assert.deepEqual(read(readResumableQuery, '{"vector":[1],"topK":2}').query, {
    ...options,
    topK: 2,
    vector: Float32Array.of(1),
    sparseVector: undefined,
  });
  for (const maxIdle of ["0", "86401", '"5"', "1.5"])
    assert.equal(
      refusal(readResumableQuery, `{"vector":[1],"maxIdle":${maxIdle}}`),
      "unprocessable: maxIdle must be a whole number from 1 to 86400",
    );
  assert.equal(refusal(readResumableQuery, "[]"), "unprocessable: The body must be an object");
});

test("a resumable query is continued and ended by its uuid", () => {
  assert.deepEqual(read(readResumableNext, '{"uuid":"u","additionalK":4}'), { uuid: "u", additionalK: 4 });
  assert.equal(read(readResumableEnd, '{"uuid":"u"}'), "u");
  assert.equal(refusal(readResumableNext, '{"uuid":"u"}'), "unprocessable: additionalK is missing");
  assert.equal(refusal(readResumableNext, '{"additionalK":1}'), "unprocessable: uuid is missing");
  assert.equal(refusal(readResumableEnd, '{"uuid":5}'), "unprocessable: uuid must be a string");
});

test("a rename has two names, in the only body with namespaces", () => {
  assert.deepEqual(read(readRename, '{"namespace":"a","newNamespace":"b"}'), {
    namespace: "a",
    newNamespace: "b",
    deletesExisting: false,
  });
  assert.equal(read(readRename, '{"namespace":"","newNamespace":"b","deleteExisting":true}').deletesExisting, true);
  assert.equal(refusal(readRename, '{"newNamespace":"b"}'), "unprocessable: namespace is missing");
  assert.equal(refusal(readRename, '{"namespace":"a"}'), "unprocessable: newNamespace is missing");
  assert.equal(
    refusal(readRename, '{"namespace":"a","newNamespace":"12345"}', tight),
    "unprocessable: newNamespace has 5 bytes. Limit: 4 bytes",
  );
});
