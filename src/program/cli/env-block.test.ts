import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultIndex } from "../settings/index-settings.ts";
import type { Secret, Tenant, Tenants } from "../tenants/tokens.ts";
import { type BlockOptions, environmentOf, printBlock } from "./env-block.ts";

const stored = (value: string): Secret => ({ value, from: { kind: "stored" } });

function tenant(name: string): Tenant {
  return { name, token: stored(`${name}-t`), readOnlyToken: stored(`${name}-r`), listedAt: undefined };
}

const tenants: Tenants = {
  databases: [tenant("d")],
  indexes: [{ ...tenant("i"), index: defaultIndex }],
  users: [{ ...tenant("u"), currentSigningKey: stored("sig_1"), nextSigningKey: stored("sig_2") }],
  adminToken: stored("admin-t"),
};

const options: BlockOptions = {
  version: "1.2.3",
  addresses: { store: "http://s:1", vector: "http://v:2", messaging: "http://m:3", admin: "http://a:4" },
  tenants,
  isFirstStart: true,
  tokensPath: "/data/tokens.json",
  remarks: ["a remark"],
};

test("the first start prints all variables, ready to be pasted", () => {
  assert.equal(
    printBlock(options),
    `# larderd 1.2.3 running at http://s:1 (store), http://v:2 (vector), http://m:3 (messaging)
# a remark
UPSTASH_REDIS_REST_URL="http://s:1"
UPSTASH_REDIS_REST_TOKEN="d-t"
KV_REST_API_URL="http://s:1"
KV_REST_API_TOKEN="d-t"
KV_REST_API_READ_ONLY_TOKEN="d-r"
UPSTASH_VECTOR_REST_URL="http://v:2"
UPSTASH_VECTOR_REST_TOKEN="i-t"
UPSTASH_VECTOR_REST_READONLY_TOKEN="i-r"
QSTASH_URL="http://m:3"
QSTASH_TOKEN="u-t"
QSTASH_CURRENT_SIGNING_KEY="sig_1"
QSTASH_NEXT_SIGNING_KEY="sig_2"
# admin: http://a:4 token admin-t
`,
  );
});

test("a later start prints where the secrets are, and no secret", () => {
  const text = printBlock({ ...options, isFirstStart: false });

  assert.doesNotMatch(text, /d-t|d-r|i-t|i-r|u-t|sig_\d|admin-t/);
  assert.match(text, /^# UPSTASH_REDIS_REST_TOKEN: in \/data\/tokens\.json$/m);
  assert.match(text, /^UPSTASH_REDIS_REST_URL="http:\/\/s:1"$/m);
  assert.match(text, /^# admin: http:\/\/a:4 token in \/data\/tokens\.json$/m);
});

test("a secret from the settings is never printed, a well-known secret always", () => {
  const given: Secret = { value: "given-secret", from: { kind: "given", place: "LARDER_STORE_TOKEN" } };
  const wellKnown: Secret = { value: "dev", from: { kind: "well-known" } };
  const text = printBlock({
    ...options,
    isFirstStart: false,
    tenants: { ...tenants, databases: [{ ...tenant("d"), token: given, readOnlyToken: wellKnown }] },
  });
  assert.doesNotMatch(text, /given-secret/);
  assert.match(text, /^# KV_REST_API_TOKEN: set by LARDER_STORE_TOKEN$/m);
  assert.match(text, /^KV_REST_API_READ_ONLY_TOKEN="dev"$/m);
});

test("every line is a variable or a comment", () => {
  for (const line of printBlock(options).trimEnd().split("\n")) assert.match(line, /^(# |[A-Z_]+="[^"]*"$)/);
});

test("an area without a tenant has no variables", () => {
  const environment = environmentOf(options.addresses, { ...tenants, databases: [], indexes: [] });
  assert.deepEqual(environment, {
    QSTASH_URL: "http://m:3",
    QSTASH_TOKEN: "u-t",
    QSTASH_CURRENT_SIGNING_KEY: "sig_1",
    QSTASH_NEXT_SIGNING_KEY: "sig_2",
  });
});

test("prints the RESP address as a URL for Redis clients, and hides its secret like others", () => {
  const addresses = { ...options.addresses, resp: { host: "[::1]:5", isEncrypted: true } };
  const text = printBlock({ ...options, addresses });
  assert.match(text, /^# larderd .*, rediss:\/\/\[::1\]:5 \(store over RESP\)$/m);
  assert.match(text, /^REDIS_URL="rediss:\/\/default:d-t@\[::1\]:5"$/m);
  assert.match(printBlock({ ...options, addresses, isFirstStart: false }), /^# REDIS_URL: in \/data\/tokens\.json$/m);
});

test("a development server prints the generated tokens of every tenant at each start", () => {
  const given: Secret = { value: "given-secret", from: { kind: "given", place: "vector.indexes[1].token in l.json" } };
  const second = { ...tenant("second"), token: given, index: defaultIndex };
  const text = printBlock({
    ...options,
    isFirstStart: false,
    isDev: true,
    tenants: { ...tenants, indexes: [...tenants.indexes, second] },
  });
  assert.match(text, /^UPSTASH_VECTOR_REST_TOKEN="i-t"$/m);
  assert.match(
    text,
    /^# index second: token set by vector\.indexes\[1\]\.token in l\.json, read-only token second-r$/m,
  );
  assert.doesNotMatch(text, /given-secret/);
});
