/**
 * Data directories written by older builds (test/fixtures/data-directories): this
 * build opens them, serves their state, and writes the same bytes.
 *
 * (1) A committed directory is never changed: users have such directories on
 *     their disks. A new format adds one (test/fixtures/write-data-directory.ts).
 * (2) This build writes the last directory, frame by frame. So a build
 *     that reads it reads the files of this build.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  areas,
  assertNew,
  directoryNames,
  openSegmentOf,
  pathsOf,
  ROOT,
  readFixture,
  recordsOf,
  SEGMENT,
  SNAPSHOT,
  servedOf,
  servedPath,
  writeFixture,
} from "./fixtures/directories.ts";
import { framesOf, HEADER_BYTES, tornInHalf } from "./fixtures/file-frames.ts";

/** Of one directory, with its texts. */
const BYTES_MAX = 512 * 1024;
const newest = directoryNames.at(-1) ?? "";

for (const directory of directoryNames) {
  for (const area of areas) {
    test(`${area.name} of ${directory} is opened, and its state is served`, async () => {
      const served = await servedOf(directory, area);
      const expected = readFileSync(servedPath(directory, area.name), "utf8");
      assert.equal(firstDifference(served.split("\n"), expected.split("\n")), undefined);
    });
  }
}

for (const area of areas) {
  describe(`${area.name} of ${newest}`, () => {
    const files = readFixture(newest, area);

    test("has every kind of record", () => {
      const found = recordsOf(area, files);
      const open = found.get(openSegmentOf(files)) ?? new Set();
      const past = new Set(
        [...found].filter(([path]) => path !== openSegmentOf(files)).flatMap(([, kinds]) => [...kinds]),
      );
      for (const [key, name] of area.records) {
        const remedy = `let test/fixtures/${area.name}-*.ts cause one, and add a directory with write-data-directory.ts`;
        assert.ok(past.has(key), `${name} (${key}) is in no snapshot or closed segment: ${remedy}`);
        if (area.snapshotOnly.has(key)) continue;
        assert.ok(open.has(key), `${name} (${key}) is not in the open segment: ${remedy}`);
      }
      const unknown = [...past, ...open].filter((key) => !area.records.has(key));
      assert.deepEqual(unknown, [], "every record is in the table of codes");
    });

    test("equals the output of this build, frame by frame", async () => {
      const written = await writeFixture(area);
      assert.deepEqual([...written.keys()].toSorted(), [...files.keys()].toSorted());
      for (const path of [...pathsOf(files, SEGMENT), ...pathsOf(files, SNAPSHOT)]) {
        const bytes = written.get(path) ?? Buffer.alloc(0);
        const ours = path === openSegmentOf(files) ? tornInHalf(bytes) : bytes;
        const committed = files.get(path) ?? Buffer.alloc(0);
        assert.equal(firstDifference(hexOf(ours), hexOf(committed)), undefined, path);
      }
    });
  });
}

test("the committed directories are small", () => {
  for (const directory of directoryNames) {
    const base = join(ROOT, directory);
    const paths = readdirSync(base, { recursive: true, encoding: "utf8" });
    const bytes = paths.reduce((sum, path) => sum + statSync(join(base, path)).size, 0);
    assert.ok(bytes <= BYTES_MAX, `${directory} has ${bytes} bytes: let the programs of test/fixtures write less`);
  }
});

test("a committed directory is not overwritten", () => {
  assert.throws(() => assertNew(newest), / is what an older build wrote, and stays as it is/);
});

/** The header of a file, and the payload of each frame. The batching of frames is not compared. */
function hexOf(bytes: Buffer): readonly string[] {
  const header = bytes.toString("hex", 0, HEADER_BYTES);
  return [header, ...framesOf(bytes).map(({ payload }) => payload.toString("hex"))];
}

/** Both sides of the first line that differs, from shortly before the difference; undefined if they are equal. */
function firstDifference(ours: readonly string[], committed: readonly string[]): string | undefined {
  for (let i = 0; i < Math.max(ours.length, committed.length); i += 1) {
    const [one = "nothing", other = "nothing"] = [ours[i], committed[i]];
    if (one === other) continue;
    let at = 0;
    while (one[at] === other[at]) at += 1;
    const shown = (line: string): string => line.slice(Math.max(0, at - 80), at + 160);
    return `line ${i + 1}, character ${at + 1}\n  this build: ${shown(one)}\n  committed:  ${shown(other)}`;
  }
  return undefined;
}
