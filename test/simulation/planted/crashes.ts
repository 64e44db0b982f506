/** Runs of crash states with a planted bug, and journals that the tables of several engines plant. */
import type { Journal } from "../../../src/kernel/journal.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import { runCrashStates } from "../crash/crash-states.ts";
import type { Subject } from "../crash/subject.ts";
import type { Harness } from "../server.ts";
import { textOf } from "./planted-bugs.ts";

/** Wires the servers of one run; the random is that of the run. */
export type CrashBug<Engine> = (random: Random) => Harness<Engine>;

export function crashRun<Engine extends SnapshotEngine, State>(
  subject: Subject<Engine, State>,
  statesPerLifeMax: number,
): (seed: number, harness: CrashBug<Engine>) => Promise<string | undefined> {
  return async (seed, harness) => {
    const { violation } = await runCrashStates({ subject, statesPerLifeMax, seed, allowance: { count: 1 }, harness });
    return textOf(violation);
  };
}

/** Calls everything safe as soon as it is appended. */
export function hastyJournal(journal: FileJournal): Journal {
  return Object.defineProperties(passingJournal(journal), {
    whenSafe: { value: () => Promise.resolve() },
    safe: { get: () => journal.end },
  });
}

export function passingJournal(journal: FileJournal): Journal {
  return {
    append: (frame) => journal.append(frame),
    whenSafe: (position) => journal.whenSafe(position),
    get appendedOffset() {
      return journal.appendedOffset;
    },
    get end() {
      return journal.end;
    },
    get safe() {
      return journal.safe;
    },
    get refusal() {
      return journal.refusal;
    },
  };
}
