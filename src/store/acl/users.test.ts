/** Users in the journal: they survive a start and a snapshot, and each database has its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, ok, splitLine, startSession } from "../../../test/harness/store-harness.ts";
import { stateOf } from "../../../test/simulation/store/store-state.ts";
import { RedisCompat } from "../commands/redis-compat.ts";
import type { Database } from "../database.ts";
import type { Reply } from "../reply/reply.ts";
import type { Store } from "../store.ts";
import { defaultUser } from "./built-in-users.ts";

/** Some users of every kind, some changed and some deleted. */
const history: readonly string[] = [
  "ACL SETUSER ann on >p >q ~a* %R~b &c +@all -@write (+set ~z)",
  "ACL SETUSER bob on nopass allkeys +config|get +get|x",
  "ACL SETUSER cat on >p",
  "ACL SETUSER ann <q -get sanitize-payload",
  "ACL RESTTOKEN ann p",
  "ACL SETUSER bob nope",
  "ACL DELUSER cat",
  "ACL SETUSER dan reset",
];

function usersOf(store: Store): unknown {
  return store.databases.map((database) => ({
    names: database.users.names(),
    rules: database.users.names().map((name) => database.users.find(name)?.rights.describe()),
    tokens: database.users.names().map((name) => database.users.tokenDigestsOf(name)),
  }));
}

test("users, their passwords and their tokens are restored by a start, from the journal and from a snapshot", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (const line of history) session.run(line);
  const token = String(session.run("ACL GENTOKEN ann"));
  session.expect([[`ACL SETUSER ann >${token}`, ok]]);

  for (const [name, frames] of [
    ["journal", journal.frames],
    ["snapshot", session.store.dump()],
  ] as const) {
    const again = replayed(frames);
    assert.deepEqual(usersOf(again), usersOf(session.store), name);
    assert.equal(stateOf(again), stateOf(session.store), name);
    const { users } = again.database("main");
    assert.ok(users.authenticate("ann", "p") !== undefined && users.authenticate("ann", token) !== undefined);
    assert.equal(users.authenticate("ann", "q"), undefined);
    assert.equal(users.tokenDigestsOf("ann").length, 3);
  }
});

test("no password and no token is in the journal", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([["ACL SETUSER ann on >my-clear-password", ok]]);
  const tokens = ["ACL RESTTOKEN ann my-clear-password", "ACL GENTOKEN ann"].map((line) => String(session.run(line)));
  session.expect([[`ACL SETUSER ann >${tokens[1]}`, ok]]);
  const journaled = Buffer.concat(journal.frames).toString("latin1");
  for (const secret of ["my-clear-password", ...tokens]) assert.ok(!journaled.includes(secret), secret);
});

test("frames without users, as older versions wrote them, can be read", () => {
  const session = startSession();
  session.run("SET k v");
  const again = restored(session.store.dump());
  assert.deepEqual(again.database("main").users.names(), []);
});

test("replay ignores a rule on commands that this version does not know", () => {
  const { users } = startSession().database;
  users.replayUser("ann", { rules: ["on", "~a", "-@all", "+get", "+nope", "+@nope"], tokenHashes: [] });
  assert.deepEqual(users.find("ann")?.rights.describe(), ["on", "~a", "resetchannels", "-@all", "+get"]);
});

test("a reload within the running server keeps the user objects", () => {
  const session = startSession({ compat: new RedisCompat(() => {}) });
  session.run("ACL SETUSER ann on >p");
  const ann = session.database.users.find("ann");
  session.expect([["DEBUG RELOAD", ok]]);
  assert.equal(session.database.users.find("ann"), ann);
  assert.equal(ann?.isDeleted, false);
});

test("a reset removes the users of all databases, and reports each", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (const line of history) session.run(line);
  const reported: string[] = [];
  const { users } = session.database;
  const ann = users.find("ann");
  users.onChange = (name) => reported.push(name);
  session.store.reset();
  assert.deepEqual(users.names(), []);
  assert.deepEqual(reported, ["ann", "bob", "dan"]);
  assert.equal(ann?.isDeleted, true);
  assert.deepEqual(replayed(journal.frames).database("main").users.names(), []);
});

test("A-06: users, tokens and logs of two databases are independent", () => {
  const { store } = startSession();
  const [one, other] = ["one", "other"].map((name) => store.database(name)) as [Database, Database];
  const run = (database: Database, line: string, user = "default"): Reply =>
    database.execute(
      {
        user: database.users.find(user) ?? defaultUser,
        transport: "http",
        address: "127.0.0.1:1",
      },
      splitLine(line),
    );
  run(one, "ACL SETUSER ann on >p +get ~a");
  assert.equal(other.users.find("ann"), undefined);
  assert.equal(other.users.authenticate("ann", "p"), undefined);
  assert.deepEqual(run(other, "ACL USERS"), ["default"]);
  run(other, "ACL SETUSER ann on >p +@all ~*");
  assert.notEqual(run(one, "ACL RESTTOKEN ann p"), run(other, "ACL RESTTOKEN ann p"));
  run(one, "SET a 1", "ann");
  assert.equal((run(one, "ACL LOG") as readonly Reply[]).length, 1);
  assert.equal((run(other, "ACL LOG") as readonly Reply[]).length, 0);
  const foreign = String(run(one, "ACL GENTOKEN ann"));
  run(other, `ACL SETUSER ann >${foreign}`);
  assert.equal(other.users.tokenDigestsOf("ann").length, 2, "a token of another database is only a password");
});

test("a deleted user may do nothing, even in sessions that hold it", () => {
  const session = startSession();
  session.run("ACL SETUSER ann on nopass +@all ~* &*");
  const ann = session.database.users.find("ann");
  assert.ok(ann !== undefined);
  const caller = { user: ann, transport: "http", address: "127.0.0.1:1" } as const;
  assert.deepEqual(session.database.execute(caller, ["SET", "k", "v"]), ok);
  session.run("ACL DELUSER ann");
  assert.deepEqual(
    session.database.execute(caller, ["GET", "k"]),
    error("NOPERM this user has no permissions to run the 'get' command or its subcommand"),
  );
});
