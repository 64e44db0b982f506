import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestFailure } from "../../edge/errors.ts";
import type { AreaTenant } from "../areas/area-tenant.ts";
import type { IndexPlan } from "../settings/index-settings.ts";
import { TenantAdministration } from "./administration.ts";
import type { StoredTokens } from "./stored-tokens.ts";
import type { Secret, Tenant } from "./tokens.ts";

const stored = (value: string): Secret => ({ value, from: { kind: "stored" } });
const given = (place: string): Secret => ({ value: place, from: { kind: "given", place } });

function tenant(name: string, token = stored(`${name}-token`), listedAt?: string): Tenant {
  return { name, token, readOnlyToken: stored(`${name}-read-only`), listedAt };
}

interface Setup {
  calls: TenantAdministration;
  /** The steps, in order: `keep`, `tokens x`, `drop x`. */
  steps: string[];
  /** The index plans that the area received. */
  plans: Map<string, IndexPlan>;
  storedNow: () => StoredTokens;
  breakDisk: () => void;
  stopServing: () => void;
}

function setUp({ tenants = [tenant("main")], data = ["main"] }: { tenants?: Tenant[]; data?: string[] } = {}): Setup {
  const steps: string[] = [];
  let storedNow: StoredTokens = { databases: tenants.map(({ name }) => ({ name, madeBy: "start" })), adminToken: "a" };
  let isBroken = false;
  let isServing = true;
  const names = new Set(data);
  const plans: Setup["plans"] = new Map();
  const area = {
    setTokens: async ({ name, tokens, index }: AreaTenant) => {
      steps.push(`tokens ${name} ${tokens.map(({ access }) => access).join(" ")}`);
      if (index !== undefined) plans.set(name, index);
      names.add(name);
    },
    dropTenant: async (name: string) => {
      steps.push(`drop ${name}`);
      names.delete(name);
    },
    tenantNames: async () => {
      if (!isServing) throw new Error("not serving");
      return [...names];
    },
    tenantMemory: async () => [...names].map((name) => ({ name, memoryBytes: name.length })),
  };
  const calls = new TenantAdministration({
    tenants: { databases: tenants, indexes: [], users: [] },
    stored: storedNow,
    store: async (changed) => {
      if (isBroken) throw new Error("no space left");
      steps.push("keep");
      storedNow = changed;
    },
    areas: { databases: area, indexes: area, users: area },
    indexRules: {
      models: new Map([["m", { provider: "hashing", dimension: 8 }]]),
      environment: undefined,
      dimensionMax: 16,
    },
  });
  return {
    calls,
    steps,
    plans,
    storedNow: () => storedNow,
    breakDisk: () => {
      isBroken = true;
    },
    stopServing: () => {
      isServing = false;
    },
  };
}

async function refusal(call: Promise<unknown>): Promise<string> {
  const failure = await call.then(
    () => assert.fail("it was not refused"),
    (thrown: RequestFailure) => thrown,
  );
  return `${failure.kind}: ${failure.text}`;
}

test("a new database's tokens are durable before they are valid", async () => {
  const { calls, steps, storedNow } = setUp();

  const made = await calls.createTenant("databases", "x");

  assert.deepEqual(steps, ["keep", "tokens x standard read-only"]);
  assert.deepEqual(storedNow(), {
    databases: [
      { name: "main", madeBy: "start" },
      { name: "x", madeBy: "admin", token: made.token, readOnlyToken: made.readOnlyToken },
    ],
    adminToken: "a",
  });
  assert.deepEqual(
    (await calls.listTenants("databases")).map(({ name }) => name),
    ["main", "x"],
  );
});

test("a database is emptied before its tokens are removed", async () => {
  const { calls, steps, storedNow } = setUp();

  await calls.deleteTenant("databases", "main");

  assert.deepEqual(steps, ["drop main", "keep"]);
  assert.deepEqual(storedNow().databases, []);
  assert.equal(await refusal(calls.deleteTenant("databases", "main")), "not found: There is no database main");
});

test("a password reset gives two new tokens", async () => {
  const { calls, steps } = setUp();

  const first = await calls.resetPassword("databases", "main");
  const second = await calls.resetPassword("databases", "main");

  assert.equal(new Set([first.token, first.readOnlyToken, second.token, second.readOnlyToken]).size, 4);
  assert.deepEqual(steps, ["keep", "tokens main standard read-only", "keep", "tokens main standard read-only"]);
});

test("a password reset before the area serves keeps the old tokens", async () => {
  const { calls, steps, stopServing } = setUp();
  stopServing();

  await assert.rejects(calls.resetPassword("databases", "main"), /not serving/);

  assert.deepEqual(steps, []);
});

test("a change that cannot be stored has no effect, and the next call works", async () => {
  const { calls, steps, breakDisk } = setUp();
  breakDisk();

  await assert.rejects(calls.createTenant("databases", "x"), /no space left/);

  assert.deepEqual(steps, []);
  assert.deepEqual(
    (await calls.listTenants("databases")).map(({ name }) => name),
    ["main"],
  );
});

test("calls run one after the other", async () => {
  const { calls, steps } = setUp();

  await Promise.all([
    calls.createTenant("databases", "x"),
    calls.deleteTenant("databases", "x"),
    calls.createTenant("databases", "x"),
  ]);

  const tokens = "tokens x standard read-only";
  assert.deepEqual(steps, ["keep", tokens, "drop x", "keep", "keep", tokens]);
});

const refusals: readonly (readonly [name: string, call: (setup: Setup) => Promise<unknown>, text: string])[] = [
  [
    "a name that is taken",
    ({ calls }) => calls.createTenant("databases", "main"),
    "conflict: The database main already exists",
  ],
  [
    "a bad name",
    ({ calls }) => calls.createTenant("databases", "../x"),
    "bad request: Invalid value for name: a name has 1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit",
  ],
  [
    "a name whose old data is still there",
    ({ calls }) => calls.createTenant("databases", "old"),
    "conflict: The data directory still has data of a database old: delete it first, or list it in the configuration file to use it",
  ],
  [
    "a database that is not there",
    ({ calls }) => calls.resetPassword("databases", "y"),
    "not found: There is no database y",
  ],
  [
    "a reset of a configured token",
    ({ calls }) => calls.resetPassword("databases", "listed"),
    "conflict: The database listed is set by store.databases[0].token in l.json: change it there and start again",
  ],
  [
    "a deletion of a listed database",
    ({ calls }) => calls.deleteTenant("databases", "listed"),
    "conflict: The database listed is set by store.databases[0] in l.json: change it there and start again",
  ],
  [
    "a deletion of what the environment names",
    ({ calls }) => calls.deleteTenant("databases", "env"),
    "conflict: The database env is set by LARDER_STORE_TOKEN: change it there and start again",
  ],
];

for (const [name, call, text] of refusals) {
  test(`refused: ${name}`, async () => {
    const setup = setUp({
      tenants: [
        tenant("main"),
        tenant("listed", given("store.databases[0].token in l.json"), "store.databases[0] in l.json"),
        tenant("env", given("LARDER_STORE_TOKEN")),
      ],
      data: ["main", "listed", "env", "old"],
    });
    assert.equal(await refusal(call(setup)), text);
    assert.deepEqual(setup.steps, []);
  });
}

test("the list has the source of each tenant; data of unlisted tenants can be deleted", async () => {
  const { calls, steps } = setUp({
    tenants: [
      tenant("main"),
      tenant("a", stored("t"), "store.databases[0] in l.json"),
      tenant("b", given("LARDER_STORE_TOKEN")),
      tenant("c", { value: "dev", from: { kind: "well-known" } }),
    ],
    data: ["main", "old"],
  });

  assert.deepEqual(await calls.listTenants("databases"), [
    { name: "main", source: "data directory", memoryBytes: 4 },
    { name: "a", source: "configuration" },
    { name: "b", source: "environment" },
    { name: "c", source: "larder dev" },
    { name: "old", source: "unlisted", memoryBytes: 3 },
  ]);
  await calls.deleteTenant("databases", "old");
  assert.deepEqual(steps, ["drop old", "keep"]);
});

test("a new user of messaging has signing keys, and keeps them when its password is reset", async () => {
  const { calls, storedNow } = setUp({ data: [] });

  const made = await calls.createTenant("users", "u");
  const [before] = storedNow().users ?? [];
  const reset = await calls.resetPassword("users", "u");
  const [after] = storedNow().users ?? [];

  assert.match(before?.currentSigningKey ?? "", /^sig_[A-Za-z0-9]{28}$/);
  assert.equal(JSON.parse(Buffer.from(made.token, "base64").toString()).UserID, "u");
  assert.notEqual(reset.token, made.token);
  assert.equal(after?.currentSigningKey, before?.currentSigningKey);
  assert.equal(after?.nextSigningKey, before?.nextSigningKey);
  assert.equal(after?.token, reset.token);
});

test("B.index: a new index is stored with its definition, which the list shows and the area receives", async () => {
  const { calls, storedNow, plans } = setUp({ data: [] });

  const made = await calls.createTenant("indexes", "docs", { embedding: { model: "m" } });
  const plain = await calls.createTenant("indexes", "plain");

  assert.deepEqual(storedNow().indexes, [
    {
      name: "docs",
      madeBy: "admin",
      definition: { type: "DENSE", dimension: 8, similarity: "COSINE", embedding: { model: "m" } },
      token: made.token,
      readOnlyToken: made.readOnlyToken,
    },
    {
      name: "plain",
      madeBy: "admin",
      definition: { type: "DENSE", dimension: "auto", similarity: "COSINE" },
      token: plain.token,
      readOnlyToken: plain.readOnlyToken,
    },
  ]);
  assert.deepEqual(await calls.listTenants("indexes"), [
    {
      name: "docs",
      source: "data directory",
      type: "DENSE",
      dimension: 8,
      similarity: "COSINE",
      embedding: { model: "m" },
      memoryBytes: 4,
    },
    {
      name: "plain",
      source: "data directory",
      type: "DENSE",
      dimension: "auto",
      similarity: "COSINE",
      memoryBytes: 5,
    },
  ]);
  assert.deepEqual(plans.get("docs"), {
    definition: { type: "DENSE", dimension: 8, similarity: "COSINE", denseModel: "m", sparseModel: undefined },
    embedding: { model: "m", by: { provider: "hashing", dimension: 8 }, isInline: false },
  });
});

test("a password reset of an index keeps its definition", async () => {
  const { calls, storedNow, plans } = setUp({ data: [] });
  const made = await calls.createTenant("indexes", "docs", { type: "SPARSE", sparseEmbedding: "BM25" });
  const before = plans.get("docs");

  const reset = await calls.resetPassword("indexes", "docs");

  assert.notEqual(reset.token, made.token);
  assert.deepEqual(storedNow().indexes?.[0]?.definition, { type: "SPARSE", sparseEmbedding: "BM25" });
  assert.deepEqual(plans.get("docs"), before);
});

test("an index keeps its recall target in tokens.json, and the area receives it", async () => {
  const { calls, plans, storedNow } = setUp({ data: [] });
  await calls.createTenant("indexes", "docs", { recallTarget: 0.95 });
  assert.equal(plans.get("docs")?.recallTarget, 0.95);
  assert.deepEqual(storedNow().indexes?.[0]?.definition, {
    type: "DENSE",
    dimension: "auto",
    similarity: "COSINE",
    recallTarget: 0.95,
  });
});

test("refuses a contradictory index by field, and stores nothing", async () => {
  const { calls, steps } = setUp({ data: [] });
  assert.equal(
    await refusal(calls.createTenant("indexes", "docs", { dimension: 17, similarity: "L2" })),
    'bad request: Invalid index: similarity is not one of COSINE, EUCLIDEAN, DOT_PRODUCT; dimension is neither a whole number from 1 to 16 nor "auto"',
  );
  assert.equal(
    await refusal(calls.createTenant("indexes", "docs", { colour: 1 })),
    "bad request: Invalid index: colour is not a known key",
  );
  assert.deepEqual(steps, []);
});

test("at run time no request can name an address or a file of this machine", async () => {
  const { calls } = setUp({ data: [] });
  const embedding = { model: "x", provider: "http", url: "https://a.test/", apiKeyFile: "/etc/shadow" };
  assert.equal(
    await refusal(calls.createTenant("indexes", "docs", { embedding })),
    "bad request: Invalid index: embedding.provider can be http only in the configuration file: list the model under vector.models there, and name it here",
  );
});

test("an index is called an index", async () => {
  const { calls } = setUp({ data: ["old"] });
  await calls.createTenant("indexes", "docs");
  assert.equal(await refusal(calls.createTenant("indexes", "docs")), "conflict: The index docs already exists");
  assert.match(await refusal(calls.createTenant("indexes", "old")), /still has data of an index old: delete it first/);
  await calls.deleteTenant("indexes", "docs");
  assert.equal(await refusal(calls.deleteTenant("indexes", "docs")), "not found: There is no index docs");
});
