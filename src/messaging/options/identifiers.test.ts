import assert from "node:assert/strict";
import { test } from "node:test";
import { isIdentifier } from "./identifiers.ts";

test("H.identifiers: letters, digits, hyphen, underscore and period are allowed, and no other character", () => {
  const allowed = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  let found = "";
  for (let code = 0; code < 0x1_0000; code += 1) {
    const character = String.fromCharCode(code);
    if (isIdentifier(`a${character}`)) found += character;
  }
  assert.equal(found, allowed);
});

test("H.identifiers: 1 to 256 characters, each of which counts", () => {
  const table: [string, boolean][] = [
    ["", false],
    ["my-queue_1.2", true],
    ["a b", false],
    ["a/b", false],
    ["a\n", false],
    ["größe", false],
    [".", false],
    [".", false],
    ["...", true],
    [".a", true],
    ["a".repeat(256), true],
    ["a".repeat(257), false],
    [`${"a".repeat(255)}/`, false],
  ];
  for (const [text, isOne] of table) assert.equal(isIdentifier(text), isOne, text);
});
