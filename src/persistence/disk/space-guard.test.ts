/** Writes are refused before the disk is full: with simulated free space and virtual time. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { appendSafely, emptyDisk, openOn, readOn, settle } from "../../../test/harness/persistence-fixture.ts";
import { directoryBytes, freeBytesNow, readFreeBytes } from "./disk-usage.ts";

const MIN = 1_600;
const REASON = "Less than 1600 is left";

test("S-04: refuses writes while too little space is left, and accepts them again with a sixteenth more", async () => {
  let free: number | Error = MIN;
  const readFreeBytes = async (): Promise<number> => {
    if (free instanceof Error) throw free;
    return free;
  };
  const disk = await emptyDisk();
  const opened = await openOn(disk, { space: { freeBytesMin: MIN, reason: REASON, readFreeBytes } });
  const { journal } = opened.area;
  const refusals: unknown[] = [];
  for (const next of [MIN, MIN - 1, MIN, 1_699, new Error("EIO"), 1_700, MIN, 0]) {
    free = next;
    opened.clock.advance(1_000);
    await settle();
    refusals.push(journal.refusal);
  }
  assert.deepEqual(refusals, [undefined, REASON, REASON, REASON, REASON, undefined, undefined, REASON]);

  // Frames that are already under way are still written, and a stop writes and ends the rest.
  await appendSafely(opened, "late");
  await opened.area.close();
  assert.deepEqual((await readOn(disk)).frames, ["late"]);
});

test("the journal is tight until a look finds a gigabyte", async () => {
  let free: number | Error = new Error("EIO");
  const readFreeBytes = async (): Promise<number> => {
    if (free instanceof Error) throw free;
    return free;
  };
  const { area, clock } = await openOn(await emptyDisk(), { space: { freeBytesMin: 0, reason: "", readFreeBytes } });
  await settle();
  const seen = [area.journal.isTight];
  for (const next of [2 ** 30, 2 ** 30 - 1, new Error("EIO"), 0]) {
    free = next;
    clock.advance(1_000);
    await settle();
    seen.push(area.journal.isTight);
  }
  assert.deepEqual([seen, area.journal.refusal], [[true, false, true, true, true], undefined]);
  await area.close();
});

test("a second reason to refuse writes stays when the first one is gone", async () => {
  let free = 0;
  const opened = await openOn(await emptyDisk(), {
    space: { freeBytesMin: MIN, reason: REASON, readFreeBytes: () => Promise.resolve(free) },
  });
  const { journal } = opened.area;
  await settle();
  assert.equal(journal.refusal, REASON);
  journal.refuse("PostgreSQL is full", "cluster");
  free = 2 * MIN;
  opened.clock.advance(1_000);
  await settle();
  assert.equal(journal.refusal, "PostgreSQL is full");
  journal.refuse(undefined, "cluster");
  assert.equal(journal.refusal, undefined);
  await opened.area.close();
});

test("a directory takes what its files take, and both calls report the same free space", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-usage-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "a"), "12345");
  writeFileSync(join(directory, "b"), "123");
  assert.equal(directoryBytes(directory), 8);
  assert.ok(freeBytesNow(directory) > 0);
  assert.ok((await readFreeBytes(directory)) > 0);
  const none = join(directory, "none");
  assert.deepEqual([directoryBytes(none), freeBytesNow(none)], [Number.NaN, Number.NaN]);
  await assert.rejects(readFreeBytes(none), { code: "ENOENT" });
});
