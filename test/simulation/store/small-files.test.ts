/**
 * threats.md A-19, exhaustively on small files: whatever is flipped, cut off,
 * removed or doubled, the start is refused with the name of the file and the
 * place, or it finds a right prefix if nothing says that more was durable.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "../../../src/persistence/errors.ts";
import { defaultUser } from "../../../src/store/acl/built-in-users.ts";
import { isRefusal } from "../crash/check.ts";
import { type Item, itemsOf, statedPosition } from "../disk/file-map.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY } from "../server.ts";
import { stateOf } from "./store-state.ts";
import { type Server, startServer, writeStoreSnapshot } from "./store-subject.ts";

const FIRST = `${DIRECTORY}/0000000001.journal`;
const SECOND = `${DIRECTORY}/0000000002.journal`;
const MARK = `${DIRECTORY}.high-water`;
const SNAPSHOT = `${DIRECTORY}/0000000002.snapshot`;

const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" } as const;

/** An area, and the state of its store at each position. */
interface Recorded {
  readonly disk: SimulatedDisk;
  readonly states: string[];
}

type Outcome =
  | { readonly kind: "refused"; readonly error: DamagedData | MissingData | NewerFormat | WrongFile }
  | { readonly kind: "started"; readonly position: number; readonly state: string };

function startOn(disk: SimulatedDisk, mode: "always" | "no" = "always"): Promise<Server> {
  const options = { clock: new VirtualClock(), random: seededRandom(1), harness: {}, onFatal: () => {} };
  return startServer({ ...options, disk, mode });
}

/** A server that runs some commands, each in a batch of its own, and a transaction. */
async function record(
  work: (server: Server & { disk: SimulatedDisk }, ask: (line: string) => Promise<void>) => Promise<void>,
): Promise<Recorded> {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir(DIRECTORY);
  const server = await startOn(disk);
  const { store, journal } = server;
  const states = [""];
  const database = store.database("main");
  const noteState = async (): Promise<void> => {
    states[journal.end] = stateOf(store);
    await store.whenSafe();
  };
  await noteState();
  await work({ ...server, disk }, async (line) => {
    void database.transaction(
      caller,
      line.split("; ").map((command) => command.split(" ")),
    );
    await noteState();
  });
  return { disk, states };
}

async function outcomeOf(disk: SimulatedDisk): Promise<Outcome> {
  try {
    const { area, store } = await startOn(disk);
    return { kind: "started", position: area.recovered.position, state: stateOf(store) };
  } catch (error) {
    assert.ok(isRefusal(error), `refused by name, not with ${error}`);
    return { kind: "refused", error };
  }
}

/** A copy of the area with other bytes in one file. */
function withFile(recorded: Recorded, path: string, bytes: Buffer): SimulatedDisk {
  const disk = recorded.disk.restarted({ seed: 1 });
  disk.put(path, bytes);
  return disk;
}

function bytesOf(recorded: Recorded, path: string): Buffer {
  return recorded.disk.bytesOf(path);
}

/** The item that contains a byte. */
function itemAt(items: readonly Item[], offset: number): Item {
  const item = items.find(({ start, end }) => offset >= start && offset < end);
  assert.ok(item !== undefined, `byte ${offset} is in an item`);
  return item;
}

/** Every byte of the file, altered in several ways. */
function* flips(bytes: Buffer): Generator<{ offset: number; flipped: Buffer }> {
  for (let offset = 0; offset < bytes.length; offset += 1) {
    for (const mask of [0x01, 0x80, 1 << (offset % 8), 0xff, bytes[offset] as number]) {
      if (mask === 0) continue;
      const flipped = Buffer.from(bytes);
      flipped[offset] = (flipped[offset] as number) ^ mask;
      yield { offset, flipped };
    }
  }
}

function without(bytes: Buffer, { start, end }: Item): Buffer {
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
}

function doubled(bytes: Buffer, { start, end }: Item): Buffer {
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
}

function assertRefusedAt(outcome: Outcome, place: { path: string; offset: number }, what: string): void {
  assert.equal(outcome.kind, "refused", what);
  assert.equal(outcome.error.file, place.path, what);
  if (outcome.error instanceof DamagedData) assert.equal(outcome.error.offset, place.offset, what);
}

function assertPrefix(
  outcome: Outcome,
  recorded: Recorded,
  what: string,
): asserts outcome is Outcome & { kind: "started" } {
  assert.equal(outcome.kind, "started", `${what}: ${outcome.kind === "refused" ? outcome.error.message : ""}`);
  assert.equal(outcome.state, recorded.states[outcome.position], `${what}: the state at position ${outcome.position}`);
}

describe("an open segment", () => {
  let recorded: Recorded;
  let bytes: Buffer;
  let items: readonly Item[];

  before(async () => {
    recorded = await record(async (_, ask) => {
      for (const line of ["SET a 1", "SET b 2 PX 5000", "HSET h f v; INCR a", "DEL b", "APPEND c text"])
        await ask(line);
    });
    bytes = bytesOf(recorded, FIRST);
    items = itemsOf(bytes);
    assert.equal(items.filter(({ kind }) => kind === "frame").length, 6);
    assert.equal(items.filter(({ kind }) => kind === "mark").length, 6);
    assert.equal(statedPosition(bytes), 5);
  });

  test("A-19: refuses a flipped byte before a durable mark, at its item", async () => {
    for (const { offset, flipped } of flips(bytes)) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, flipped));
      const item = itemAt(items, offset);
      const what = `byte ${offset} of ${bytes.length}, a ${item.kind} of position ${item.position}`;
      if (item.position < statedPosition(bytes, [offset]) || item.kind === "header") {
        assertRefusedAt(outcome, { path: FIRST, offset: item.start }, what);
      } else {
        assertPrefix(outcome, recorded, what);
        assert.equal(outcome.position, item.position, what);
      }
    }
  });

  test("A-19: refuses a segment cut off in its header, since the high-water mark says that it was begun", async () => {
    for (let length = 0; length < 64; length += 1) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, bytes.subarray(0, length)));
      assertRefusedAt(outcome, { path: FIRST, offset: 0 }, `${length} bytes`);
    }
  });

  test("A-19: a segment cut off anywhere after its header holds its complete items", async () => {
    for (let length = 64; length < bytes.length; length += 1) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, bytes.subarray(0, length)));
      assertPrefix(outcome, recorded, `${length} bytes`);
      const frames = items.filter(({ kind, end }) => kind === "frame" && end <= length);
      assert.equal(outcome.position, frames.length, `${length} bytes`);
    }
  });

  test("A-19: takes zeros from any byte on for the tail of a crash, unless a later mark says otherwise", async () => {
    for (let length = 64; length < bytes.length; length += 1) {
      const zeroed = Buffer.concat([bytes.subarray(0, length), Buffer.alloc(5_000)]);
      assertPrefix(await outcomeOf(withFile(recorded, FIRST, zeroed)), recorded, `zeros from ${length}`);
      const hole = Buffer.from(bytes).fill(0, length, length + 1);
      if (bytes[length] === 0) continue;
      const outcome = await outcomeOf(withFile(recorded, FIRST, hole));
      const item = itemAt(items, length);
      if (item.position < statedPosition(bytes, [length]))
        assertRefusedAt(outcome, { path: FIRST, offset: item.start }, `zero at ${length}`);
      else assertPrefix(outcome, recorded, `zero at ${length}`);
    }
  });

  test("A-19: refuses a missing or doubled item, unless it is the last", async () => {
    for (const item of items.slice(1)) {
      for (const [what, changed] of [
        ["missing", without(bytes, item)],
        ["twice", doubled(bytes, item)],
      ] as const) {
        const outcome = await outcomeOf(withFile(recorded, FIRST, changed));
        const text = `${item.kind} at ${item.start} ${what}`;
        if (outcome.kind === "refused") {
          assert.equal(outcome.error.file, FIRST, text);
          continue;
        }
        assertPrefix(outcome, recorded, text);
        assert.ok(outcome.position >= statedPosition(changed), text);
      }
    }
    const [, , frame] = items;
    assert.ok(frame !== undefined);
    assert.equal((await outcomeOf(withFile(recorded, FIRST, without(bytes, frame)))).kind, "refused");
    assert.equal((await outcomeOf(withFile(recorded, FIRST, doubled(bytes, frame)))).kind, "refused");
  });

  test("A-19: refuses two swapped items", async () => {
    for (let index = 1; index + 3 < items.length; index += 1) {
      const [one, other] = [items[index], items[index + 2]] as [Item, Item];
      const swapped = Buffer.concat([
        bytes.subarray(0, one.start),
        bytes.subarray(other.start, other.end),
        bytes.subarray(one.end, other.start),
        bytes.subarray(one.start, one.end),
        bytes.subarray(other.end),
      ]);
      const outcome = await outcomeOf(withFile(recorded, FIRST, swapped));
      if (outcome.kind === "refused") assert.equal(outcome.error.file, FIRST);
      else assertPrefix(outcome, recorded, `items ${index} and ${index + 2}`);
      if (index + 6 < items.length) assert.equal(outcome.kind, "refused", `items ${index} and ${index + 2}`);
    }
  });
});

describe("a closed segment", () => {
  let recorded: Recorded;
  let bytes: Buffer;
  let items: readonly Item[];

  before(async () => {
    recorded = await record(async ({ area }, ask) => {
      for (const line of ["SET a 1", "HSET h f v; INCR a", "SET c text"]) await ask(line);
      await area.closeSegment();
      await ask("SET d 4");
    });
    bytes = bytesOf(recorded, FIRST);
    items = itemsOf(bytes);
  });

  test("A-19: refuses any flipped byte in a closed segment", async () => {
    for (const { offset, flipped } of flips(bytes)) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, flipped));
      assertRefusedAt(outcome, { path: FIRST, offset: itemAt(items, offset).start }, `byte ${offset}`);
    }
  });

  test("A-19: refuses a closed segment of any other length", async () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, bytes.subarray(0, length)));
      assert.equal(outcome.kind, "refused", `${length} bytes`);
      assert.equal(outcome.error.file, FIRST, `${length} bytes`);
    }
    for (const tail of [Buffer.alloc(1), Buffer.alloc(5_000), bytes.subarray(64)]) {
      const outcome = await outcomeOf(withFile(recorded, FIRST, Buffer.concat([bytes, tail])));
      assertRefusedAt(outcome, { path: FIRST, offset: bytes.length }, `${tail.length} bytes more`);
    }
  });

  test("A-19: refuses a missing or doubled item in a closed segment; a missing batch mark loses nothing", async () => {
    for (const item of items) {
      for (const changed of [without(bytes, item), doubled(bytes, item)]) {
        const outcome = await outcomeOf(withFile(recorded, FIRST, changed));
        const what = `${item.kind} at ${item.start}`;
        if (item.kind === "mark" && outcome.kind === "started") {
          assertPrefix(outcome, recorded, what);
          assert.equal(outcome.position, 5, what);
        } else {
          assert.equal(outcome.kind, "refused", what);
          assert.equal(outcome.error.file, FIRST, what);
        }
      }
    }
  });

  test("A-19: refuses a missing segment, or one under the name of another, by its name", async () => {
    const missing = recorded.disk.restarted({ seed: 1 });
    missing.remove(FIRST);
    const outcome = await outcomeOf(missing);
    assert.ok(outcome.kind === "refused" && outcome.error instanceof MissingData, outcome.kind);
    assert.equal(outcome.error.file, FIRST);

    const moved = await outcomeOf(withFile(recorded, SECOND, bytes));
    assert.ok(moved.kind === "refused" && moved.error instanceof WrongFile, moved.kind);
    assert.equal(moved.error.file, SECOND);
  });

  test("A-19: refuses a start without the open segment after it, by name", async () => {
    const shortened = recorded.disk.restarted({ seed: 1 });
    shortened.remove(SECOND);
    const outcome = await outcomeOf(shortened);
    assert.ok(outcome.kind === "refused" && outcome.error instanceof MissingData, outcome.kind);
    assert.equal(outcome.error.file, SECOND);
  });

  test("A-19: without a high-water mark, a start finds the closed segments", async () => {
    const shortened = recorded.disk.restarted({ seed: 1 });
    shortened.remove(SECOND);
    shortened.remove(MARK);
    const outcome = await outcomeOf(shortened);
    assertPrefix(outcome, recorded, "one segment");
    assert.equal(outcome.position, 4);
  });
});

describe("a snapshot", () => {
  let recorded: Recorded;
  let bytes: Buffer;
  let items: readonly Item[];

  before(async () => {
    recorded = await record(async ({ area, disk }, ask) => {
      for (const line of ["SET a 1", "HSET h f v; INCR a", "SET c text PX 5000"]) await ask(line);
      await area.closeSegment();
      await ask("SET d 4");
      const options = { disk, clock: new VirtualClock(), random: seededRandom(2), harness: {} };
      assert.equal(await writeStoreSnapshot(options), true);
      await area.adoptSnapshot();
    });
    bytes = bytesOf(recorded, SNAPSHOT);
    items = itemsOf(bytes);
    assert.deepEqual([...recorded.disk.paths].sort(), [MARK, SECOND, SNAPSHOT].sort());
  });

  test("A-19: refuses any flipped byte in a snapshot", async () => {
    for (const { offset, flipped } of flips(bytes)) {
      const outcome = await outcomeOf(withFile(recorded, SNAPSHOT, flipped));
      assertRefusedAt(outcome, { path: SNAPSHOT, offset: itemAt(items, offset).start }, `byte ${offset}`);
    }
  });

  test("A-19: refuses a snapshot of any other length", async () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const outcome = await outcomeOf(withFile(recorded, SNAPSHOT, bytes.subarray(0, length)));
      assert.equal(outcome.kind, "refused", `${length} bytes`);
      assert.equal(outcome.error.file, SNAPSHOT, `${length} bytes`);
    }
    const outcome = await outcomeOf(withFile(recorded, SNAPSHOT, Buffer.concat([bytes, Buffer.alloc(9)])));
    assertRefusedAt(outcome, { path: SNAPSHOT, offset: bytes.length }, "nine bytes more");
  });

  test("A-19: refuses a missing or doubled item in a snapshot", async () => {
    for (const item of items) {
      for (const changed of [without(bytes, item), doubled(bytes, item)]) {
        const outcome = await outcomeOf(withFile(recorded, SNAPSHOT, changed));
        assert.equal(outcome.kind, "refused", `${item.kind} at ${item.start}`);
        assert.equal(outcome.error.file, SNAPSHOT, `${item.kind} at ${item.start}`);
      }
    }
  });

  test("A-19: refuses a start without the snapshot or the segment after it, by name", async () => {
    for (const [removed, named] of [
      [SNAPSHOT, FIRST],
      [SECOND, SECOND],
    ] as const) {
      const disk = recorded.disk.restarted({ seed: 1 });
      disk.remove(removed);
      const outcome = await outcomeOf(disk);
      assert.ok(outcome.kind === "refused" && outcome.error instanceof MissingData, outcome.kind);
      assert.equal(outcome.error.file, named);
    }
  });

  test("refuses a file of a newer format as such", async () => {
    for (const path of [SNAPSHOT, SECOND]) {
      const newer = bytesOf(recorded, path);
      newer.writeUInt32LE(3, 8);
      const outcome = await outcomeOf(withFile(recorded, path, newer));
      assert.ok(outcome.kind === "refused" && outcome.error instanceof NewerFormat, outcome.kind);
      assert.equal(outcome.error.file, path);
    }
  });
});
