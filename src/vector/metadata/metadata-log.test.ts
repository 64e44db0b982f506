/** The log of changed records: how far it reaches back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetadataLog } from "./metadata-log.ts";

test("stores nothing before the first follower", () => {
  const log = new MetadataLog();
  log.append(5, 10);
  assert.equal(log.start, log.end);
  log.keep();
  const position = log.end;
  log.append(7, 10);
  log.append(8, 10);
  assert.equal(log.start, position);
  assert.deepEqual([log.at(position), log.at(position + 1)], [7, 8]);
});

test("stores at least as many changes as there are records, and drops the oldest", () => {
  const log = new MetadataLog();
  log.keep();
  for (let record = 0; record < 5_000; record += 1) log.append(record, 3_000);
  assert.equal(log.end, 5_000);
  assert.ok(log.start <= 2_000, `${log.start}`);
  for (let position = log.start; position < log.end; position += 1) assert.equal(log.at(position), position);

  const small = new MetadataLog();
  small.keep();
  for (let record = 0; record < 5_000; record += 1) small.append(record, 10);
  assert.equal(small.end - small.start, 1_024);
});

test("forget puts every follower before the start", () => {
  const log = new MetadataLog();
  log.keep();
  log.append(1, 1);
  const position = log.end;
  log.forget();
  assert.ok(position < log.start);
  assert.equal(log.start, log.end);
});
