import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { type Grant, TokenTable } from "./auth.ts";

function sha256(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

const ann = { tenant: "main", user: "ann" };

function table(): TokenTable {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("alpha", { tenant: "main", access: "standard" });
  tokens.add("alpha-ro", { tenant: "main", access: "read-only" });
  tokens.add("beta", { tenant: "other", access: "standard" });
  return tokens;
}

test("A-01: a token gives access to its tenant, and similar tokens give none", () => {
  const tokens = table();

  assert.deepEqual(tokens.find("alpha"), { tenant: "main", access: "standard" });
  assert.deepEqual(tokens.find("alpha-ro"), { tenant: "main", access: "read-only" });
  for (const guess of ["", "alph", "alpha ", "ALPHA", "alphaa", "__proto__", "alpha\x00"])
    assert.equal(tokens.find(guess), undefined, guess);
});

test("H.bearer: accepts only the scheme Bearer, in any case", () => {
  const tokens = table();

  for (const value of ["Bearer alpha", "bearer alpha", "BEARER   alpha", "Bearer alpha "])
    assert.equal(tokens.findByHeader(value)?.tenant, "main", value);
  for (const value of ["alpha", "Basic alpha", "Bearer", "Bearer ", "Bearer a lpha", "Bearer alpha, Bearer beta", ""])
    assert.equal(tokens.findByHeader(value), undefined, value);
});

test("compares a token outside ASCII by its UTF-8 bytes", () => {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("clé", { tenant: "main", access: "standard" });

  assert.equal(tokens.findByHeader("Bearer cl\xc3\xa9")?.tenant, "main");
  assert.equal(tokens.findByHeader("Bearer cl\xe9"), undefined);
});

test("refuses a removed token, even if it was cached", () => {
  const tokens = table();
  assert.notEqual(tokens.findByHeader("Bearer alpha"), undefined);

  assert.equal(tokens.remove("alpha"), true);

  assert.equal(tokens.findByHeader("Bearer alpha"), undefined);
  assert.equal(tokens.remove("alpha"), false);
});

test("a password reset revokes only the two tokens of the tenant", () => {
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

test("a token cannot have two grants", () => {
  const tokens = table();

  assert.throws(() => tokens.add("alpha", { tenant: "other", access: "standard" }), /Two tokens are the same/);
  assert.throws(() => tokens.add("alpha", { tenant: "main", access: "read-only" }), /Two tokens are the same/);
  tokens.add("alpha", { tenant: "main", access: "standard" });
});

test("finds more headers than are cached", () => {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  for (let i = 0; i < 1_100; i += 1) tokens.add(`token-${i}`, { tenant: `tenant-${i}`, access: "standard" });

  for (let round = 0; round < 2; round += 1)
    for (let i = 0; i < 1_100; i += 1) assert.equal(tokens.findByHeader(`Bearer token-${i}`)?.tenant, `tenant-${i}`);
});

test("adds a user's token by its digest, which gives no access itself", () => {
  const tokens = table();

  tokens.replaceUser(ann, [sha256("pass"), sha256("cl\u00e9")]);

  assert.deepEqual(tokens.find("pass"), { tenant: "main", access: "acl", user: "ann" });
  assert.equal(tokens.findByHeader("Bearer cl\xc3\xa9")?.user, "ann");
  assert.equal(tokens.find(sha256("pass")), undefined);
  assert.equal(tokens.find(Buffer.from(sha256("pass"), "hex").latin1Slice()), undefined);
});

test("replaces all tokens of a user, and a remaining one has the same grant", () => {
  const tokens = table();
  const removed: Grant[] = [];
  tokens.onRemoved((grant) => removed.push(grant));
  tokens.replaceUser(ann, [sha256("one"), sha256("two")]);
  tokens.replaceUser({ tenant: "main", user: "bob" }, [sha256("bobs")]);
  tokens.replaceUser({ tenant: "other", user: "ann" }, [sha256("elsewhere")]);
  const [one, two] = [tokens.findByHeader("Bearer one"), tokens.find("two")];

  tokens.replaceUser(ann, [sha256("two"), sha256("three")]);

  assert.equal(tokens.findByHeader("Bearer one"), undefined);
  assert.equal(tokens.find("two"), two);
  assert.equal(tokens.find("three")?.user, "ann");
  assert.deepEqual(removed, [one]);
  assert.equal(removed[0], one);

  tokens.replaceUser(ann, []);
  assert.equal(tokens.find("two"), undefined);
  assert.deepEqual([tokens.find("bobs")?.user, tokens.find("elsewhere")?.tenant], ["bob", "other"]);
});

test("a user's token does not take over another grant", () => {
  const tokens = table();
  tokens.replaceUser({ tenant: "main", user: "bob" }, [sha256("bobs")]);

  tokens.replaceUser(ann, [sha256("alpha"), sha256("beta"), sha256("bobs")]);
  tokens.replaceUser(ann, []);

  assert.equal(tokens.find("alpha")?.access, "standard");
  assert.equal(tokens.find("beta")?.tenant, "other");
  assert.equal(tokens.find("bobs")?.user, "bob");
});

test("a password reset does not change tokens of users, and removing the tenant removes them", () => {
  const tokens = table();
  tokens.replaceUser(ann, [sha256("pass")]);
  const grant = tokens.find("pass");

  tokens.replaceTenant("main", [{ token: "gamma", access: "standard" }]);
  assert.equal(tokens.find("pass"), grant);
  assert.equal(tokens.find("alpha"), undefined);

  assert.equal(tokens.removeTenant("main"), 2);
  assert.equal(tokens.find("pass"), undefined);
  tokens.replaceUser(ann, [sha256("pass")]);
  assert.equal(tokens.find("pass")?.user, "ann");
});

test("a refused password reset changes nothing", () => {
  const tokens = table();
  tokens.replaceUser(ann, [sha256("pass")]);
  const removed: Grant[] = [];
  tokens.onRemoved((grant) => removed.push(grant));

  for (const taken of ["beta", "pass", "delta"])
    assert.throws(
      () =>
        tokens.replaceTenant("main", [
          { token: "delta", access: "standard" },
          { token: taken, access: "read-only" },
        ]),
      /Two tokens are the same/,
      taken,
    );

  assert.deepEqual([tokens.find("alpha")?.access, tokens.find("delta"), removed], ["standard", undefined, []]);
});

test("does not notify of a remaining default token, and a token with new access has a new grant", () => {
  const tokens = table();
  const removed: Grant[] = [];
  tokens.onRemoved((grant) => removed.push(grant));
  const stays = tokens.find("alpha");

  tokens.replaceTenant("main", [{ token: "alpha", access: "standard" }]);
  assert.equal(tokens.find("alpha"), stays);
  assert.deepEqual(removed, [{ tenant: "main", access: "read-only" }]);

  tokens.replaceTenant("main", [{ token: "alpha", access: "read-only" }]);
  assert.equal(tokens.find("alpha")?.access, "read-only");
  assert.equal(removed[1], stays);
});

test("notifies every listener of each removed token until it is removed", () => {
  const tokens = table();
  const notified: string[] = [];
  const stop = tokens.onRemoved(({ access }) => notified.push(`first ${access}`));
  tokens.onRemoved(({ access }) => notified.push(`second ${access}`));

  tokens.remove("alpha");
  stop();
  tokens.removeTenant("main");

  assert.deepEqual(notified, ["first standard", "second standard", "second read-only"]);
});
