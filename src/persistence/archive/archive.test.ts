/** Backup files on a simulated disk: writing, reading, damage, restoring, and the state after a crash. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { allowanceOf } from "../../../test/budget.ts";
import { appendSafely, openOn } from "../../../test/harness/persistence-fixture.ts";
import { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { systemClock } from "../../kernel/clock.ts";
import { seededRandom } from "../../kernel/random.ts";
import { checkDataDirectory, prepareDataDirectory } from "../data-directory.ts";
import type { WritingProcess } from "../disk/writing-process.ts";
import { DamagedBackup, NewerFormat, UnusableBackup } from "../errors.ts";
import { Archive } from "./archive.ts";
import {
  type ArchiveContents,
  type ArchiveSource,
  newDraft,
  removeLeftDrafts,
  writeArchive,
} from "./archive-writer.ts";
import { checkBackedUpAreas } from "./area-check.ts";
import { type Manifest, printManifest, printManifestSum } from "./manifest.ts";
import { restoreArchive } from "./restore.ts";
import { encodeTarHeader, isEntryName, parseTarHeader } from "./tar.ts";

const BACKUP = "/backup.tar";
const SOURCES: readonly ArchiveSource[] = [
  { name: "format", path: "/old/format" },
  { name: "tokens.json", path: "/old/tokens.json" },
  { name: "store/0000000001.journal", path: "/old/store/0000000001.journal" },
];
const facts: Omit<Manifest, "files"> = {
  version: "1.2.3",
  dataFormat: 1,
  madeAtMs: Date.UTC(2026, 0, 2),
  areas: [{ name: "store", position: 2 }],
};

const here: WritingProcess = { host: "here", pid: 7, life: "now", isAlive: (pid) => pid === 8 };
const writer = { process: here, nowMs: facts.madeAtMs };

function write(disk: SimulatedDisk, contents: ArchiveContents): Promise<number> {
  return writeArchive(disk, { ...contents, path: BACKUP, draft: newDraft(BACKUP, writer) });
}

/** A disk with a store of two frames, and a backup of it. */
async function withBackup(sources = SOURCES): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir("/old");
  await prepareDataDirectory(disk, "/old", ["store"]);
  disk.put("/old/tokens.json", Buffer.from('{"secret":"s"}\n'));
  const opened = await openOn(disk, { directory: "/old/store" });
  await appendSafely(opened, "first", "second");
  await opened.area.close();
  await write(disk, { sources, facts });
  return disk;
}

/** What `larder verify` does. */
async function verify(disk: SimulatedDisk, path = BACKUP): Promise<readonly number[]> {
  const archive = await Archive.open(disk, path);
  try {
    await archive.check();
    const reports = await checkBackedUpAreas(archive.asDisk(), path, archive);
    return reports.map(({ frames }) => frames);
  } finally {
    await archive.close();
  }
}

async function restore(disk: SimulatedDisk): Promise<void> {
  const archive = await Archive.open(disk, BACKUP);
  const options = { disk, archive, directory: "/new", staging: "/new/restoring-1", areas: ["store"] };
  await restoreArchive(options).finally(() => archive.close());
}

async function framesOf(disk: SimulatedDisk, directory: string): Promise<readonly string[]> {
  const opened = await openOn(disk, { directory });
  await opened.area.close();
  return opened.frames;
}

test("verifying a backup counts its frames; writing it leaves no other file", async () => {
  const disk = await withBackup();
  assert.deepEqual(await verify(disk), [2]);
  assert.deepEqual((await disk.list("/")).sort(), ["backup.tar", "old"]);
});

test("two backups to one name at the same moment are both whole", async () => {
  const disk = await withBackup();
  const versions = ["1.2.4", "1.2.5"];
  const sizes = await Promise.all(
    versions.map((version) => write(disk, { sources: SOURCES, facts: { ...facts, version } })),
  );
  assert.deepEqual(sizes, [disk.bytesOf(BACKUP).length, disk.bytesOf(BACKUP).length]);
  assert.deepEqual(await verify(disk), [2]);
  assert.deepEqual((await disk.list("/")).sort(), ["backup.tar", "old"]);
});

test("what a crash has left of a backup is removed, and what another process still writes is not", async () => {
  const disk = await withBackup();
  const draftOf = (pid: number): string => newDraft(BACKUP, { ...writer, process: { ...here, pid } });
  const [living, dead] = [draftOf(8), draftOf(9)];
  for (const path of [living, dead, "/larder-backup-1", "/other.partial"]) disk.put(path, Buffer.from("half"));
  await removeLeftDrafts(disk, BACKUP, writer);
  assert.deepEqual(
    (await disk.list("/")).sort(),
    ["backup.tar", living.slice(1), "larder-backup-1", "old", "other.partial"].sort(),
  );
});

test("writing, checking and restoring report their progress up to the last byte of each file and area", async () => {
  const disk = await withBackup();
  const reports: { subject: string; done: number; total: number }[] = [];
  const onBytes = (subject: string, done: number, total: number): void => void reports.push({ subject, done, total });
  const sizes = SOURCES.map(({ path }) => disk.bytesOf(path).length);
  const [formatBytes = 0, tokensBytes = 0, journalBytes = 0] = sizes;
  const total = formatBytes + tokensBytes + journalBytes;
  const files = [formatBytes, formatBytes + tokensBytes, total].map((done) => ({ subject: "files", done, total }));

  await write(disk, { sources: SOURCES, facts, onBytes });
  assert.deepEqual(reports.splice(0), files);

  const archive = await Archive.open(disk, BACKUP);
  await archive.check(onBytes);
  assert.deepEqual(reports.splice(0), files);

  await disk.mkdir("/new");
  await restoreArchive({ disk, archive, directory: "/new", staging: "/new/staging", areas: ["store"], onBytes });
  await archive.close();
  assert.deepEqual(reports.slice(0, 3), files);
  assert.deepEqual(reports.at(-1), { subject: "store", done: journalBytes, total: journalBytes });
});

test("a restored directory has every file, and its area continues", async () => {
  const disk = await withBackup();
  await disk.mkdir("/new");

  await restore(disk);

  assert.deepEqual((await disk.list("/new")).sort(), ["format", "restoring-1", "store", "tokens.json"]);
  assert.equal(disk.bytesOf("/new/tokens.json").toString(), '{"secret":"s"}\n');
  assert.deepEqual(await framesOf(disk, "/new/store"), ["first", "second"]);
  assert.deepEqual(await framesOf(disk, "/old/store"), ["first", "second"]);
});

test("standard tools list it, unpack it and confirm the manifest's checksum", async (context) => {
  const disk = await withBackup();
  const directory = mkdtempSync(join(tmpdir(), "larder-archive-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "backup.tar"), disk.bytesOf(BACKUP));
  const run = (command: string, ...args: string[]): string => {
    const { error, stdout } = spawnSync(command, args, { cwd: directory, encoding: "utf8" });
    if (error !== undefined) context.skip(`${command} is not on the PATH`);
    return stdout;
  };
  assert.equal(
    run("tar", "tf", "backup.tar"),
    "format\ntokens.json\nstore/0000000001.journal\nmanifest.json\nmanifest.sha256\n",
  );
  run("tar", "xf", "backup.tar");
  assert.deepEqual(
    readFileSync(join(directory, "store/0000000001.journal")),
    disk.bytesOf("/old/store/0000000001.journal"),
  );
  assert.equal(run("sha256sum", "-c", "manifest.sha256"), "manifest.json: OK\n");
});

test("A-19: refuses a backup with any byte flipped, cut, added or mixed up, and restores nothing", async () => {
  const disk = await withBackup();
  const whole = disk.bytesOf(BACKUP);
  const seed = Number(process.env["LARDER_BACKUP_SEED"] ?? Math.floor(systemClock.nowMs()));
  const random = seededRandom(seed);
  const allowed = allowanceOf("backup-files");
  const startMs = systemClock.monotonicMs();
  const isOver = (count: number): boolean =>
    "count" in allowed ? count >= allowed.count : systemClock.monotonicMs() - startMs > allowed.budgetMs;
  for (let count = 0; !isOver(count); count += 1) {
    const at = random.below(whole.length);
    let damaged: Buffer = Buffer.from(whole);
    switch (random.below(4)) {
      case 0:
        damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << random.below(8)), at);
        break;
      case 1:
        damaged = damaged.subarray(0, at);
        break;
      case 2:
        damaged = Buffer.concat([damaged, Buffer.alloc(1 + random.below(2_000))]);
        break;
      default:
        damaged.copyWithin(at, random.below(whole.length), whole.length);
        if (damaged.equals(whole)) continue;
    }
    const copy = disk.restarted({ seed: 1 });
    copy.put(BACKUP, damaged);
    await copy.mkdir("/new");
    const what = `LARDER_BACKUP_SEED=${seed}, damage ${count} at ${at}`;
    await assert.rejects(verify(copy), (fault) => isRefusal(fault), what);
    await assert.rejects(restore(copy), (fault) => isRefusal(fault), what);
    assert.equal(await checkDataDirectory(copy, "/new", ["store"]), false, what);
    assert.deepEqual(
      (await copy.list("/new")).filter((name) => name !== "restoring-1"),
      [],
      what,
    );
  }
});

function isRefusal(fault: unknown): boolean {
  return fault instanceof DamagedBackup || fault instanceof NewerFormat;
}

test("a power cut at any moment leaves a complete backup, the previous one or none", async () => {
  const random = seededRandom(5);
  const disk = await withBackup();
  const before = disk.bytesOf(BACKUP);
  const crashes: SimulatedDisk[] = [];
  disk.onBoundary = () => crashes.push(disk.afterPowerCut(random));
  await write(disk, { sources: SOURCES, facts: { ...facts, version: "1.2.4" } });
  assert.ok(crashes.length > 5);
  for (const crashed of crashes) {
    if (!(await crashed.list("/")).includes("backup.tar")) continue;
    assert.deepEqual(await verify(crashed), [2]);
  }
  assert.notDeepEqual(disk.bytesOf(BACKUP), before);
});

test("a power cut during a restore leaves all of it, or no data directory", async () => {
  const random = seededRandom(6);
  const disk = await withBackup();
  await disk.mkdir("/new");
  await disk.syncDirectory("/");
  const crashes: SimulatedDisk[] = [];
  disk.onBoundary = () => crashes.push(disk.afterPowerCut(random));
  await restore(disk);
  crashes.push(disk.afterPowerCut(random));
  let wholeCount = 0;
  for (const crashed of crashes) {
    const isThere = await checkDataDirectory(crashed, "/new", ["store"]).catch(() => false);
    if (!isThere) continue;
    wholeCount += 1;
    assert.deepEqual(await framesOf(crashed, "/new/store"), ["first", "second"]);
    assert.equal(crashed.bytesOf("/new/tokens.json").toString(), '{"secret":"s"}\n');
  }
  assert.ok(wholeCount > 0);
});

test("a backup whose area has another end, or that names an unknown directory, restores nothing", async () => {
  const disk = await withBackup();
  await disk.mkdir("/new");
  const rewrite = (change: Partial<Manifest>, sources = SOURCES): Promise<number> =>
    write(disk, { sources, facts: { ...facts, ...change } });
  await rewrite({ areas: [{ name: "store", position: 3 }] });
  await assert.rejects(verify(disk), new UnusableBackup(BACKUP, "store ends at position 2, not at 3"));
  await rewrite({}, [...SOURCES, { name: "secrets/key", path: "/old/tokens.json" }]);
  await assert.rejects(restore(disk), new UnusableBackup(BACKUP, "it has an unknown directory: secrets"));
  await rewrite({}, SOURCES.slice(1));
  await assert.rejects(restore(disk), new UnusableBackup(BACKUP, "it has no format file"));
  await rewrite({ dataFormat: 3 });
  await assert.rejects(verify(disk), new NewerFormat(BACKUP, 3, 2));
  assert.deepEqual(await disk.list("/new"), []);
});

const entryNames: readonly (readonly [name: string, isOne: boolean])[] = [
  ["format", true],
  ["store/0000000001.journal", true],
  ["vector/graph-1-22", true],
  ["messaging/history.sqlite", true],
  ["", false],
  [".", false],
  ["..", false],
  ["../tokens.json", false],
  ["/etc/passwd", false],
  ["store/../../x", false],
  ["store//x", false],
  ["a/b/c", false],
  ["store/", false],
  [".hidden", false],
  ["UPPER", false],
  ["a\u0000b", false],
  ["a\nb", false],
  ["x".repeat(101), false],
];

for (const [name, isOne] of entryNames) {
  test(`${JSON.stringify(name.slice(0, 20))} is ${isOne ? "" : "no "}name of a file in a backup`, () => {
    assert.equal(isEntryName(name), isOne);
  });
}

test("reads a header for more than eight gigabytes, and detects any changed byte of a header", () => {
  const entry = { name: "vector/0000000007.snapshot", bytes: 2 ** 40 + 1, madeAtS: 1_700_000_000 };
  const header = encodeTarHeader(entry);
  assert.deepEqual(parseTarHeader(header), entry);
  for (let at = 0; at < header.length; at += 1) {
    const changed = Buffer.from(header);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    assert.equal(parseTarHeader(changed), undefined, `byte ${at}`);
  }
});

test("one changed letter in a manifest is detected", () => {
  const text = printManifest({ ...facts, files: [] });
  assert.notEqual(printManifestSum(text), printManifestSum(text.replace("1.2.3", "1.2.4")));
});
