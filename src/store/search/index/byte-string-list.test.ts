/** Byte strings by their number, over several pages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBytesOf } from "../../../kernel/bytes.ts";
import { ByteStringList } from "./byte-string-list.ts";

test("strings keep their numbers over all pages, and only the last page has room to spare", () => {
  const list = new ByteStringList();
  assert.equal(list.memoryBytes, 0);
  const count = 2 * 4_096 + 1;
  for (let i = 0; i < count; i += 1) list.push(`s${i % 10}`);
  list.drop(4_096);
  assert.equal(list.length, count);
  for (let i = 0; i < count; i += 1) if (list.at(i) !== (i === 4_096 ? "" : `s${i % 10}`)) assert.fail(`string ${i}`);
  const stringBytes = (count - 1) * memoryBytesOf("s0") + memoryBytesOf("");
  assert.equal(list.memoryBytes, stringBytes + 8 * (2 * 4_096 + 16));
});
