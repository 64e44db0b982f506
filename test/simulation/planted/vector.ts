/**
 * Bugs that the vector engine could have between its memory and its journal,
 * each planted in what it appends, in what a snapshot holds or in its replay.
 * The crash-state tests must find every one of them.
 */
import { FrameWriter } from "../../../src/kernel/frame.ts";
import type { Journal } from "../../../src/kernel/journal.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";
import { type Change, readChanges, writeChange } from "../../../src/vector/index/changes.ts";
import type { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import type { Harness } from "../crash/subject.ts";
import { hastyJournal, passingJournal } from "./store.ts";

export interface PlantedBug {
  readonly name: string;
  readonly harness: Harness<VectorEngine>;
}

/** The changes of one frame, as one frame or several. */
type Rewrite = (changes: readonly Change[]) => readonly (readonly Change[])[];

export const plantedBugs: readonly PlantedBug[] = [
  { name: "a reply leaves before it is safe", harness: { journal: hastyJournal } },
  { name: "a delete is not journaled", harness: journaled(leavingOut(({ kind }) => kind === "remove")) },
  { name: "an upsert of several records is two frames", harness: journaled(halved) },
  { name: "a dimension that a vector fixed is not journaled", harness: journaled(leavingOut(isFixing)) },
  { name: "a reset is journaled as the end of its namespace", harness: journaled(changed(droppedForCleared)) },
  { name: "an update is journaled as a whole record", harness: journaled(changed(wholeForParts)) },
  { name: "a rename leaves the replaced namespace in the journal", harness: journaled(leavingOut(isDropBeforeRename)) },
  { name: "a dropped index comes back", harness: journaled(leavingOut(({ kind }) => kind === "drop index")) },
  { name: "the records of a batch are replayed from the last to the first", harness: { replay: replayedInReverse } },
  { name: "a snapshot forgets sparse values", harness: dumped(changed(withoutSparse)) },
  { name: "a snapshot forgets the order of records", harness: dumped((changes) => [changes.toReversed()]) },
  { name: "a snapshot forgets empty namespaces", harness: dumped(withoutEmptyNamespaces) },
  { name: "a snapshot forgets a dimension that a vector fixed", harness: dumped(changed(openedDimension)) },
];

/** The same wiring without a bug. */
export const noBug: PlantedBug = {
  name: "no bug",
  harness: {
    ...journaled((changes) => [changes]),
    ...dumped((changes) => [changes]),
    replay: (engine, frame) => engine.replay(frame),
  },
};

// Places of bugs.

function journaled(rewrite: Rewrite): Harness<VectorEngine> {
  return {
    journal: (journal: FileJournal): Journal => {
      const append = (frame: Uint8Array): number => {
        for (const bytes of rewritten(frame, rewrite)) journal.append(bytes);
        return journal.end;
      };
      return Object.defineProperties(passingJournal(journal), { append: { value: append } });
    },
  };
}

function dumped(rewrite: Rewrite): Harness<VectorEngine> {
  return {
    *dump(engine) {
      for (const frame of engine.dump()) yield* rewritten(frame, rewrite);
    },
  };
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
