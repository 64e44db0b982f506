/**
 * threats.md A-19 on the small files of a vector index, byte by byte: whatever is
 * flipped, cut off, zeroed or doubled, the start is refused with the name of the
 * file, or it finds what plain indexes hold at that position, and everything
 * that an undamaged mark calls durable. The store's own test of each item of a
 * file is not repeated here. `npm test` draws a part of the damages.
 *
 * To repeat:  LARDER_TEST_SIZE=test LARDER_SMALL_FILES_SEED=… npm run t -- test/simulation/vector/small-files.test.ts
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import type { IndexApi } from "../../../src/vector/api.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import type { NewRecord } from "../../../src/vector/index/record.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { seedFrom } from "../../harness/seed.ts";
import { isRefusal } from "../crash/check.ts";
import { statedPosition } from "../disk/file-map.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY, startServer, writeServerSnapshot } from "../server.ts";
import { VectorModel } from "./vector-model.ts";
import { vectorSubject } from "./vector-subject.ts";

const drawn = { oneIn: 3, random: seededRandom(seedFrom("LARDER_SMALL_FILES_SEED")) };
const SNAPSHOT = `${DIRECTORY}/0000000002.snapshot`;
const CLOSED = `${DIRECTORY}/0000000002.journal`;
const OPEN = `${DIRECTORY}/0000000003.journal`;
const MARK = `${DIRECTORY}.high-water`;
const REGION = 16;
const NAME = "small";

const definition: IndexDefinition = {
  type: "HYBRID",
  dimension: undefined,
  similarity: "DOT_PRODUCT",
  denseModel: undefined,
  sparseModel: undefined,
};

function record(id: string, value: number): NewRecord {
  const vector = Float32Array.of(value, -value);
  const sparseVector = { indices: Int32Array.of(7, -1), values: Float32Array.of(value, 0.5) };
  return { id, vector, sparseVector, metadata: `{"n":${value}}`, data: `text ${value}` };
}

type Write = (index: IndexApi) => unknown;

const beforeSnapshot: readonly Write[] = [
  (index) => index.upsert("", [record("a", 1), record("b", 2)]),
  (index) => index.upsert("ns", [record("c", 3)]),
  (index) => index.delete("", { kind: "ids", ids: ["a"] }),
];
const closed: readonly Write[] = [
  (index) => index.update("", { id: "b", metadata: '{"m":true}', metadataUpdateMode: "PATCH" }),
  (index) => index.renameNamespace("ns", { newName: "other", deletesExisting: false }),
];
const open: readonly Write[] = [
  (index) => index.upsert("", [record("a", 4)]),
  (index) => index.reset("other"),
  (index) => index.upsert("", [record("d", 5), record("a", 6)]),
  (index) => index.delete("", { kind: "filter", filter: "n = 5" }),
];

describe("a snapshot, a closed segment and an open segment", () => {
  const disk = new SimulatedDisk({ seed: 1 });
  const texts: string[] = [new VectorModel().text];
  let end = 0;

  before(async () => {
    await disk.mkdir(DIRECTORY);
    const { area, engine, journal } = await startOn(disk);
    engine.define(NAME, definition, { dense: undefined, sparse: undefined });
    let model = new VectorModel().withIndex(NAME, definition);
    texts[journal.end] = model.text;
    const work = async (writes: readonly Write[]): Promise<void> => {
      for (const write of writes) {
        write(engine.index(NAME) as IndexApi);
        ({ model } = model.after(NAME, write));
        texts[journal.end] = model.text;
        await engine.whenSafe();
      }
    };
    await work(beforeSnapshot);
    await area.closeSegment();
    const options = { subject: vectorSubject, disk, clock: new VirtualClock(), random: seededRandom(2), harness: {} };
    await work(closed.slice(0, 1));
    assert.equal(await writeServerSnapshot(options), true);
    await area.adoptSnapshot();
    await work(closed.slice(1));
    await area.closeSegment();
    await work(open);
    end = journal.end;
    assert.deepEqual([...disk.paths].toSorted(), [MARK, CLOSED, SNAPSHOT, OPEN].toSorted());
    assert.equal(end, 1 + beforeSnapshot.length + closed.length + open.length);
  });

  for (const path of [SNAPSHOT, CLOSED, OPEN]) {
    test(`A-19: ${path.replace(`${DIRECTORY}/`, "")} damaged at any byte`, async (context) => {
      const bytes = disk.bytesOf(path);
      let refused = 0;
      let started = 0;
      for (const { what, damaged, from, to } of drawnPart([...damagedFiles(bytes)], drawn)) {
        const lost = path === OPEN ? Array.from({ length: to - from }, (_, i) => from + i) : [];
        const floor = path === OPEN ? statedPosition(what === "cut" ? damaged : bytes, lost) : end;
        const left = disk.restarted({ seed: 1 });
        left.put(path, damaged);
        const text = `${what} from ${from} to ${to} of ${bytes.length}`;
        try {
          const { area, engine } = await startOn(left);
          const { position } = area.recovered;
          assert.equal(vectorSubject.stateOf(engine), texts[position], `${text}: the state at ${position}`);
          assert.ok(position >= floor && position <= end, `${text}: ${position} of at least ${floor}`);
          started += 1;
        } catch (error) {
          if (!isRefusal(error)) throw error;
          assert.equal(error.file, path, text);
          refused += 1;
        }
      }
      context.diagnostic(`${bytes.length} bytes: refused ${refused}, started ${started}`);
      assert.ok(refused > 0);
    });
  }
});

function startOn(disk: SimulatedDisk) {
  const options = { subject: vectorSubject, clock: new VirtualClock(), random: seededRandom(1), harness: {} };
  return startServer({ ...options, disk, mode: "always", onFatal: () => {} });
}

/** The file with damage in each of its bytes and regions; the bytes `from` to `to` differ from the original. */
function* damagedFiles(bytes: Buffer): Generator<{ what: string; damaged: Buffer; from: number; to: number }> {
  for (let from = 0; from < bytes.length; from += 1) {
    const flipped = Buffer.from(bytes);
    flipped[from] = (flipped[from] as number) ^ (1 << (from % 8));
    yield { what: "flipped", damaged: flipped, from, to: from + 1 };
    yield { what: "cut", damaged: bytes.subarray(0, from), from, to: bytes.length };
    if (from % REGION > 0) continue;
    const to = Math.min(bytes.length, from + REGION);
    const twice = Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
    yield { what: "twice", damaged: twice, from, to: bytes.length };
    const zeroed = Buffer.from(bytes).fill(0, from, to);
    if (!zeroed.equals(bytes)) yield { what: "zeroed", damaged: zeroed, from, to };
  }
}
