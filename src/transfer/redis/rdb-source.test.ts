/** Files of newer servers as a source: the remarks before an import, and refusals by name. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileOf, type Part } from "../../../test/harness/rdb-layout.ts";
import { openRdbSource, type RdbSource } from "./rdb-source.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Given {
  readonly head: string;
  readonly parts: readonly Part[];
  readonly database?: number;
  /** Bytes after the end of the file. */
  readonly rest?: string;
}

async function withSource<Result>(given: Given, run: (source: RdbSource) => Promise<Result>): Promise<Result> {
  const path = join(folder, "dump.rdb");
  writeFileSync(path, Buffer.concat([fileOf(given.head, given.parts), Buffer.from(given.rest ?? "")]));
  const source = await openRdbSource({ path, database: given.database });
  try {
    return await run(source);
  } finally {
    await source.close();
  }
}

/** The text of the refusal without the path of the file. */
async function refusalOf(given: Given): Promise<string> {
  return withSource(given, async (source) => {
    try {
      await source.open();
      return "none";
    } catch (fault) {
      return (fault as Error).message.replace(`${source.name}: `, "");
    }
  });
}

const K: Part = ["key k, value v", "00 016b 0176"];
const MAY_BE_DROPPED: Part = ["metadata of class TES1, an integer, may be dropped", "f3 01 01b5444c 02 05 00"];
const MUST_BE_KEPT: Part = ["metadata of class TES1, an integer, must not be dropped", "f3 01 00b5444c 02 05 00"];
const VECTORS: Part = ["key k, of module vectorset, an integer", "07 016b 81bde72da2bb1eb400 02 01 00"];

test("reports dropped metadata with the number of keys, and returns the keys", async () => {
  const parts: Part[] = [MAY_BE_DROPPED, K, MAY_BE_DROPPED, ["key l, value v", "00 016c 0176"], ["m", "00 016d 0176"]];
  await withSource({ head: "REDIS0013", parts }, async (source) => {
    assert.deepEqual(await source.open(), {
      keyCount: 3,
      remarks: ["the metadata of the module class TES1 at 2 keys is not imported"],
    });
    const keys: string[] = [];
    for await (const { entries } of source.batches(undefined)) keys.push(...entries.map(({ key }) => key));
    assert.deepEqual(keys, ["k", "l", "m"]);
  });
});

test("reports that the server was importing slots", async () => {
  const parts: Part[] = [
    ["an import of the slots 0-100", "f3 0161 01 00 4064"],
    ["an import of the slots 200-300 and 5-5", "f3 0162 02 40c8 412c 05 05"],
    K,
  ];
  await withSource({ head: "VALKEY080", parts }, async (source) => {
    assert.deepEqual(await source.open(), {
      keyCount: 1,
      remarks: [
        "its server was importing the slots 0-100 200-300 5-5: keys of these slots may be missing or incomplete",
      ],
    });
  });
});

test("refuses a file for a value or metadata of a module with the key, unless it is in another database", async () => {
  const inDatabase1: Part = ["database 1", "fe 01"];
  assert.equal(
    await refusalOf({ head: "REDIS0012", parts: [VECTORS] }),
    'the key "k" holds a value of the module vectorset, whose file format is specific to it: import from the running server instead, where documents are read with JSON.GET',
  );
  assert.equal(
    await refusalOf({ head: "REDIS0013", parts: [MUST_BE_KEPT, K] }),
    'the key "k" has metadata of the module class TES1, which larder does not have and must not drop: import from the running server instead, where only such keys are refused',
  );
  for (const each of [[VECTORS], [MUST_BE_KEPT, K]])
    assert.equal(await refusalOf({ head: "REDIS0013", parts: [K, inDatabase1, ...each], database: 0 }), "none");
});

test("refuses an append-only file with a preamble by its position, and reads the base file of a directory", async () => {
  const parts: Part[] = [["aof-base: 1", "fa 08 616f662d62617365 c001"], K];
  assert.equal(
    await refusalOf({ head: "VALKEY080", parts, rest: "*1\r\n$4\r\nPING\r\n" }),
    "it is damaged at byte 35: 14 bytes follow its end, as in a file of Redis' command log",
  );
  await withSource({ head: "VALKEY080", parts }, async (source) => {
    assert.deepEqual(await source.open(), { keyCount: 1, remarks: [] });
  });
});
