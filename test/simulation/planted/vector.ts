/**
 * Bugs that the vector engine could have between its memory and its journal,
 * each planted in what it appends, in what a snapshot holds or in its replay.
 */
import { FrameWriter } from "../../../src/kernel/frame.ts";
import type { Journal } from "../../../src/kernel/journal.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";
import { type Change, readChanges, writeChange } from "../../../src/vector/index/changes.ts";
import type { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import { vectorSubject } from "../vector/vector-subject.ts";
import { type CrashBug, crashRun, hastyJournal, passingJournal } from "./crashes.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

/** Most bugs need another life, not another moment of one. */
const STATES_PER_LIFE = 15;

/** The changes of one frame, as one frame or several. */
type Rewrite = (changes: readonly Change[]) => readonly (readonly Change[])[];

export const vectorBugs: PlantedBugs<CrashBug<VectorEngine>> = {
  simulation: "crash states of the vector index",
  run: crashRun(vectorSubject, STATES_PER_LIFE),
  runsMax: 23,
  control: { bug: passing, runs: 3 },
  bugs: [
    {
      name: "a reply leaves before it is safe",
      breaks: "src/vector/index/vector-engine.ts",
      bug: () => ({ journal: hastyJournal }),
      seed: 1,
      found: /Found only position/,
    },
    {
      name: "a delete is not journaled",
      breaks: "src/vector/index/index-writes.ts",
      bug: journaled(leavingOut(({ kind }) => kind === "remove")),
      seed: 1,
      found: /The state changed without a frame/,
    },
    {
      name: "an upsert of several records is two frames",
      breaks: "src/vector/index/index-journal.ts",
      bug: journaled(halved),
      seed: 2,
      found: /Found part of a unit of work/,
    },
    {
      name: "a dimension that a vector fixed is not journaled",
      breaks: "src/vector/index/index-writes.ts",
      bug: journaled(leavingOut(isFixing)),
      seed: 6,
      found: /a row has 1 to DIMENSION_MAX values/,
    },
    {
      name: "a reset is journaled as the end of its namespace",
      breaks: "src/vector/index/index-writes.ts",
      bug: journaled(changed(droppedForCleared)),
      seed: 1,
      found: /The state at position \d+ differs from the served one|a record names a namespace that exists/,
    },
    {
      name: "an update is journaled as a whole record",
      breaks: "src/vector/index/index-writes.ts",
      bug: journaled(changed(wholeForParts)),
      seed: 2,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "a rename leaves the replaced namespace in the journal",
      breaks: "src/vector/index/index-writes.ts",
      bug: journaled(leavingOut(isDropBeforeRename)),
      seed: 13,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "a dropped index comes back",
      breaks: "src/vector/index/vector-engine.ts",
      bug: journaled(leavingOut(({ kind }) => kind === "drop index")),
      seed: 1,
      found: /The state changed without a frame/,
    },
    {
      name: "the records of a batch are replayed from the last to the first",
      breaks: "src/vector/index/changes.ts",
      bug: () => ({ replay: replayedInReverse }),
      seed: 1,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "a snapshot forgets sparse values",
      breaks: "src/vector/index/dump.ts",
      bug: dumped(changed(withoutSparse)),
      seed: 2,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "a snapshot forgets the order of records",
      breaks: "src/vector/index/dump.ts",
      bug: dumped((changes) => [changes.toReversed()]),
      seed: 2,
      found: /no place is assigned twice|a record names a namespace that exists/,
    },
    {
      name: "a snapshot forgets empty namespaces",
      breaks: "src/vector/index/dump.ts",
      bug: dumped(withoutEmptyNamespaces),
      seed: 13,
      found: /The state at position \d+ differs from the served one|a record names a namespace that exists/,
    },
    {
      name: "a snapshot forgets a dimension that a vector fixed",
      breaks: "src/vector/index/index-writes.ts",
      bug: dumped(changed(openedDimension)),
      seed: 9,
      found: /a row has 1 to DIMENSION_MAX values/,
    },
  ],
};

/** The same wiring without a bug. */
function passing(...[random]: Parameters<CrashBug<VectorEngine>>): ReturnType<CrashBug<VectorEngine>> {
  return {
    ...journaled((changes) => [changes])(random),
    ...dumped((changes) => [changes])(random),
    replay: (engine, frame) => engine.replay(frame),
  };
}

// Places of bugs.

function journaled(rewrite: Rewrite): CrashBug<VectorEngine> {
  return () => ({
    journal: (journal: FileJournal): Journal => {
      const append = (frame: Uint8Array): number => {
        for (const bytes of rewritten(frame, rewrite)) journal.append(bytes);
        return journal.end;
      };
      return Object.defineProperties(passingJournal(journal), { append: { value: append } });
    },
  });
}

function dumped(rewrite: Rewrite): CrashBug<VectorEngine> {
  return () => ({
    *dump(engine) {
      for (const frame of engine.dump()) yield* rewritten(frame, rewrite);
    },
  });
}

function* rewritten(frame: Uint8Array, rewrite: Rewrite): Generator<Uint8Array> {
  const writer = new FrameWriter();
  for (const changes of rewrite([...readChanges(Buffer.from(frame))])) {
    for (const change of changes) writeChange(writer, change);
    if (!writer.isEmpty) yield writer.take();
  }
}

function leavingOut(isLeftOut: (change: Change, changes: readonly Change[]) => boolean): Rewrite {
  return (changes) => [changes.filter((change) => !isLeftOut(change, changes))];
}

function changed(change: (one: Change) => Change): Rewrite {
  return (changes) => [changes.map(change)];
}

// The bugs.

function halved(changes: readonly Change[]): readonly (readonly Change[])[] {
  const last = changes.at(-1);
  return changes.length < 2 || last?.kind !== "put" ? [changes] : [changes.slice(0, -1), [last]];
}

function isFixing({ kind }: Change): boolean {
  return kind === "fix dimension";
}

function isDropBeforeRename({ kind }: Change, changes: readonly Change[]): boolean {
  return kind === "drop namespace" && changes.length > 1;
}

function droppedForCleared(change: Change): Change {
  return change.kind === "clear namespace" ? { ...change, kind: "drop namespace" } : change;
}

function wholeForParts(change: Change): Change {
  return change.kind === "put" ? { ...change, put: { ...change.put, isWhole: true } } : change;
}

function withoutSparse(change: Change): Change {
  return change.kind === "put" ? { ...change, put: { ...change.put, sparseVector: undefined } } : change;
}

function openedDimension(change: Change): Change {
  if (change.kind !== "create index" || change.definition.type === "SPARSE") return change;
  return { ...change, definition: { ...change.definition, dimension: undefined } };
}

function withoutEmptyNamespaces(changes: readonly Change[]): readonly (readonly Change[])[] {
  const isEmpty = changes.every(({ kind }) => kind === "create namespace" || kind === "next place");
  return isEmpty ? [] : [changes];
}

function replayedInReverse(engine: VectorEngine, frame: Buffer): void {
  const changes = [...readChanges(frame)];
  const puts = changes.filter(({ kind }) => kind === "put");
  const others = changes.filter(({ kind }) => kind !== "put");
  const writer = new FrameWriter();
  for (const change of [...others, ...puts.toReversed()]) writeChange(writer, change);
  engine.replay(Buffer.from(writer.take()));
}
