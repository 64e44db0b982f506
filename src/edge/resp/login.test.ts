import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession } from "../../../test/harness/store-harness.ts";
import type { Store } from "../../store/mod.ts";
import { TokenTable } from "../auth.ts";
import { RespLogin } from "./login.ts";

interface Place {
  readonly store: Store;
  readonly tokens: TokenTable;
}

function place(...names: readonly string[]): Place {
  const { store } = startSession();
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  for (const name of ["main", ...names]) {
    const database = store.database(name);
    database.users.set("ann", ["on", `>${name}-secret`, "+@all", "~*"]);
    tokens.replaceTenant(name, [
      { token: `${name}-token`, access: "standard" },
      { token: `${name}-reader`, access: "read-only" },
    ]);
  }
  return { store, tokens };
}

type Row = readonly [user: string | undefined, password: string, opened: string | undefined];

/** `database/user` that each pair of credentials opens. */
function expectLogins({ store, tokens }: Place, rows: readonly Row[]): void {
  for (const [user, password, opened] of rows) {
    const loggedIn = new RespLogin({ store, tokens, isOpenToAll: false }).logIn({ user, password });
    const found = loggedIn === undefined ? undefined : `${loggedIn.database.name}/${loggedIn.user.name}`;
    assert.equal(found, opened, `${user} ${password}`);
  }
}

test("A.tcp: the token names the database, and the user its kind", () => {
  expectLogins(place("other"), [
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

test("A.tcp: a user names its database, which is understood where there is only one", () => {
  expectLogins(place("other"), [
    ["ann@main", "main-secret", "main/ann"],
    ["ann@other", "other-secret", "other/ann"],
    ["ann@other", "main-secret", undefined],
    ["ann", "main-secret", undefined],
    ["ann@none", "main-secret", undefined],
    ["bob@main", "main-secret", undefined],
    ["default@main", "main-token", undefined],
  ]);
  expectLogins(place(), [
    ["ann", "main-secret", "main/ann"],
    ["ann@main", "main-secret", "main/ann"],
    ["ann@none", "main-secret", undefined],
  ]);
});

test("asking for a database that is not there makes none", () => {
  const { store, tokens } = place();
  new RespLogin({ store, tokens, isOpenToAll: true }).logIn({ user: "ann@new", password: "x" });
  assert.deepEqual(store.databaseNames, ["main"]);
});

test("a login knows the token that it was opened by", () => {
  const { store, tokens } = place();
  const login = new RespLogin({ store, tokens, isOpenToAll: false });
  assert.equal(login.grant, undefined);
  login.logIn({ user: undefined, password: "main-token" });
  assert.equal(login.grant, tokens.find("main-token"));
  login.logIn({ user: "ann", password: "wrong" });
  assert.equal(login.grant, tokens.find("main-token"));
  login.logIn({ user: "ann", password: "main-secret" });
  assert.equal(login.grant, undefined);
});

test("who says nothing comes in only where that is wanted, and there is one database", () => {
  const one = place();
  assert.equal(new RespLogin({ ...one, isOpenToAll: false }).anonymous, undefined);
  assert.equal(new RespLogin({ ...one, isOpenToAll: true }).anonymous?.user.name, "default");
  assert.equal(new RespLogin({ ...place("other"), isOpenToAll: true }).anonymous, undefined);
});
