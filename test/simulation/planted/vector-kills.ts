/**
 * Bugs that the checks after a kill must find: the clients of the kill rounds use
 * a server in this process, which dies and restarts from a journal in which
 * something is wrong.
 */
import assert from "node:assert/strict";
import { FrameWriter } from "../../../src/kernel/frame.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { type Change, readChanges, writeChange } from "../../../src/vector/index/changes.ts";
import { startVectorServer, VECTOR_TOKEN, type VectorServer } from "../../harness/vector-server.ts";
import { checkEverything, checkRound, loadBase } from "../kill/vector/checks.ts";
import { Ledger } from "../kill/vector/ledger.ts";
import { DIMENSION } from "../kill/vector/signs.ts";
import { writeUntilLost } from "../kill/vector/writers.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

const BASE_COUNT = 100;
const CLIENTS = 4;
const FRAMES = 400;
/** The frames that define the indexes of a server come first. */
const DEFINING_FRAMES = 2;

/** Changes a frame of the journal. */
type Plant = (changes: readonly Change[], frame: number, frameCount: number) => readonly Change[];

export const vectorKillBugs: PlantedBugs<Plant> = {
  simulation: "kills of the vector index",
  run: async (seed, plant) => {
    const damages = await damagesOf(seed, plant);
    return damages.length === 0 ? undefined : damages.join("\n");
  },
  runsMax: 1,
  control: { bug: (changes) => changes, runs: 1 },
  bugs: [
    {
      name: "a delete is not journaled",
      breaks: "src/vector/index/index-writes.ts",
      bug: (changes) => changes.filter(({ kind }) => kind !== "remove"),
      seed: 1,
      found: /should be absent/,
    },
    {
      name: "the last upserts are lost",
      breaks: "src/vector/index/index-journal.ts",
      bug: (changes, frame, count) => (frame < count - 40 ? changes : changes.filter(({ kind }) => kind !== "put")),
      seed: 1,
      found: /is absent, but should be version/,
    },
    {
      name: "an update keeps the old vector",
      breaks: "src/vector/index/index-state.ts",
      bug: (changes) =>
        changes.map((change) => {
          return change.kind !== "put" || change.put.isWhole
            ? change
            : { ...change, put: { ...change.put, vector: undefined } };
        }),
      seed: 1,
      found: /should be version/,
    },
    {
      name: "a reset is not journaled",
      breaks: "src/vector/index/index-writes.ts",
      bug: (changes) => changes.filter(({ kind }) => kind !== "clear namespace"),
      seed: 1,
      found: /should be absent/,
    },
  ],
};

/** Lets clients write, ends the server, and starts one from the journal as changed by the bug. */
async function damagesOf(seed: number, plant: Plant): Promise<readonly string[]> {
  const ledger = new Ledger();
  const random = seededRandom(seed);
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
