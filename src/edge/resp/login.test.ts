import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession, testCaller } from "../../../test/harness/store-harness.ts";
import type { Store } from "../../store/mod.ts";
import { TokenTable } from "../auth.ts";
import { RespLogin } from "./login.ts";

interface Setup {
  readonly store: Store;
  readonly tokens: TokenTable;
}

function setUp(...names: readonly string[]): Setup {
  const { store } = startSession();
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  for (const name of ["main", ...names]) {
    const database = store.database(name);
    database.command(testCaller, ["ACL", "SETUSER", "ann", "on", `>${name}-secret`, "+@all", "~*"]);
    tokens.replaceTenant(name, [
      { token: `${name}-token`, access: "standard" },
      { token: `${name}-reader`, access: "read-only" },
    ]);
  }
  return { store, tokens };
}

type Row = readonly [user: string | undefined, password: string, opened: string | undefined];

/** Checks the `database/user` of each pair of credentials. */
function expectLogins({ store, tokens }: Setup, rows: readonly Row[]): void {
  for (const [user, password, opened] of rows) {
    const loggedIn = new RespLogin({ store, tokens, isOpenToAll: false }).logIn({ user, password });
    const found = loggedIn === undefined ? undefined : `${loggedIn.database.name}/${loggedIn.user.name}`;
    assert.equal(found, opened, `${user} ${password}`);
  }
}

test("A.tcp: the token selects the database, and the user the kind of token", () => {
  expectLogins(setUp("other"), [
    [undefined, "main-token", "main/default"],
    ["default", "main-token", "main/default"],
    ["default", "other-token", "other/default"],
    ["default_ro", "other-reader", "other/default_ro"],
    [undefined, "main-reader", undefined],
    ["default", "main-reader", undefined],
    ["default_ro", "main-token", undefined],
    ["default", "", undefined],
    ["Default", "main-token", undefined],
  ]);
});

test("A.tcp: a user names its database, which is optional if there is only one", () => {
  expectLogins(setUp("other"), [
    ["ann@main", "main-secret", "main/ann"],
    ["ann@other", "other-secret", "other/ann"],
    ["ann@other", "main-secret", undefined],
    ["ann", "main-secret", undefined],
    ["ann@none", "main-secret", undefined],
    ["bob@main", "main-secret", undefined],
    ["default@main", "main-token", undefined],
  ]);
  expectLogins(setUp(), [
    ["ann", "main-secret", "main/ann"],
    ["ann@main", "main-secret", "main/ann"],
    ["ann@none", "main-secret", undefined],
  ]);
});

test("a login does not create its database", () => {
  const { store, tokens } = setUp();
  new RespLogin({ store, tokens, isOpenToAll: true }).logIn({ user: "ann@new", password: "x" });
  assert.deepEqual(store.databaseNames, ["main"]);
});

test("a login has the grant of its token", () => {
  const { store, tokens } = setUp();
  const login = new RespLogin({ store, tokens, isOpenToAll: false });
  assert.equal(login.grant, undefined);
  login.logIn({ user: undefined, password: "main-token" });
  assert.equal(login.grant, tokens.find("main-token"));
  login.logIn({ user: "ann", password: "wrong" });
  assert.equal(login.grant, tokens.find("main-token"));
  login.logIn({ user: "ann", password: "main-secret" });
  assert.equal(login.grant, undefined);
});

test("allows clients without a login only if configured and with one database", () => {
  const one = setUp();
  assert.equal(new RespLogin({ ...one, isOpenToAll: false }).anonymous, undefined);
  assert.equal(new RespLogin({ ...one, isOpenToAll: true }).anonymous?.user.name, "default");
  assert.equal(new RespLogin({ ...setUp("other"), isOpenToAll: true }).anonymous, undefined);
});
