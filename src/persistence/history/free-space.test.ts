import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Database } from "./database.ts";
import type { Rewrite } from "./free-space.ts";
import { History } from "./history.ts";

const DELIVERED = 4;
const DETAIL = new Uint8Array(40_000).fill(7);

function newPath(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "larder-history-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "history.sqlite");
}

/** Messages of 40 KB; each is delivered at the time that equals its number. */
function fill(history: History, count: number): void {
  for (let number = 1; number <= count; number += 1) {
    const position = history.position + 1;
    const message = { message: number, user: 1, id: `m${number}`, attributes: [], detail: DETAIL };
    history.write({
      position,
      messages: [message],
      entries: [{ message: number, timeMs: number, state: DELIVERED, detail: undefined }],
    });
  }
}

function removeAll(history: History): number {
  while (history.removeBefore(1_000_000));
  let steps = 1;
  while (history.shrinkSome()) steps += 1;
  return steps;
}

test("a file shrinks in steps when entries are removed, and its WAL is truncated", (context) => {
  const path = newPath(context);
  const history = History.open(path, { lastStates: [DELIVERED] });
  context.after(() => history.close());
  fill(history, 1_000);
  while (history.shrinkSome());
  assert.ok(statSync(path).size > 40_000_000);

  const steps = removeAll(history);

  assert.ok(steps > 3, `${steps} steps`);
  assert.ok(statSync(path).size < 5_000_000, `${statSync(path).size} bytes`);
  assert.equal(statSync(`${path}-wal`).size, 0);
});

test("a file of an earlier version is rewritten when most of it is free", (context) => {
  const path = newPath(context);
  const rewrites: Rewrite[] = [];
  const open = (): History =>
    History.open(path, { lastStates: [DELIVERED], onRewritten: (rewrite) => rewrites.push(rewrite) });
  makeAsBefore(path, open);
  const history = open();
  context.after(() => history.close());
  fill(history, 1_000);
  assert.equal(history.shrinkSome(), false);
  assert.deepEqual(rewrites, []);

  removeAll(history);

  assert.equal(rewrites.length, 1);
  assert.ok(rewrites.every(({ bytesBefore }) => bytesBefore > 40_000_000));
  assert.ok(statSync(path).size < 5_000_000, `${statSync(path).size} bytes`);
  fill(history, 1_000);
  assert.ok(removeAll(history) > 3, "it now shrinks in steps");
  assert.equal(rewrites.length, 1);
});

/** A history file of an earlier version, which cannot shrink in steps. */
function makeAsBefore(path: string, open: () => History): void {
  open().close();
  const database = new Database(path, { readOnly: false });
  database.execute("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL");
  assert.equal(database.pragma("auto_vacuum"), 0);
  database.close();
}

test("a reader blocks nothing: the WAL is truncated after it has closed", (context) => {
  const path = newPath(context);
  const history = History.open(path, { lastStates: [DELIVERED] });
  context.after(() => history.close());
  fill(history, 10);
  const reader = new Database(path, { readOnly: true });
  reader.inSnapshot(() => {
    reader.prepare("SELECT count(*) FROM message").get();
    fill(history, 20);
    history.shrinkSome();
    assert.ok(statSync(`${path}-wal`).size > 0);
  });
  reader.close();

  history.shrinkSome();

  assert.equal(statSync(`${path}-wal`).size, 0);
});
