import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { DoubtfulOutcome, StoreFull } from "../log-store/log-store.ts";
import { type PgConnection, PgSession } from "./pg-session.ts";

const STATEMENT = { name: "one", text: "SELECT 1" };

/** A connection whose statements end as the test says, in order. */
class FakeConnection extends EventEmitter {
  readonly #ends: (() => unknown)[];
  isEnded = false;

  constructor(...ends: (() => unknown)[]) {
    super();
    this.#ends = ends;
  }

  query(): Promise<unknown> {
    const end = this.#ends.shift();
    return Promise.resolve().then(() => end?.());
  }

  end(): Promise<void> {
    this.isEnded = true;
    return Promise.resolve();
  }
}

/** A session over connections that are opened in order. */
function sessionOver(...connections: FakeConnection[]): PgSession {
  return new PgSession(() => {
    const next = connections.shift();
    if (next === undefined) throw new Error("There is no further connection");
    return Promise.resolve(next as unknown as PgConnection);
  });
}

function rows(...found: unknown[]): () => unknown {
  return () => ({ rows: found });
}

function failure(severity: string | undefined): () => never {
  return () => {
    throw Object.assign(new Error("failed"), severity === undefined ? {} : { severity });
  };
}

test("statements of a session share a connection, which is opened when it is first needed", async () => {
  const session = sessionOver(new FakeConnection(rows({ a: 1 }), rows({ a: 2 })));
  assert.deepEqual(await session.run(STATEMENT, []), { rows: [{ a: 1 }], isWarned: false });
  assert.deepEqual(await session.run(STATEMENT, []), { rows: [{ a: 2 }], isWarned: false });
});

test("a warning belongs to the statement that was running, and a notice is not a warning", async () => {
  const connection: FakeConnection = new FakeConnection(
    () => connection.emit("notice", { severity: "NOTICE" }) && { rows: [] },
    () => connection.emit("notice", { severity: "WARNING" }) && { rows: [] },
    rows(),
  );
  const session = sessionOver(connection);
  const results = await Promise.all([1, 2, 3].map(() => session.run(STATEMENT, [])));
  assert.deepEqual(
    results.map(({ isWarned }) => isWarned),
    [false, true, false],
  );
});

test("an error of PostgreSQL is thrown as it is, and the connection stays", async () => {
  const session = sessionOver(new FakeConnection(failure("ERROR"), rows({ a: 1 })));
  await assert.rejects(session.run(STATEMENT, []), { message: "failed", severity: "ERROR" });
  assert.deepEqual((await session.run(STATEMENT, [])).rows, [{ a: 1 }]);
});

test("an error of a full disk is named, and the connection stays", async () => {
  const full = (): never => {
    throw Object.assign(new Error("could not extend file"), { severity: "ERROR", code: "53100" });
  };
  const session = sessionOver(new FakeConnection(full, rows({ a: 1 })));
  await assert.rejects(session.run(STATEMENT, []), StoreFull);
  assert.deepEqual((await session.run(STATEMENT, [])).rows, [{ a: 1 }]);
});

for (const severity of ["FATAL", "PANIC", undefined]) {
  test(`a statement that ends with ${severity ?? "a lost connection"} is doubtful, and the next one has a new connection`, async () => {
    const session = sessionOver(new FakeConnection(failure(severity)), new FakeConnection(rows({ a: 1 })));
    await assert.rejects(session.run(STATEMENT, []), DoubtfulOutcome);
    assert.deepEqual((await session.run(STATEMENT, [])).rows, [{ a: 1 }]);
  });
}

test("a connection that is lost between two statements is opened again", async () => {
  const first = new FakeConnection(rows({ a: 1 }));
  const session = sessionOver(first, new FakeConnection(rows({ a: 2 })));
  await session.run(STATEMENT, []);
  first.emit("error", new Error("reset by peer"));
  assert.deepEqual((await session.run(STATEMENT, [])).rows, [{ a: 2 }]);
});

test("closing waits for the statement that is running", async () => {
  let end: (() => void) | undefined;
  const connection = new FakeConnection(() => new Promise((resolve) => (end = () => resolve({ rows: [{ a: 1 }] }))));
  const session = sessionOver(connection);
  const result = session.run(STATEMENT, []);
  await new Promise((resolve) => setImmediate(resolve));
  const closed = session.close();
  assert.equal(connection.isEnded, false);
  end?.();
  assert.deepEqual((await result).rows, [{ a: 1 }]);
  await closed;
  assert.equal(connection.isEnded, true);
});
