/** Metadata patches: the examples of RFC 7396, and names with a meaning in JavaScript. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { METADATA_DEPTH_MAX } from "../limits.ts";
import { mergePatch } from "./patch.ts";

/** Appendix A, the cases in which both sides are objects. */
const examples: readonly (readonly [target: string, patch: string, result: string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

test("B.update.patch: a metadata patch agrees with the examples of RFC 7396", () => {
  for (const [target, patch, result] of examples) assert.equal(mergePatch(target, patch), result, `${target} ${patch}`);
});

test("B.update.patch: existing and new numbers keep their spelling", () => {
  const rows: [string | undefined, string, string][] = [
    [
      '{"a":1.0,"b":9007199254740993}',
      '{"c":12345678901234567890}',
      '{"a":1.0,"b":9007199254740993,"c":12345678901234567890}',
    ],
    ['{"a":{"b":1.50,"c":-0}}', '{"a":{"b":2.0}}', '{"a":{"b":2.0,"c":-0}}'],
    ['{"a":1.0}', '{"a":{"b":1.0}}', '{"a":{"b":1.0}}'],
    ['{"a":{"b":1}}', '{"a":1.0}', '{"a":1.0}'],
    [undefined, '{"a":[1.0,{"b":null}]}', '{"a":[1.0,{"b":null}]}'],
  ];
  for (const [target, patch, result] of rows) assert.equal(mergePatch(target, patch), result, patch);
});

test("B.update.patch: the example of RFC 7396 section 3, as compact JSON", () => {
  const target = `{ "title": "Goodbye!", "author": { "givenName": "John", "familyName": "Doe" },
    "tags": ["example", "sample"], "content": "This will be unchanged" }`;
  const patch = `{ "title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": { "familyName": null }, "tags": ["example"] }`;
  assert.equal(
    mergePatch(target, patch),
    '{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}',
  );
});

test("B.update.patch: a record without metadata is patched like an empty object", () => {
  assert.equal(mergePatch(undefined, '{"a":{"b":null,"c":[null]},"d":null}'), '{"a":{"c":[null]}}');
});

test("A-11: names of Object.prototype are members like any other", () => {
  for (const name of ["__proto__", "constructor", "toString", "prototype", "hasOwnProperty", ""]) {
    const one = `{"${name}":{"x":1}}`;
    assert.equal(mergePatch("{}", one), one);
    assert.equal(mergePatch(undefined, `{"a":${one}}`), `{"a":${one}}`);
    assert.equal(mergePatch(one, `{"${name}":{"y":2}}`), `{"${name}":{"x":1,"y":2}}`);
    assert.equal(mergePatch(one, `{"${name}":null}`), "{}");
    assert.equal(mergePatch("{}", `{"${name}":null}`), "{}");
  }
  assert.equal(Object.hasOwn(Object.prototype, "x"), false);
});

test("B-08: a patch may be as deep as metadata, and no deeper", () => {
  const deep = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  assert.equal(mergePatch("{}", deep(METADATA_DEPTH_MAX)), deep(METADATA_DEPTH_MAX));
  assert.throws(() => mergePatch("{}", deep(METADATA_DEPTH_MAX + 1)));
});
