import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../settings/read-settings.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { parseStoredTokens, printStoredTokens, type StoredTokens } from "./stored-tokens.ts";
import { generateToken, type ResolvedTenants, resolveTenants, type Secret, wellKnown } from "./tokens.ts";

interface Given {
  words?: string;
  environment?: Record<string, string>;
  file?: unknown;
  stored?: StoredTokens;
}

function resolve({ words = "serve", environment = {}, file, stored = {} }: Given): ResolvedTenants {
  const reading = readSettings({
    arguments: [...words.split(" "), ...(file === undefined ? [] : ["--config", "l.json"])],
    environment,
    readFile: () => JSON.stringify(file),
  });
  assert.equal(reading.kind, "run", JSON.stringify(reading));
  return resolveTenants((reading as { run: RunSettings }).run, stored);
}

function namesOf(tenants: readonly { readonly name: string }[]): readonly string[] {
  return tenants.map((tenant) => tenant.name);
}

function userTokenOf(secret: Secret): Record<string, string> {
  return JSON.parse(Buffer.from(secret.value, "base64").toString());
}

test("C.token-form: the first start of serve creates one tenant per area, each with its own secrets", () => {
  const { tenants, stored, problems } = resolve({});

  assert.deepEqual(problems, []);
  assert.deepEqual(namesOf(tenants.databases), ["main"]);
  assert.deepEqual(namesOf(tenants.indexes), ["main"]);
  assert.deepEqual(namesOf(tenants.users), ["main"]);
  const [database] = tenants.databases;
  const [user] = tenants.users;
  assert.ok(database && user);
  assert.match(database.token.value, /^[A-Za-z0-9]{43}$/);
  assert.match(user.currentSigningKey.value, /^sig_[A-Za-z0-9]{28}$/);
  assert.equal(userTokenOf(user.token)["UserID"], "main");
  assert.match(userTokenOf(user.readOnlyToken)["Password"] ?? "", /^[A-Za-z0-9]{32}$/);
  const values = [database, user, ...tenants.indexes].flatMap((tenant) => [
    tenant.token.value,
    tenant.readOnlyToken.value,
  ]);
  assert.equal(new Set([...values, tenants.adminToken.value]).size, 7);
  assert.deepEqual(stored.databases, [
    { name: "main", madeBy: "start", token: database.token.value, readOnlyToken: database.readOnlyToken.value },
  ]);
});

test("the second start finds all secrets and generates none", () => {
  const first = resolve({});
  const stored = parseStoredTokens(printStoredTokens(first.stored));

  const second = resolve({ stored });

  assert.equal(second.stored, stored);
  assert.deepEqual(second.tenants, first.tenants);
});

test("the environment sets secrets of the base tenant; only the others are generated", () => {
  const { tenants, stored } = resolve({ environment: { LARDER_STORE_TOKEN: "from-environment" } });

  const [database] = tenants.databases;
  assert.deepEqual(database?.token, {
    value: "from-environment",
    from: { kind: "given", place: "LARDER_STORE_TOKEN" },
  });
  assert.deepEqual(stored.databases, [
    { name: "main", madeBy: "start", readOnlyToken: database?.readOnlyToken.value ?? "" },
  ]);
});

test("with listed databases there is no base database, unless the environment names it", () => {
  const file = { store: { databases: [{ name: "a", token: "ta", readOnlyToken: "ra" }, { name: "b" }] } };

  const listed = resolve({ file });
  assert.deepEqual(namesOf(listed.tenants.databases), ["a", "b"]);
  assert.deepEqual(
    listed.stored.databases?.map(({ name, madeBy }) => [name, madeBy]),
    [["b", "configuration"]],
  );
  assert.equal(listed.tenants.databases[0]?.listedAt, "store.databases[0] in l.json:1");

  const both = resolve({ file, environment: { LARDER_STORE_TOKEN: "tm" } });
  assert.deepEqual(namesOf(both.tenants.databases), ["main", "a", "b"]);
});

test("a database that the configuration no longer lists is gone, with its generated token", () => {
  const { stored } = resolve({ file: { store: { databases: [{ name: "a" }, { name: "b" }] } } });

  const { tenants } = resolve({ stored, file: { store: { databases: [{ name: "b" }] } } });

  assert.deepEqual(namesOf(tenants.databases), ["b"]);
  assert.equal(tenants.databases[0]?.token.value, stored.databases?.find((entry) => entry.name === "b")?.token);
});

test("a main database that was deleted stays deleted", () => {
  assert.deepEqual(namesOf(resolve({ stored: { databases: [] } }).tenants.databases), []);
});

test("databases of the admin API exist together with listed databases", () => {
  const stored: StoredTokens = { databases: [{ name: "x", madeBy: "admin", token: "tx", readOnlyToken: "rx" }] };
  const { tenants } = resolve({ stored, file: { store: { databases: [{ name: "a" }] } } });
  assert.deepEqual(namesOf(tenants.databases), ["a", "x"]);
});

test("dev has the well-known secrets and an index dev, and stores nothing", () => {
  const { tenants, stored, problems } = resolve({ words: "dev" });

  assert.deepEqual(problems, []);
  assert.deepEqual(stored, {});
  assert.deepEqual(namesOf(tenants.indexes), ["dev"]);
  assert.deepEqual(
    [tenants.databases, tenants.indexes].map(([tenant]) => [tenant?.token.value, tenant?.readOnlyToken.value]),
    [
      ["dev", "dev-readonly"],
      ["dev", "dev-readonly"],
    ],
  );
  const [user] = tenants.users;
  assert.equal(user?.token.value, "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=");
  assert.equal(user?.currentSigningKey.value, "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r");
  assert.equal(user?.nextSigningKey.value, "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs");
  assert.equal(tenants.adminToken.value, "dev");
});

test("an index has the definition of the configuration, or the one with which it was created", () => {
  const stored: StoredTokens = {
    indexes: [
      {
        name: "made",
        madeBy: "admin",
        token: "tm",
        readOnlyToken: "rm",
        definition: { type: "HYBRID", dimension: 1_024, similarity: "EUCLIDEAN" },
      },
      { name: "main", madeBy: "start", token: "t", readOnlyToken: "r" },
    ],
  };
  const file = { vector: { indexes: [{ name: "listed", type: "SPARSE", sparseEmbedding: "BM25" }] } };

  const { tenants, problems } = resolve({ stored: parseStoredTokens(printStoredTokens(stored)), file });

  assert.deepEqual(problems, []);
  assert.deepEqual(
    tenants.indexes.map(({ name, index }) => [name, index.definition]),
    [
      ["listed", { type: "SPARSE", dimension: 0, similarity: "COSINE", denseModel: undefined, sparseModel: "BM25" }],
      [
        "made",
        { type: "HYBRID", dimension: 1_024, similarity: "EUCLIDEAN", denseModel: undefined, sparseModel: undefined },
      ],
      [
        "main",
        { type: "DENSE", dimension: undefined, similarity: "COSINE", denseModel: undefined, sparseModel: undefined },
      ],
    ],
  );
});

test("an invalid definition in tokens.json, or one without its model, prevents the start and is named", () => {
  const entry = { madeBy: "admin", token: "t", readOnlyToken: "r" } as const;
  const { problems } = resolve({
    stored: {
      indexes: [
        { ...entry, name: "a", definition: { type: "FLAT", colour: 1 } },
        { ...entry, name: "b", token: "u", readOnlyToken: "v", definition: { embedding: { model: "BGE_M3" } } },
      ],
    },
  });
  assert.deepEqual(problems, [
    "The index a in tokens.json: definition.colour is not a known key",
    "The index a in tokens.json: definition.type is not one of DENSE, SPARSE, HYBRID",
    "The index b in tokens.json: definition.embedding.model has no provider: list BGE_M3 under vector.models in the configuration file",
  ]);
});

test("an index with more dimensions than the setting allows prevents the start", () => {
  const { problems } = resolve({
    file: { vector: { indexes: [{ name: "a", dimension: 6_000 }] } },
    stored: {
      indexes: [{ name: "b", madeBy: "admin", token: "t", readOnlyToken: "r", definition: { dimension: 6_000 } }],
    },
  });
  assert.deepEqual(problems, [
    "vector.indexes[0] in l.json:1 has 6000 dimensions, but --max-dimension allows 5376",
    'The index b in tokens.json: definition.dimension is neither a whole number from 1 to 5376 nor "auto"',
  ]);
});

test("only a tokens.json with definitions has the new format", () => {
  assert.equal(JSON.parse(printStoredTokens({ indexes: [{ name: "a", madeBy: "start" }] })).format, 1);
  assert.equal(JSON.parse(printStoredTokens({ indexes: [{ name: "a", madeBy: "admin", definition: {} }] })).format, 2);
});

test("A-01: where other machines can reach a port, larder dev generates its tokens", () => {
  const { tenants, problems } = resolve({ words: "dev --host 0.0.0.0 --admin-host ::" });

  assert.deepEqual(problems, []);
  const [database] = tenants.databases;
  const [index] = tenants.indexes;
  const [user] = tenants.users;
  assert.ok(database !== undefined && index !== undefined && user !== undefined);
  for (const token of [database.token, database.readOnlyToken, index.token, index.readOnlyToken, tenants.adminToken]) {
    assert.match(token.value, /^[A-Za-z0-9]{43}$/);
  }
  for (const { value } of [user.token, user.readOnlyToken, user.currentSigningKey, user.nextSigningKey]) {
    assert.ok(!Object.values(wellKnown).some((each) => each === value), value);
  }
});

test("A-01: larder dev generates tokens only for the ports that other machines can reach", () => {
  const { tenants } = resolve({ words: "dev --admin-host 10.0.0.1" });
  assert.equal(tenants.databases[0]?.token.value, "dev");
  assert.match(tenants.adminToken.value, /^[A-Za-z0-9]{43}$/);
});

test("A-01: a well-known secret is refused in serve too, wherever it comes from", () => {
  const given = resolve({
    words: "serve --host 10.1.2.3",
    environment: { LARDER_STORE_TOKEN: "dev" },
    file: { messaging: { users: [{ name: "u", nextSigningKey: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs" }] } },
  });
  assert.deepEqual(given.problems, [
    "LARDER_STORE_TOKEN is well known and is refused on 10.1.2.3, which other machines may reach: choose another, or use --host 127.0.0.1",
    "messaging.users[0].nextSigningKey in l.json:1 is well known and is refused on 10.1.2.3, which other machines may reach: choose another, or use --host 127.0.0.1",
  ]);
  assert.deepEqual(resolve({ environment: { LARDER_STORE_TOKEN: "dev" } }).problems, []);
});

test("refuses a token that names two databases", () => {
  const { problems } = resolve({
    environment: { LARDER_STORE_TOKEN: "same", LARDER_STORE_READ_ONLY_TOKEN: "other" },
    file: { store: { databases: [{ name: "a", token: "same", readOnlyToken: "third" }] } },
    stored: { databases: [{ name: "x", madeBy: "admin", token: "other", readOnlyToken: "fourth" }] },
  });
  assert.deepEqual(problems, [
    "store.databases[0].token in l.json:1 is the same token as LARDER_STORE_TOKEN: each token names one tenant and one access",
    "the token of x is the same token as LARDER_STORE_READ_ONLY_TOKEN: each token names one tenant and one access",
  ]);
});

const userToken = (password: string): string =>
  Buffer.from(JSON.stringify({ UserID: "main", Password: password })).toString("base64");
const LONG = "x8Tq2mZr0LkP5vWn";

const given: readonly (readonly [variable: string, value: string, fault: string | undefined])[] = [
  ["LARDER_STORE_TOKEN", "x", "is too short (1)"],
  ["LARDER_STORE_TOKEN", "x8Tq2mZr0LkP5vW", "is too short (15)"],
  ["LARDER_STORE_TOKEN", LONG, undefined],
  ["LARDER_STORE_READ_ONLY_TOKEN", "aaaaaaaaaaaaaaaaaaaaaaaa", "is too uniform"],
  ["LARDER_VECTOR_TOKEN", "changeme", "is too short (8)"],
  ["LARDER_MESSAGING_TOKEN", userToken("secret"), "has a password that is too short (6)"],
  ["LARDER_MESSAGING_TOKEN", userToken(LONG), undefined],
  ["LARDER_CURRENT_SIGNING_KEY", "sig_short", "is too short (5)"],
];
const WEAK =
  "and is refused on 0.0.0.0, which other machines may reach: choose one of at least 16 random characters, such as openssl rand -hex 24 prints, or use --host 127.0.0.1";

test("A-01: refuses a guessable secret only if other machines may reach the port", () => {
  for (const [variable, value, fault] of given) {
    const environment = { [variable]: value };
    const { problems } = resolve({ words: "serve --host 0.0.0.0", environment });
    assert.deepEqual(problems, fault === undefined ? [] : [`${variable} ${fault} ${WEAK}`], `${variable} ${value}`);
    assert.deepEqual(resolve({ environment }).problems, []);
  }
});

test("two generated tokens differ", () => {
  assert.notEqual(generateToken(), generateToken());
});

const damaged: readonly (readonly [text: string, problem: string])[] = [
  ["{", "it is not JSON"],
  ["[]", "it is not an object"],
  ["{}", "its format is not stated"],
  ['{"format":3}', "its format 3 is newer than format 2 of this version; use a newer larder"],
  ['{"format":1,"databases":{}}', "databases is not an array"],
  ['{"format":1,"databases":[{"name":"a","madeBy":"me"}]}', "databases[0].madeBy is not start, admin or configuration"],
  ['{"format":1,"databases":[{"name":"../a","madeBy":"start"}]}', "databases[0].name is not a name"],
  ['{"format":1,"users":[{"name":"a","madeBy":"start","token":7}]}', "users[0].token is not a string"],
  ['{"format":2,"indexes":[{"name":"a","madeBy":"admin","definition":7}]}', "indexes[0].definition is not an object"],
  ['{"format":1,"adminToken":""}', "adminToken is not a string"],
];

for (const [text, problem] of damaged) {
  test(`a damaged tokens.json is refused: ${problem}`, () => {
    assert.throws(() => parseStoredTokens(text), { name: "DamagedTokens", message: problem });
  });
}
