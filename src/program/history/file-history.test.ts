import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { frameOf, type TestFrame } from "../../../test/harness/history-events.ts";
import { systemClock } from "../../kernel/clock.ts";
import { type Log, silentLog } from "../../kernel/log.ts";
import { systemRandom } from "../../kernel/random.ts";
import { type AreaStorage, openAreaStorage } from "../../persistence/area-storage.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { type HistoryQuery, MalformedCursor } from "../../persistence/history/query.ts";
import { type HistoryStore, openHistory } from "./history-store.ts";

const eventsModule = new URL("../../../test/harness/history-events.ts", import.meta.url).href;
const AREA = "messaging";
const all: HistoryQuery = { user: 1, attributes: new Map(), order: "earliest first", count: 100 };

interface Opened {
  readonly directory: string;
  readonly area: AreaStorage;
  history: HistoryStore;
  readonly events: string[];
}

function openIn(directory: string, events: string[]): Promise<HistoryStore> {
  const log: Log = { ...silentLog, warn: (event) => events.push(event) };
  return openHistory({ directory, area: AREA, retentionMs: Number.MAX_SAFE_INTEGER, log, eventsModule });
}

/** A real journal with a history that follows it. */
async function open(t: TestContext): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), "larder-history-"));
  const events: string[] = [];
  const area = await openAreaStorage({
    disk: fileDisk,
    directory,
    area: AREA,
    mode: "always",
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    reserveBytes: 0,
    apply: () => {},
    onFatal: (fault) => {
      throw fault;
    },
    onSyncedLocation: (place) => opened.history?.durableTo(place),
  });
  const opened: Opened = { directory, area, events, history: await openIn(directory, events) };
  t.after(async () => {
    await area.close();
    await opened.history.close();
    rmSync(directory, { recursive: true });
  });
  return opened;
}

function append({ area: { journal } }: Opened, frame: TestFrame): number {
  return journal.append(frameOf(frame));
}

async function listed({ history }: Opened, position: number, query: Partial<HistoryQuery> = {}): Promise<string[]> {
  const page = await history.list({ ...all, ...query }, position);
  return page.entries.map(({ entry: { message, state } }) => `${message}/${state}`);
}

test("a listing shows messages appended before it, even if they are not durable yet", async (t) => {
  const opened = await open(t);

  for (let n = 1; n <= 3; n += 1) {
    const position = append(opened, { message: n, label: `label ${n}`, moves: [[n, n, 0]] });
    assert.deepEqual(await listed(opened, position, { attributes: new Map([["label", [`label ${n}`]]]) }), [`${n}/0`]);
  }
  assert.deepEqual(await listed(opened, 3), ["1/0", "2/0", "3/0"]);
});

test("reports the position once it would survive a power cut", async (t) => {
  const opened = await open(t);
  assert.equal(opened.history.position, 0);
  const reported = new Promise<number>((resolve) => {
    opened.history.onPosition = resolve;
  });

  append(opened, { message: 1, moves: [[1, 1, 0]] });

  assert.equal(await reported, 1);
  assert.equal(opened.history.position, 1);
});

test("a new history takes no time of the first requests: its file is made later, or by the first listing", async (t) => {
  const opened = await open(t);
  const path = join(opened.directory, "history.sqlite");
  const position = append(opened, { message: 1, moves: [[1, 1, 0]] });
  assert.equal(existsSync(path), false);

  assert.deepEqual(await listed(opened, position), ["1/0"]);

  assert.equal(existsSync(path), true);
});

test("a new history that is closed at once leaves a file with all that is durable", async (t) => {
  const opened = await open(t);
  const position = append(opened, { message: 1, moves: [[1, 1, 0]] });
  await opened.area.journal.whenSafe(position);
  await opened.history.close();
  assert.equal(existsSync(join(opened.directory, "history.sqlite")), true);

  // It is told of no durable place, so it does not read the journal.
  opened.history = await openIn(opened.directory, opened.events);

  assert.deepEqual(await listed(opened, position), ["1/0"]);
});

test("rejects a malformed cursor", async (t) => {
  const opened = await open(t);

  await assert.rejects(listed(opened, 0, { cursor: "x" }), MalformedCursor);
});

test("a start continues with the stored history and adds newer frames", async (t) => {
  const opened = await open(t);
  await listed(opened, append(opened, { message: 1, moves: [[1, 1, 0]] }));
  await opened.history.close();
  const position = append(opened, {
    message: 2,
    moves: [
      [2, 2, 0],
      [1, 3, 1],
    ],
  });
  await opened.area.journal.whenSafe(position);

  opened.history = await openIn(opened.directory, opened.events);
  opened.history.durableTo(opened.area.journal.syncedLocation);

  assert.deepEqual(await listed(opened, position), ["1/0", "2/0", "1/1"]);
});

test("moves a damaged file aside and rebuilds the history", async (t) => {
  const opened = await open(t);
  const position = append(opened, { message: 1, moves: [[1, 1, 0]] });
  await listed(opened, position);
  await opened.history.close();
  writeFileSync(join(opened.directory, "history.sqlite"), "no database at all".repeat(500));

  opened.history = await openIn(opened.directory, opened.events);
  opened.history.durableTo(opened.area.journal.syncedLocation);

  assert.deepEqual(await listed(opened, position), ["1/0"]);
  assert.deepEqual(opened.events, ["rebuilding the history from the journal"]);
});

test("a closed history rejects listings", async (t) => {
  const opened = await open(t);
  await opened.history.close();

  await assert.rejects(listed(opened, 0), /closed/);
});
