import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { frameOf, historyEventsOf } from "../../../test/harness/history-events.ts";
import { AREA, DIRECTORY, emptyDisk, type OpenedArea, openOn } from "../../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type Log, silentLog } from "../../kernel/log.ts";
import { HistoryReader } from "../../persistence/history/reader.ts";
import { HistoryWriter } from "./writer.ts";

const DAY_MS = 24 * 3_600_000;

interface Followed {
  readonly writer: HistoryWriter;
  readonly clock: VirtualClock;
  readonly events: string[];
  /** The faults in the events. */
  readonly faults: unknown[];
  /** Resolves when the history has reached a position. */
  reached(position: number): Promise<void>;
  /** Of all reports so far. */
  synced(): number;
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-history-"));
  t.after(() => rmSync(path, { recursive: true }));
  return join(path, "history.sqlite");
}

function follow(disk: SimulatedDisk, path: string): Followed {
  const clock = new VirtualClock();
  const events: string[] = [];
  const faults: unknown[] = [];
  const log: Log = {
    ...silentLog,
    warn: (event) => events.push(event),
    error: (event, fields) => {
      events.push(event);
      faults.push(fields?.["fault"]);
    },
  };
  let syncedPosition = 0;
  let notify = (): void => {};
  const writer = new HistoryWriter({
    path,
    disk,
    directory: DIRECTORY,
    area: AREA,
    clock,
    log,
    eventsOf: historyEventsOf,
    lastStates: [4],
    retentionMs: DAY_MS,
    onPosition: (_, synced) => {
      syncedPosition = synced;
      notify();
    },
    onRenewed: () => events.push("renewed"),
    onFatal: (fault) => {
      throw fault;
    },
  });
  const reached = async (position: number): Promise<void> => {
    while (writer.position < position) {
      const next = Promise.withResolvers<void>();
      notify = next.resolve;
      writer.hurry();
      await next.promise;
    }
  };
  return { writer, clock, events, faults, reached, synced: () => syncedPosition };
}

/** Message n with the states created and active at time n. */
async function accept({ area: { journal } }: OpenedArea, ...numbers: number[]): Promise<void> {
  for (const n of numbers)
    journal.append(
      frameOf({
        message: n,
        moves: [
          [n, n, 0],
          [n, n, 1],
        ],
      }),
    );
  await journal.whenSafe(journal.end);
}

function listed(path: string): string[] {
  const reader = HistoryReader.open(path);
  const page = reader.list({ user: 1, attributes: new Map([["label", ["a"]]]), order: "earliest first", count: 1_000 });
  reader.close();
  return page.entries.map(({ entry: { message, state } }) => `${message}/${state}`);
}

test("adds durable frames of the journal to the history", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, reached } = follow(disk, path);
  await accept(opened, 1, 2);

  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);

  assert.deepEqual(listed(path), ["1/0", "1/1", "2/0", "2/1"]);
  await writer.close();
});

test("a batch waits 50 ms for more frames", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, clock, reached } = follow(disk, path);
  await accept(opened, 1);
  writer.durableTo(opened.area.journal.syncedLocation);
  // Reading takes turns of the event loop, and no event marks its end.
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));

  clock.advance(49);
  assert.equal(writer.position, 0);
  clock.advance(1);
  assert.equal(writer.position, 1);
  await reached(1);
  await writer.close();
});

test("the position that survives a power cut follows within a second", async (t) => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, clock, reached, synced } = follow(disk, folder(t));
  await accept(opened, 1, 2);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);
  assert.equal(synced(), 0);

  clock.advance(1_000);

  assert.equal(synced(), 2);
  await writer.close();
});

test("a new start continues where the last one ended, over several segments", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const first = follow(disk, path);
  await accept(opened, 1);
  first.writer.durableTo(opened.area.journal.syncedLocation);
  await first.reached(1);
  await first.writer.close();
  await opened.area.closeSegment();
  await accept(opened, 2);
  await opened.area.closeSegment();
  await accept(opened, 3);

  const second = follow(disk, path);
  second.writer.durableTo(opened.area.journal.syncedLocation);
  await second.reached(3);

  assert.deepEqual(listed(path), ["1/0", "1/1", "2/0", "2/1", "3/0", "3/1"]);
  assert.deepEqual(second.events, []);
  await second.writer.close();
});

test("a clean end leaves one file with all frames read so far", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, reached } = follow(disk, path);
  await accept(opened, 1);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(1);

  await writer.close();

  assert.deepEqual(readdirSync(join(path, "..")), ["history.sqlite"]);
});

test("rebuilds a damaged history from the journal", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, events, reached } = follow(disk, path);
  await accept(opened, 1);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(1);

  writer.damaged("a test says so");
  await accept(opened, 2);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);

  assert.deepEqual(listed(path), ["1/0", "1/1", "2/0", "2/1"]);
  assert.deepEqual(events, ["rebuilding the history from the journal", "renewed"]);
  await writer.close();
});

test("rebuilds a history that is ahead of its journal", async (t) => {
  const path = folder(t);
  const ahead = await emptyDisk();
  const openedAhead = await openOn(ahead);
  const first = follow(ahead, path);
  await accept(openedAhead, 1, 2, 3);
  first.writer.durableTo(openedAhead.area.journal.syncedLocation);
  await first.reached(3);
  await first.writer.close();

  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await accept(opened, 9);
  const { writer, events } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  while (events.length < 2 || writer.position < 1) {
    writer.hurry();
    await new Promise((resolve) => setImmediate(resolve));
  }

  assert.deepEqual(listed(path), ["9/0", "9/1"]);
  await writer.close();
});

test("without the first segments, the history begins with the existing ones", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await accept(opened, 1);
  await opened.area.closeSegment();
  await accept(opened, 2);
  await disk.unlink(`${DIRECTORY}/0000000001.journal`);

  const { writer, events, reached } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);

  assert.deepEqual(listed(path), ["2/0", "2/1"]);
  assert.deepEqual(events, ["the history begins after the start of its journal"]);
  await writer.close();
});

test("a rebuilt history continues after each removed segment", async (t) => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  for (const n of [1, 2, 3, 4]) {
    await accept(opened, n);
    await opened.area.closeSegment();
  }
  // Bodies in the second segment were still needed, so only the others were removed.
  await disk.unlink(`${DIRECTORY}/0000000001.journal`);
  await disk.unlink(`${DIRECTORY}/0000000003.journal`);

  const path = folder(t);
  const { writer, events, reached } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(4);

  assert.deepEqual(listed(path), ["2/0", "2/1", "4/0", "4/1"]);
  assert.deepEqual(events, [
    "the history begins after the start of its journal",
    "the history has a gap, because a segment of its journal was removed",
  ]);
  await writer.close();
});

test("a history whose last frames were in a removed segment is complete", async (t) => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await accept(opened, 1, 2);
  await opened.area.closeSegment();
  await disk.unlink(`${DIRECTORY}/0000000001.journal`);

  const path = folder(t);
  const { writer, reached } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);

  assert.deepEqual(listed(path), []);
  await writer.close();
});

test("skips damaged frames that it has not read yet, and reports the file and the place", async (t) => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await accept(opened, 1, 2, 3);
  await opened.area.closeSegment();
  await accept(opened, 4);
  const segment = `${DIRECTORY}/0000000001.journal`;
  disk.flipBit(segment, disk.bytesOf(segment).indexOf('"message":2'), 0);

  const path = folder(t);
  const { writer, events, faults, reached } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(4);

  assert.deepEqual(listed(path), ["1/0", "1/1", "3/0", "3/1", "4/0", "4/1"]);
  assert.deepEqual(events, ["the history has a gap, because its journal is damaged"]);
  assert.match(String(faults), /^\/store\/0000000001\.journal is damaged at byte \d+: position 1 is bad/);
  await writer.close();

  const again = follow(disk, path);
  again.writer.durableTo(opened.area.journal.syncedLocation);
  await again.reached(4);
  assert.deepEqual(again.events, []);
  await again.writer.close();
});

test("is complete after damage at the end of its journal, and continues with the next frame", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await accept(opened, 1, 2);
  const segment = `${DIRECTORY}/0000000001.journal`;
  disk.flipBit(segment, disk.bytesOf(segment).indexOf('"message":2'), 0);
  const { writer, reached } = follow(disk, path);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(2);
  assert.deepEqual(listed(path), ["1/0", "1/1"]);

  await accept(opened, 3);
  writer.durableTo(opened.area.journal.syncedLocation);
  await reached(3);

  assert.deepEqual(listed(path), ["1/0", "1/1", "3/0", "3/1"]);
  await writer.close();
});

test("removes entries older than the retention", async (t) => {
  const path = folder(t);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { writer, clock, reached } = follow(disk, path);
  const { journal } = opened.area;
  const nowMs = clock.nowMs();
  journal.append(frameOf({ message: 1, moves: [[1, nowMs - DAY_MS, 0]] }));
  journal.append(frameOf({ message: 2, moves: [[2, nowMs, 0]] }));
  await journal.whenSafe(2);
  writer.durableTo(journal.syncedLocation);
  await reached(2);
  assert.deepEqual(listed(path), ["1/0", "2/0"]);

  clock.advance(60_000);

  assert.deepEqual(listed(path), ["2/0"]);
  await writer.close();
});
