/** Groups of a stream by their names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ID_MIN } from "../structures/stream-id.ts";
import { StreamValue } from "./stream.ts";

const state = { lastId: ID_MIN, readCount: 0 };

test("a group is found by its name alone, whichever was found last", () => {
  const stream = new StreamValue();
  stream.putGroup("one", state);
  stream.putGroup("other", state);
  for (const name of ["one", "other", "one", "none", "other", "none"])
    assert.equal(stream.group(name)?.name, name === "none" ? undefined : name);
});

test("a removed group is not found, and one that is created again is new", () => {
  const stream = new StreamValue();
  stream.putGroup("group", state);
  const first = stream.group("group");
  stream.removeGroup("group");
  assert.equal(stream.group("group"), undefined);
  stream.putGroup("group", state);
  assert.notEqual(stream.group("group"), first);
});

test("a group that is put back is found in place of the one that was created meanwhile", () => {
  const stream = new StreamValue();
  stream.putGroup("group", state);
  const first = stream.group("group");
  const restore = stream.groupRestorer("group");
  stream.removeGroup("group");
  stream.putGroup("group", state);
  assert.notEqual(stream.group("group"), first);
  restore();
  assert.equal(stream.group("group"), first);
});
