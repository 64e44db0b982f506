import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenTable } from "./auth.ts";

function table(): TokenTable {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("alpha", { tenant: "main", access: "standard" });
  tokens.add("alpha-ro", { tenant: "main", access: "read-only" });
  tokens.add("beta", { tenant: "other", access: "standard" });
  return tokens;
}

test("A-01: a token opens its tenant and nothing like it opens anything", () => {
  const tokens = table();

  assert.deepEqual(tokens.find("alpha"), { tenant: "main", access: "standard" });
  assert.deepEqual(tokens.find("alpha-ro"), { tenant: "main", access: "read-only" });
  for (const guess of ["", "alph", "alpha ", "ALPHA", "alphaa", "__proto__", "alpha\x00"])
    assert.equal(tokens.find(guess), undefined, guess);
});

test("the scheme of the header is Bearer in any case, and nothing else", () => {
  const tokens = table();

  for (const value of ["Bearer alpha", "bearer alpha", "BEARER   alpha", "Bearer alpha "])
    assert.equal(tokens.findByHeader(value)?.tenant, "main", value);
  for (const value of ["alpha", "Basic alpha", "Bearer", "Bearer ", "Bearer a lpha", "Bearer alpha, Bearer beta", ""])
    assert.equal(tokens.findByHeader(value), undefined, value);
});

test("a token outside ASCII is compared as its UTF-8 bytes", () => {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("clé", { tenant: "main", access: "standard" });

  assert.equal(tokens.findByHeader("Bearer cl\xc3\xa9")?.tenant, "main");
  assert.equal(tokens.findByHeader("Bearer cl\xe9"), undefined);
});

test("a removed token is refused from then on, also when it was remembered", () => {
  const tokens = table();
  assert.notEqual(tokens.findByHeader("Bearer alpha"), undefined);

  assert.equal(tokens.remove("alpha"), true);

  assert.equal(tokens.findByHeader("Bearer alpha"), undefined);
  assert.equal(tokens.remove("alpha"), false);
});

test("a password reset revokes both tokens of the tenant and no others", () => {
  const tokens = table();
  for (const token of ["alpha", "alpha-ro", "beta"]) assert.notEqual(tokens.findByHeader(`Bearer ${token}`), undefined);

  tokens.replaceTenant("main", [{ token: "gamma", access: "standard" }]);

  assert.equal(tokens.findByHeader("Bearer alpha"), undefined);
  assert.equal(tokens.findByHeader("Bearer alpha-ro"), undefined);
  assert.deepEqual(tokens.findByHeader("Bearer gamma"), { tenant: "main", access: "standard" });
  assert.equal(tokens.findByHeader("Bearer beta")?.tenant, "other");
  assert.equal(tokens.removeTenant("main"), 1);
  assert.equal(tokens.findByHeader("Bearer gamma"), undefined);
});

test("one token cannot open two things", () => {
  const tokens = table();

  assert.throws(() => tokens.add("alpha", { tenant: "other", access: "standard" }), /Two tokens are the same/);
  assert.throws(() => tokens.add("alpha", { tenant: "main", access: "read-only" }), /Two tokens are the same/);
  tokens.add("alpha", { tenant: "main", access: "standard" });
});

test("more headers than are remembered are still answered", () => {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  for (let i = 0; i < 1_100; i += 1) tokens.add(`token-${i}`, { tenant: `tenant-${i}`, access: "standard" });

  for (let round = 0; round < 2; round += 1)
    for (let i = 0; i < 1_100; i += 1) assert.equal(tokens.findByHeader(`Bearer token-${i}`)?.tenant, `tenant-${i}`);
});
