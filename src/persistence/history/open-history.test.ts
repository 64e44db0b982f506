import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Log, silentLog } from "../../kernel/log.ts";
import { Database, failureOf } from "./database.ts";
import type { History } from "./history.ts";
import { openHistory } from "./open-history.ts";

function inFolder(use: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "larder-history-"));
  try {
    use(join(folder, "history.sqlite"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function open(path: string, events: string[] = []): History {
  const log: Log = { ...silentLog, warn: (event) => events.push(event) };
  return openHistory({ path, log, lastStates: [4] });
}

function fill(path: string): void {
  const history = open(path);
  for (let n = 0; n < 200; n += 1) {
    const message = { message: n, user: 1, id: `msg_${n}`, attributes: [], detail: Buffer.alloc(500, n) };
    history.write({
      messages: [message],
      entries: [{ message: n, timeMs: n, state: 0, detail: undefined }],
      position: n + 1,
    });
  }
  history.close();
}

test("a new file is readable by its owner alone", () => {
  inFolder((path) => {
    const history = open(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o600);
    history.close();
  });
});

test("continues an undamaged file", () => {
  inFolder((path) => {
    fill(path);
    const events: string[] = [];
    const history = open(path, events);
    assert.equal(history.position, 200);
    assert.deepEqual(events, []);
    history.close();
  });
});

test("what is in place of the file is moved aside, twice too", () => {
  inFolder((path) => {
    const events: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      mkdirSync(path);
      open(path, events).close();
      rmSync(path);
    }
    assert.ok(statSync(`${path}.damaged`).isDirectory());
    assert.deepEqual(events, Array(2).fill("rebuilding the history from the journal"));
  });
});

for (const [name, damage] of [
  ["is not a database", () => Buffer.from("something else ".repeat(1_000))],
  ["has a torn first page", (bytes: Buffer) => bytes.fill(0xff, 16, 4_000)],
] as const) {
  test(`a file that ${name} is moved aside, and a new one is created`, () => {
    inFolder((path) => {
      fill(path);
      const damaged = damage(readFileSync(path));
      writeFileSync(path, damaged);
      const events: string[] = [];

      const history = open(path, events);

      assert.equal(history.position, 0);
      assert.deepEqual(events, ["rebuilding the history from the journal"]);
      assert.deepEqual(readFileSync(`${path}.damaged`), Buffer.from(damaged));
      history.close();
    });
  });
}

test("reports damage that it finds later", () => {
  inFolder((path) => {
    fill(path);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, bytes.length >> 1));
    const history = open(path);
    assert.throws(
      () => history.list({ user: 1, attributes: new Map(), order: "latest first", count: 200 }),
      (fault) => failureOf(fault) === "damaged",
    );
    history.close();
  });
});

test("moves a file with another layout aside", () => {
  inFolder((path) => {
    fill(path);
    const database = new Database(path, { readOnly: false });
    database.execute("PRAGMA user_version = 99");
    database.close();

    const history = open(path);

    assert.equal(history.position, 0);
    assert.ok(existsSync(`${path}.damaged`));
    history.close();
  });
});
