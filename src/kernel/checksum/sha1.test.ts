import assert from "node:assert/strict";
import { test } from "node:test";
import { sha1 } from "./sha1.ts";

test("SHA-1 of text, of bytes beyond ASCII, and of nothing", () => {
  assert.equal(sha1("abc").toString("hex"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  assert.equal(sha1("\xff").toString("hex"), sha1(Buffer.from([255])).toString("hex"));
  assert.equal(sha1("").toString("hex"), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
});
