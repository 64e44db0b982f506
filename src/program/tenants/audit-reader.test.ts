/** Pages of an audit log that is longer than one call reads, and of rotated files. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { AuditQuery } from "../../edge/admin/audit.ts";
import { auditCursorUnknown } from "../../edge/errors.ts";
import { READ_BYTES_MAX, readAudit } from "./audit-reader.ts";

const START_MS = Date.UTC(2026, 0, 1);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "larder-audit-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const pathOf = (name: string): string => join(directory, name);

/** Line `index` of the log: each is a second after the one before. */
function line(index: number, { action = "backup", subject = `s${index}`, outcome = "done" } = {}): string {
  const time = new Date(START_MS + index * 1_000).toISOString();
  return `${JSON.stringify({ time, action, caller: "127.0.0.1", outcome, subject })}\n`;
}

function lines(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => line(from + index)).join("");
}

/** All subjects, and how many pages they took. */
async function allOf(query: AuditQuery): Promise<{ subjects: readonly (string | undefined)[]; pageCount: number }> {
  const subjects: (string | undefined)[] = [];
  let cursor: string | undefined;
  let pageCount = 0;
  do {
    const page = await readAudit(directory, { ...query, ...(cursor !== undefined && { cursor }) });
    subjects.push(...page.entries.map(({ subject }) => subject));
    ({ cursor } = page);
    pageCount += 1;
  } while (cursor !== undefined);
  return { subjects, pageCount };
}

test("pages go from the newest entry to the oldest one, through rotated files, and new entries do not move them", async () => {
  writeFileSync(pathOf("audit.log.2"), lines(0, 3));
  writeFileSync(pathOf("audit.log.1"), lines(3, 5));
  writeFileSync(pathOf("audit.log.3.gz"), "compressed");
  writeFileSync(pathOf("audit.log"), lines(5, 8));
  utimesSync(pathOf("audit.log.2"), 1, 1);
  utimesSync(pathOf("audit.log.1"), 2, 2);
  const first = await readAudit(directory, { count: 2 });
  assert.deepEqual(first.entries[0], {
    ...{ time: "2026-01-01T00:00:07.000Z", action: "backup", subject: "s7" },
    ...{ caller: "127.0.0.1", outcome: "done" },
  });
  appendFileSync(pathOf("audit.log"), line(8));
  // A rotation between two pages.
  renameSync(pathOf("audit.log"), pathOf("audit.log.0"));
  writeFileSync(pathOf("audit.log"), line(9));
  const cursor = first.cursor ?? assert.fail();
  const second = await readAudit(directory, { count: 4, cursor });
  assert.deepEqual(
    second.entries.map(({ subject }) => subject),
    ["s5", "s4", "s3", "s2"],
  );
  assert.deepEqual((await allOf({ count: 3 })).subjects, ["s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
});

test("a call reads a bounded part of a large log, and finds every entry once", async () => {
  const count = 10_000;
  writeFileSync(pathOf("audit.log"), lines(0, count));
  const wanted = Array.from({ length: count }, (_, index) => `s${count - 1 - index}`);
  const { subjects, pageCount } = await allOf({ count: 1_000 });
  assert.deepEqual(subjects, wanted);
  assert.equal(pageCount, 10);
  // No page has the entry but the last one, and each reads no more than its part.
  const rare = await allOf({ subject: "s0" });
  assert.deepEqual(rare.subjects, ["s0"]);
  assert.equal(rare.pageCount, Math.ceil(lines(0, count).length / READ_BYTES_MAX));
});

test("filters by action, subject, outcome and time", async () => {
  writeFileSync(
    pathOf("audit.log"),
    [
      line(0, { action: "start", subject: "1.0.0" }),
      line(1, { action: "databases.create", subject: "shop" }),
      line(2, { action: "databases.delete", subject: "shop", outcome: "refused" }),
      line(3, { action: "users.create", subject: "shop" }),
    ].join(""),
  );
  const found = async (query: AuditQuery) => (await readAudit(directory, query)).entries.map(({ action }) => action);
  assert.deepEqual(await found({ action: "databases." }), ["databases.delete", "databases.create"]);
  assert.deepEqual(await found({ subject: "shop", outcome: "done" }), ["users.create", "databases.create"]);
  assert.deepEqual(await found({ from: START_MS + 1_000, to: START_MS + 3_000 }), [
    "databases.delete",
    "databases.create",
  ]);
  assert.deepEqual(await found({ from: START_MS + 9_000 }), []);
});

test("lines that are no entries are counted, also one that is longer than a call reads", async () => {
  const long = `${"x".repeat(READ_BYTES_MAX + 10)}\n`;
  writeFileSync(pathOf("audit.log"), `${line(0)}not JSON\n{"time":7}\n${line(1)}${long}${line(2)}{"torn":`);
  let unreadable = 0;
  const subjects: (string | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const page = await readAudit(directory, cursor === undefined ? {} : { cursor });
    unreadable += page.unreadableLines;
    subjects.push(...page.entries.map(({ subject }) => subject));
    ({ cursor } = page);
  } while (cursor !== undefined);
  assert.deepEqual(subjects, ["s2", "s1", "s0"]);
  // The long line is counted by both calls that see a part of it.
  assert.equal(unreadable, 5);
});

test("an empty log has no entries, and a cursor of a file that is gone is refused", async () => {
  assert.deepEqual(await readAudit(directory, {}), { entries: [], unreadableLines: 0 });
  writeFileSync(pathOf("audit.log"), lines(0, 3));
  const { cursor = "" } = await readAudit(directory, { count: 1 });
  writeFileSync(pathOf("audit.log"), lines(7, 9));
  for (const wrong of [cursor, "", "x", `${cursor}0`, "0123456789abcdef-7"])
    await assert.rejects(readAudit(directory, { cursor: wrong }), (fault) => fault === auditCursorUnknown, wrong);
});
