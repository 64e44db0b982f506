import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeLog } from "./change-log.ts";

test("a search sees each record that changed since it began once", () => {
  const log = new ChangeLog();
  const early = log.begin();
  log.note(1);
  const late = log.begin();
  log.note(2);
  log.note(2);

  assert.deepEqual([...log.since(early)], [1, 2]);
  assert.deepEqual([...log.since(late)], [2]);
});

test("notes nothing while no search runs", () => {
  const log = new ChangeLog();
  log.note(1);
  const mark = log.begin();

  assert.equal(log.since(mark).size, 0);
});

test("the log of one search stays complete when another search ends", () => {
  const log = new ChangeLog();
  const first = log.begin();
  log.begin();
  log.note(7);
  log.end();

  assert.deepEqual([...log.since(first)], [7]);
});

test("counts the changes since a mark, also repeated ones", () => {
  const log = new ChangeLog();
  const first = log.begin();
  log.note(1);
  const second = log.begin();
  log.note(2);
  log.note(2);
  assert.deepEqual([log.countSince(first), log.countSince(second)], [3, 2]);
});
