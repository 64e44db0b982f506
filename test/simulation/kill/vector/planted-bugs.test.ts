/**
 * The checks after a kill find planted bugs: the same clients use a server in
 * this process, which dies and restarts from a journal in which something is
 * wrong.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameWriter } from "../../../../src/kernel/frame.ts";
import { seededRandom } from "../../../../src/kernel/random.ts";
import { type Change, readChanges, writeChange } from "../../../../src/vector/index/changes.ts";
import { startVectorServer, VECTOR_TOKEN, type VectorServer } from "../../../harness/vector-server.ts";
import { checkEverything, checkRound, loadBase } from "./checks.ts";
import { Ledger } from "./ledger.ts";
import { DIMENSION, signsOf } from "./signs.ts";
import { writeUntilLost } from "./writers.ts";

const BASE_COUNT = 100;
const CLIENTS = 4;
const FRAMES = 400;
/** The frames that define the indexes of a server come first. */
const DEFINING_FRAMES = 2;

type Plant = (changes: readonly Change[], frame: number, frameCount: number) => readonly Change[];

const bugs: readonly { readonly name: string; readonly plant: Plant; readonly found: RegExp }[] = [
  {
    name: "a delete is not journaled",
    plant: (changes) => changes.filter(({ kind }) => kind !== "remove"),
    found: /should be absent/,
  },
  {
    name: "the last upserts are lost",
    plant: (changes, frame, count) => (frame < count - 40 ? changes : changes.filter(({ kind }) => kind !== "put")),
    found: /is absent, but should be version/,
  },
  {
    name: "an update keeps the old vector",
    plant: (changes) =>
      changes.map((change) => {
        return change.kind !== "put" || change.put.isWhole
          ? change
          : { ...change, put: { ...change.put, vector: undefined } };
      }),
    found: /should be version/,
  },
  {
    name: "a reset is not journaled",
    plant: (changes) => changes.filter(({ kind }) => kind !== "clear namespace"),
    found: /should be absent/,
  },
];

const noBug: Plant = (changes) => changes;

/** Lets clients write, ends the server, and starts one from the journal as changed by the bug. */
async function damagesOf(plant: Plant): Promise<readonly string[]> {
  const ledger = new Ledger();
  const random = seededRandom(4);
  const dying = await startVectorServer({ dimension: DIMENSION });
  await loadBase(endpointOf(dying), BASE_COUNT);
  const start = dying.journal.frames.length;
  const writing = writeUntilLost(endpointOf(dying), { ledger, clientCount: CLIENTS, random });
  await untilAppended(dying, start + FRAMES);
  await dying[Symbol.asyncDispose]();
  await writing;

  await using next = await startVectorServer({ dimension: DIMENSION });
  const frames = dying.journal.frames.slice(DEFINING_FRAMES);
  const writer = new FrameWriter();
  for (const [i, frame] of frames.entries()) {
    for (const change of plant([...readChanges(frame)], i, frames.length)) writeChange(writer, change);
    if (!writer.isEmpty) next.engine.replay(Buffer.from(writer.take()));
  }
  const damages: string[] = [];
  const checked = { endpoint: endpointOf(next), ledger, baseCount: BASE_COUNT, random, damages };
  await checkRound(checked);
  await checkEverything(checked);
  assert.ok(ledger.acknowledgedCount >= FRAMES / 2, `${ledger.acknowledgedCount} writes were acknowledged`);
  return damages;
}

function endpointOf({ url }: VectorServer): { readonly url: string; readonly token: string } {
  return { url, token: VECTOR_TOKEN };
}

function untilAppended({ journal }: VectorServer, count: number): Promise<void> {
  const append = journal.append.bind(journal);
  return new Promise((resolve) => {
    journal.append = (frame) => {
      const position = append(frame);
      if (position === count) resolve();
      return position;
    };
  });
}

for (const { name, plant, found } of bugs) {
  test(`found: ${name}`, async () => {
    assert.match((await damagesOf(plant)).join("\n"), found);
  });
}

test("nothing is found without a bug", async () => {
  assert.deepEqual(await damagesOf(noBug), []);
});

test("finds a partly done batch", () => {
  const ledger = new Ledger();
  const entries = ["a", "b"].map((id) => ledger.entry(1, "ns", id));
  ledger.begin({ kind: "an upsert", isWhole: true, path: "", text: "", entries }, (entry) => {
    return { seed: entry.id === "a" ? 1 : 2, version: 1 };
  });
  const vector = Array.from({ length: DIMENSION }, (_, i) =>
    ((signsOf(1)[i >> 3] as number) >> (i & 7)) & 1 ? -1 : 1,
  );
  const damages: string[] = [];

  const [a, b] = entries as [(typeof entries)[number], (typeof entries)[number]];
  ledger.check(a, { id: "a", vector, metadata: { client: 1, version: 1 }, data: "1" }, damages);
  ledger.check(b, undefined, damages);

  assert.deepEqual(damages, []);
  assert.deepEqual(ledger.takeHalves(), ["a part of an upsert of ns/a,ns/b was done"]);
});
