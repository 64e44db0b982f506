/** The second file of an export: written entries are read back, and an invalid line is named. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { documentsPath, printDocument, readDocuments } from "./documents-file.ts";
import type { SourceEntry } from "./store/source.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const path = documentsPath(join(folder, "dump.rdb"));

async function readAll(text: string | Buffer, from = 0): Promise<SourceEntry[]> {
  writeFileSync(path, text);
  const entries: SourceEntry[] = [];
  for await (const entry of readDocuments(path, from)) entries.push(entry);
  return entries;
}

const written: readonly SourceEntry[] = [
  { key: "k\xc3\xa9", atMs: 5_000, value: { kind: "document", text: '{"a":"\xc3\xa9"}' } },
  { key: "\xff\n", atMs: undefined, value: { kind: "dump", payload: "\x18\x00\xff" } },
  { key: "", atMs: undefined, value: { kind: "document", text: "1" } },
  {
    key: "index",
    atMs: undefined,
    value: { kind: "index", words: ["ON", "HASH", "PREFIX", "1", "", "SCHEMA", "\xff", "TEXT"], aliases: ["a", "b"] },
  },
  { key: "plain", atMs: undefined, value: { kind: "index", words: ["ON"], aliases: [] } },
];

test("reads back written entries, from any line on", async () => {
  const text = written.map((entry) => `${printDocument(entry)}\n`).join("");
  assert.equal(text.split("\n")[0], '{"key":"ké","expiresAtMs":5000,"json":"{\\"a\\":\\"é\\"}"}');
  assert.deepEqual(await readAll(text), written);
  assert.deepEqual(await readAll(text, 1), written.slice(1));
});

test("names an invalid line with the reason", async () => {
  const rows: readonly (readonly [line: string, reason: string])[] = [
    ["{", "is not valid JSON"],
    ["1", "must have either key or keyBase64"],
    ['{"key":"k"}', "must have one of json, dumpBase64 and searchBase64"],
    ['{"key":1,"json":"1"}', "has a key that is not a string"],
    ['{"key":"k","keyBase64":"aw==","json":"1"}', "must have either key or keyBase64"],
    ['{"key":"k","json":"1","expiresAtMs":"soon"}', "has an expiresAtMs that is not a time in ms"],
  ];
  for (const [line, reason] of rows)
    await assert.rejects(readAll(`{"key":"k","json":"1"}\n${line}\n`), { message: `${path}: line 2 ${reason}` }, line);
});

test("refuses a line that is not UTF-8", async () => {
  const bytes = Buffer.from('{"key":"k","json":"1"}\n{"key":"\u00e4","json":"1"}\n', "latin1");
  await assert.rejects(readAll(bytes), { message: `${path}: line 2 is not UTF-8` });
});
