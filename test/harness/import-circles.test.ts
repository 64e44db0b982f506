import assert from "node:assert/strict";
import { test } from "node:test";
import { circlesOf } from "./import-circles.ts";

function circlesIn(imports: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  return circlesOf(new Map(Object.entries(imports).map(([file, targets]) => [file, [...targets]])));
}

test("a chain of imports, and two paths to one file, are not a circle", () => {
  assert.deepEqual(circlesIn({ a: "bc", b: "d", c: "d", d: "" }), []);
});

test("a file that imports itself, or an unknown file, is not a circle", () => {
  assert.deepEqual(circlesIn({ a: "a", b: "z" }), []);
});

test("files that reach each other are one circle, and two circles in a chain are two", () => {
  assert.deepEqual(circlesIn({ a: "b", b: "cd", c: "a", d: "e", e: "f", f: "d", g: "a" }), [
    ["d", "e", "f"],
    ["a", "b", "c"],
  ]);
});

test("circles that share a file are one", () => {
  assert.deepEqual(circlesIn({ a: "b", b: "ac", c: "b" }), [["a", "b", "c"]]);
});
