/**
 * Checks what a start finds after a crash of a `BodyLife`.
 *
 * (1) Every body that is live at the recovered position is read back from its
 *     place, before and after segments are removed, and no other body is live.
 * (2) The history is never ahead of the recovered position, and receives the
 *     frames after its own position: no segment that it needs was removed.
 * (3) A backup has every body that was live when it was made.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { AreaStorage } from "../../../src/persistence/area-storage.ts";
import { FrameFollower } from "../../../src/persistence/journal/frame-follower.ts";
import type { Allowance } from "../../budget.ts";
import { DeferredJournal } from "../deferred-journal.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { type LifePort, runLives } from "../lives.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { DIRECTORY, recoverInto } from "../server.ts";
import { BodyEngine, bodiesBehind } from "./body-engine.ts";
import { type BodyBug, type BodyCrash, BodyLife, type BodyPast, BodyViolation, bodySubject } from "./life.ts";

export interface BodySummary {
  runs: number;
  /** Crashes recovered and compared. */
  states: number;
  /** Bodies read back. */
  reads: number;
  /** Frames that the history received. */
  followed: number;
  /** Covered segments that existed after a crash. */
  kept: number;
  /** Kept segments that were removed once they were not needed. */
  removed: number;
  backups: number;
  violation: SeedViolation | undefined;
}

export interface BodyRunOptions {
  /** Seed of the first run; each next run adds one. */
  readonly seed: number;
  /** Limit in crashes or in time. A run under way at the limit is finished. */
  readonly allowance: Allowance;
  readonly bug?: BodyBug;
}

const LIVES_PER_RUN = 3;
/** Enough for every event to happen, however slow the machine is. */
const RUNS_MIN = 4;
const BACKUP_ONE_IN = 4;

export async function runKeptBodies({ seed, allowance, bug = {} }: BodyRunOptions): Promise<BodySummary> {
  const counts = { runs: 0, states: 0, reads: 0, followed: 0, kept: 0, removed: 0, backups: 0 };
  const summary: BodySummary = { ...counts, violation: undefined };
  const counted = (): number => summary.states;
  const seen = (): readonly number[] => {
    const { reads, followed, kept, removed, backups } = summary;
    return [reads, followed, kept, removed, backups];
  };
  const { runs, violation } = await runSeeds({ seed, allowance, runsMin: RUNS_MIN, seen, counted }, (runSeed) =>
    runOnce(runSeed, bug, summary),
  );
  return { ...summary, runs, violation };
}

async function runOnce(seed: number, bug: BodyBug, summary: BodySummary): Promise<void> {
  const random = seededRandom(seed);
  let past: BodyPast = { frames: [], promised: 0, historyPosition: 0, backups: [] };
  const port: LifePort = {
    lives: LIVES_PER_RUN,
    async live(start) {
      const life = new BodyLife({ ...start(), past, bug });
      await life.run();
      summary.reads += life.counts.reads;
      summary.followed += life.counts.followed;
      summary.removed += life.counts.removed;
      const next = life.crashes[random.below(life.crashes.length)] as BodyCrash;
      past = next;
      // Checking a crash recovers it, so the next life gets a copy made earlier.
      const left = { disk: next.disk.restarted({ seed: 0 }), wallMs: new VirtualClock().nowMs() };
      for (const crash of life.crashes) await checkCrash(crash, random, summary);
      return left;
    },
  };
  await runLives(port, random);
}

async function checkCrash(crash: BodyCrash, random: Random, summary: BodySummary): Promise<void> {
  summary.states += 1;
  try {
    await checkArea(crash, DIRECTORY, summary);
    for (const { directory, position } of crash.backups) {
      if (random.below(BACKUP_ONE_IN) > 0) continue;
      summary.backups += 1;
      await checkArea({ ...crash, promised: position, historyPosition: undefined }, directory, summary);
    }
  } catch (cause) {
    const { promised, historyPosition, frames } = crash;
    const files = crash.disk.paths.join(", ");
    const facts = `promised ${promised} of ${frames.length}, history at ${historyPosition}; ${files}`;
    throw new BodyViolation(`A crash ${crash.when}: ${facts}`, { cause });
  }
}

type Expected = Omit<BodyCrash, "historyPosition"> & { readonly historyPosition: number | undefined };

async function checkArea(crash: Expected, directory: string, summary: BodySummary): Promise<void> {
  const { disk, frames, promised, historyPosition } = crash;
  const engine = new BodyEngine();
  let historySegment = 0;
  const { area } = await recoverInto(
    { engine, journal: new DeferredJournal() },
    {
      ...{ subject: bodySubject, harness: {}, disk, directory, mode: "always" },
      ...{ clock: new VirtualClock(), random: seededRandom(1) },
      mayRemove: (segment) => segment < historySegment && engine.liveIn(segment).length === 0,
      onFatal: (error) => {
        throw error;
      },
    },
  );
  const { position } = area.recovered;
  if (position < promised || position > frames.length) throw new BodyViolation(`Found position ${position}`);
  summary.kept += area.segments.filter(({ isCovered }) => isCovered).length;
  const expected = bodiesBehind(frames.slice(0, position));
  await readAll(area, engine, expected);
  if (historyPosition !== undefined) {
    if (historyPosition > position) throw new BodyViolation(`Position ${position} is before that of the history`);
    await followRest(area, { ...crash, directory, historyPosition, position });
  }
  historySegment = area.journal.segmentNumber;
  await area.removeUnneeded();
  await readAll(area, engine, expected);
  await area.close();
  summary.reads += expected.size * 2;
}

async function readAll(area: AreaStorage, engine: BodyEngine, expected: ReadonlyMap<string, Buffer>): Promise<void> {
  if (engine.bodies.size !== expected.size) {
    throw new BodyViolation(`${engine.bodies.size} bodies are live, not ${expected.size}`);
  }
  const reads = [...engine.bodies].map(async ([id, place]) => {
    if (place === undefined) throw new BodyViolation(`Body ${id} has no place`);
    const body = await area.read(place.segment, place.offset, place.bytes);
    if (expected.get(id)?.equals(body) !== true) throw new BodyViolation(`Body ${id} differs from what was put`);
  });
  await Promise.all(reads);
}

async function followRest(
  area: AreaStorage,
  rest: {
    readonly disk: SimulatedDisk;
    readonly directory: string;
    readonly frames: readonly Buffer[];
    readonly historyPosition: number;
    readonly position: number;
  },
): Promise<void> {
  const { disk, directory, frames, historyPosition, position } = rest;
  let next = historyPosition + 1;
  const follower = new FrameFollower({
    ...{ disk, directory, area: bodySubject.area, position: historyPosition },
    frame: (payload, told) => {
      if (told !== next || frames[told - 1]?.equals(payload) !== true)
        throw new BodyViolation(`The history received a wrong frame ${told}`);
      next += 1;
    },
  });
  await follower.follow(area.journal.syncedLocation);
  await follower.close();
  if (next !== position + 1) throw new BodyViolation(`The history received frames up to ${next - 1}, not ${position}`);
}

/** One line for a person. */
export function describeBodies(summary: BodySummary, seed: number): string {
  const { runs, states, reads, followed, kept, removed, backups } = summary;
  return [
    `SEED=${seed}: ${states} crashes in ${runs} runs, ${reads} bodies read back, ${followed} frames followed, `,
    `${kept} kept segments seen, ${removed} removed while serving, ${backups} backups`,
  ].join("");
}
