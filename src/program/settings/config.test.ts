import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { configSchema } from "../../../tools/reference/config-schema.ts";
import { parseConfiguration } from "./config.ts";

const keys = new Set(["host", "cors", "storePort", "allowDestination"]);

function problemsOf(value: unknown): readonly string[] {
  const file = typeof value === "string" ? value : JSON.stringify(value);
  return parseConfiguration(file, keys).problems.map(({ text }) => text);
}

const USER_TOKEN = Buffer.from('{"UserID":"a","Password":"b"}').toString("base64");

test("reads a full file: settings as text, tenants with their path", () => {
  const { configuration, problems } = parseConfiguration(
    JSON.stringify({
      host: "127.0.0.2",
      cors: false,
      storePort: 0,
      allowDestination: ["10.0.0.0/8", "*.test"],
      store: {
        databases: [
          { name: "main", token: "aaa", readOnlyToken: "bbb" },
          { name: "other", maxmemory: "100mb", maxmemoryPolicy: "allkeys-lru" },
          { name: "third", maxmemory: 0 },
        ],
      },
      vector: { indexes: [{ name: "docs", type: "HYBRID", dimension: 384, similarity: "DOT_PRODUCT", token: "ccc" }] },
      messaging: { users: [{ name: "main", token: USER_TOKEN, currentSigningKey: "sig_1" }] },
      admin: { token: "ddd" },
    }),
    keys,
  );

  assert.deepEqual(problems, []);
  assert.deepEqual(Object.fromEntries(configuration.settings), {
    host: "127.0.0.2",
    cors: "off",
    storePort: "0",
    allowDestination: "10.0.0.0/8,*.test",
  });
  assert.deepEqual(configuration.databases, [
    { name: "main", token: "aaa", readOnlyToken: "bbb", path: "store.databases[0]" },
    { name: "other", path: "store.databases[1]", memory: { bytesMax: 104_857_600, policy: "allkeys-lru" } },
    { name: "third", path: "store.databases[2]", memory: { bytesMax: 0 } },
  ]);
  assert.deepEqual(configuration.indexes, [
    {
      name: "docs",
      token: "ccc",
      path: "vector.indexes[0]",
      plan: {
        definition: {
          type: "HYBRID",
          dimension: 384,
          similarity: "DOT_PRODUCT",
          denseModel: undefined,
          sparseModel: undefined,
        },
        embedding: undefined,
      },
    },
  ]);
  assert.deepEqual(configuration.users, [
    { name: "main", token: USER_TOKEN, currentSigningKey: "sig_1", path: "messaging.users[0]" },
  ]);
  assert.equal(configuration.adminToken, "ddd");
});

const refused: readonly (readonly [input: unknown, problem: string])[] = [
  ["[1]", "the file is not an object"],
  ['{\n  "host": "secret-canary\n}', "is not JSON: the closing quote is missing"],
  [{ hots: "a" }, "hots is not a known key"],
  [
    { store: { databases: [{ name: "a", maxmemory: "lots" }] } },
    'store.databases[0].maxmemory is refused: "lots" is not a size such as 100mb or 1gb, or 0 for no limit',
  ],
  [
    { store: { databases: [{ name: "a", maxmemoryPolicy: "lru" }] } },
    "store.databases[0].maxmemoryPolicy is not one of volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
  ],
  ['{"__proto__": 1}', "__proto__ is not a known key"],
  [{ host: { a: 1 } }, "host is not a string, a number, true, false or an array of strings"],
  [{ store: [] }, "store is not an object"],
  [{ store: { database: [] } }, "store.database is not a known key"],
  [{ store: { databases: {} } }, "store.databases is not an array"],
  [{ store: { databases: ["main"] } }, "store.databases[0] is not an object"],
  [{ store: { databases: [{}] } }, "store.databases[0].name is missing"],
  [{ store: { databases: [{ name: "a", tokn: "x" }] } }, "store.databases[0].tokn is not a known key"],
  [{ store: { databases: [{ token: "x" }] } }, "store.databases[0].name is missing"],
  [
    { store: { databases: [{ name: "../x" }] } },
    "store.databases[0].name is not a name of 1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit",
  ],
  [{ store: { databases: [{ name: "a", token: 7 }] } }, "store.databases[0].token is refused: it is not a string"],
  [
    { store: { databases: [{ name: "a", readOnlyToken: "secret canary" }] } },
    "store.databases[0].readOnlyToken is refused: the token is not 1 to 512 visible ASCII characters without a space",
  ],
  [
    { store: { databases: [{ name: "a" }, { name: "a" }] } },
    "store.databases[1].name is the same as store.databases[0].name",
  ],
  [
    {
      store: {
        databases: [
          { name: "a", token: "secret-canary" },
          { name: "b", readOnlyToken: "secret-canary" },
        ],
      },
    },
    "store.databases[1].readOnlyToken is the same as store.databases[0].token",
  ],
  [
    { vector: { indexes: [{ name: "a", type: "FLAT" }] } },
    "vector.indexes[0].type is not one of DENSE, SPARSE, HYBRID",
  ],
  [
    { vector: { indexes: [{ name: "a", similarity: "L2" }] } },
    "vector.indexes[0].similarity is not one of COSINE, EUCLIDEAN, DOT_PRODUCT",
  ],
  [
    { vector: { indexes: [{ name: "a", dimension: 1.5 }] } },
    'vector.indexes[0].dimension is neither a whole number from 1 to 65536 nor "auto"',
  ],
  [{ vector: { indexes: [{ name: "a", embedding: "m" }] } }, "vector.indexes[0].embedding is not an object"],
  [
    { vector: { indexes: [{ name: "a", type: "SPARSE", sparseEmbedding: 1 }] } },
    "vector.indexes[0].sparseEmbedding is not one of BM25",
  ],
  [{ vector: { models: [] } }, "vector.models is not an object"],
  [{ vector: { model: {} } }, "vector.model is not a known key"],
  [
    { messaging: { users: [{ name: "a", token: "secret-canary" }] } },
    'messaging.users[0].token is refused: the token is not base64 of {"UserID":"…","Password":"…"}',
  ],
  [
    { messaging: { users: [{ name: "a", nextSigningKey: "secret-canary" }] } },
    "messaging.users[0].nextSigningKey is refused: the signing key does not have the form sig_…",
  ],
  [
    { admin: { token: "" } },
    "admin.token is refused: the token is not 1 to 512 visible ASCII characters without a space",
  ],
  [{ admin: { tokens: 1 } }, "admin.tokens is not a known key"],
];

/** Rules about several fields, about bytes of a token, or with another bound than one of JSON Schema. */
const beyondSchema: ReadonlySet<string> = new Set([
  "store.databases[1].name is the same as store.databases[0].name",
  "store.databases[1].readOnlyToken is the same as store.databases[0].token",
  'messaging.users[0].token is refused: the token is not base64 of {"UserID":"…","Password":"…"}',
]);

const isInSchema = new Ajv2020({ strict: false }).compile(configSchema());

for (const [input, problem] of refused) {
  test(`refused: ${problem}`, () => {
    assert.deepEqual(problemsOf(input), [problem]);
    if (problem.startsWith("is not JSON")) return;
    const value = typeof input === "string" ? JSON.parse(input) : input;
    assert.equal(isInSchema(value), beyondSchema.has(problem), "the schema");
  });
}

test("reports every mistake in a row, also in a row without a name", () => {
  const value = {
    store: { databases: [{ name: "-", token: 5, maxmemory: "zz", maxmemoryPolicy: "q" }] },
    vector: { indexes: [{ dimension: -1, similarity: "Q" }] },
    messaging: { users: [{ name: "-", currentSigningKey: 1, nextSigningKey: 2 }] },
  };
  const rule = "1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit";
  assert.deepEqual(problemsOf(value), [
    `store.databases[0].name is not a name of ${rule}`,
    "store.databases[0].token is refused: it is not a string",
    "store.databases[0].maxmemoryPolicy is not one of volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
    'store.databases[0].maxmemory is refused: "zz" is not a size such as 100mb or 1gb, or 0 for no limit',
    "vector.indexes[0].name is missing",
    "vector.indexes[0].similarity is not one of COSINE, EUCLIDEAN, DOT_PRODUCT",
    'vector.indexes[0].dimension is neither a whole number from 1 to 65536 nor "auto"',
    `messaging.users[0].name is not a name of ${rule}`,
    "messaging.users[0].currentSigningKey is refused: it is not a string",
    "messaging.users[0].nextSigningKey is refused: it is not a string",
  ]);
});

test("S-09: no error text shows a token", () => {
  for (const [input] of refused) assert.doesNotMatch(problemsOf(input).join("\n"), /secret/);
});
