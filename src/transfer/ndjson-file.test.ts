/** Files of lines: continued writing and reading, and lines longer than a piece. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { NdjsonWriter, readLastLine, readLines } from "./ndjson-file.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function linesOf(path: string, from = 0): Promise<readonly (readonly [string, number])[]> {
  const found: (readonly [string, number])[] = [];
  for await (const lines of readLines(path, from)) for (const { text, end } of lines) found.push([text, end]);
  return found;
}

test("reads lines with their end offsets, from any of them on, also lines longer than a piece", async () => {
  const path = join(folder, "lines.ndjson");
  const long = "ü".repeat(1_500_000);
  writeFileSync(path, `a\n\n${long}\nlast`);
  const end = 3 + 3_000_000 + 1;

  assert.deepEqual(await linesOf(path), [
    ["a", 2],
    ["", 3],
    [long, end],
    ["last", end + 4],
  ]);
  assert.deepEqual(await linesOf(path, end), [["last", end + 4]]);
  await assert.rejects(linesOf(join(folder, "none")), {
    name: "StartRefusal",
    message: /^File .*none or its directory does not exist/,
  });
});

test("a writer keeps complete lines and continues after them, readable only by the owner", async () => {
  const path = join(folder, "written.ndjson");
  const first = await NdjsonWriter.open(path, 0);
  await first.write(["one", "two"]);
  const { bytes } = first;
  await first.write(["never"]);
  await first.close();
  const second = await NdjsonWriter.open(path, bytes);
  await second.write(["three"]);
  await second.close();

  assert.equal(readFileSync(path, "utf8"), "one\ntwo\nthree\n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await assert.rejects(NdjsonWriter.open(path, 100), { message: /is shorter than before/ });
});

test("the last line counts only when it is complete and short enough", async () => {
  const path = join(folder, "last.ndjson");
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["a\nbc\n", "bc"],
    ["bc\n", "bc"],
    ["a\nbc", undefined],
    ["", undefined],
    [`${"x".repeat(20)}\n`, undefined],
  ];
  for (const [text, expected] of rows) {
    writeFileSync(path, text);
    assert.equal(await readLastLine(path, 8), expected, JSON.stringify(text));
  }
});

test("what is no text file is refused by name", async () => {
  const path = join(folder, "latin1.ndjson");
  writeFileSync(path, Buffer.from('{"id":"a"}\n{"id":"\u00e4"}\n', "latin1"));
  await assert.rejects(linesOf(path), { message: `${path} is not UTF-8: byte 18 (0xe4) is invalid` });
  await assert.rejects(linesOf("/dev/zero"), { message: "/dev/zero is a device, not a file" });
  await assert.rejects(readLastLine(folder, 8), { message: `${folder} is a directory, not a file` });
});
