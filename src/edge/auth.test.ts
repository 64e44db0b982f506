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

test("A-01: a token opens its tenant and nothing like it opens anything", () => {
  const tokens = table();

  assert.deepEqual(tokens.find("alpha"), { tenant: "main", access: "standard" });
  assert.deepEqual(tokens.find("alpha-ro"), { tenant: "main", access: "read-only" });
  for (const guess of ["", "alph", "alpha ", "ALPHA", "alphaa", "__proto__", "alpha\x00"])
    assert.equal(tokens.find(guess), undefined, guess);
});

test("H.bearer: the scheme of the header is Bearer in any case, and nothing else", () => {
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

test("a user's token is added by its digest, and the digest itself opens nothing", () => {
  const tokens = table();

  tokens.replaceUser(ann, [sha256("pass"), sha256("cl\u00e9")]);

  assert.deepEqual(tokens.find("pass"), { tenant: "main", access: "acl", user: "ann" });
  assert.equal(tokens.findByHeader("Bearer cl\xc3\xa9")?.user, "ann");
  assert.equal(tokens.find(sha256("pass")), undefined);
  assert.equal(tokens.find(Buffer.from(sha256("pass"), "hex").latin1Slice()), undefined);
});

test("the tokens of a user are replaced as a whole, and one that stays is the same grant", () => {
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

test("a user's token takes nothing over that opens something else", () => {
  const tokens = table();
  tokens.replaceUser({ tenant: "main", user: "bob" }, [sha256("bobs")]);

  tokens.replaceUser(ann, [sha256("alpha"), sha256("beta"), sha256("bobs")]);
  tokens.replaceUser(ann, []);

  assert.equal(tokens.find("alpha")?.access, "standard");
  assert.equal(tokens.find("beta")?.tenant, "other");
  assert.equal(tokens.find("bobs")?.user, "bob");
});

test("a password reset leaves users alone, and removing the tenant removes them", () => {
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

test("a password reset that cannot be changes nothing", () => {
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

test("a default token that stays is not told of, and one that changes its access is another", () => {
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

test("everybody who listens is told of each token that is removed, until they stop", () => {
  const tokens = table();
  const told: string[] = [];
  const stop = tokens.onRemoved(({ access }) => told.push(`first ${access}`));
  tokens.onRemoved(({ access }) => told.push(`second ${access}`));

  tokens.remove("alpha");
  stop();
  tokens.removeTenant("main");

  assert.deepEqual(told, ["first standard", "second standard", "second read-only"]);
});
