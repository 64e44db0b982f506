import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeLog } from "./change-log.ts";

test("a search sees what changed since it began, each record once", () => {
  const log = new ChangeLog();
  const early = log.begin();
  log.note(1);
  const late = log.begin();
  log.note(2);
  log.note(2);

  assert.deepEqual([...log.since(early)], [1, 2]);
  assert.deepEqual([...log.since(late)], [2]);
});

test("nothing is noted while nobody searches", () => {
  const log = new ChangeLog();
  log.note(1);
  const mark = log.begin();

  assert.equal(log.since(mark).size, 0);
});

test("the log of one search is still whole when another has ended", () => {
  const log = new ChangeLog();
  const first = log.begin();
  log.begin();
  log.note(7);
  log.end();

  assert.deepEqual([...log.since(first)], [7]);
});
