/**
 * What a crash test is about: the engine of an area, and clients that ask it
 * for something. Disk, journal, time and crashes are the same for all.
 *
 * (1) A state is what an engine must hold behind a unit of work: a text, or
 *     something of which the text is made when it is needed.
 * (2) Nothing changes without a frame, and a unit of work is one frame.
 */
import type { Clock } from "../../src/kernel/clock.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import type { Random } from "../../src/kernel/random.ts";
import type { AreaStorage } from "../../src/persistence/area-storage.ts";
import type { Disk } from "../../src/persistence/disk/disk.ts";
import type { SnapshotEngine } from "../../src/persistence/snapshot.ts";
import type { DeferredJournal } from "./crash-journal.ts";

export interface EngineParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Subject<Engine extends SnapshotEngine, State> {
  /** Of the files. */
  readonly area: string;
  /** What an engine holds that never recovered anything. */
  readonly empty: State;
  open(parts: EngineParts): Engine;
  /** Everything that it holds, equal for two engines exactly if they hold the same. */
  stateOf(engine: Engine): string;
  textOf(state: State): string;
  /** Clients of one life, which begins with this state. */
  clients(parts: ClientParts<Engine, State>): Clients<State>;
}

export interface ClientParts<Engine, State> {
  readonly engine: Engine;
  readonly journal: DeferredJournal;
  readonly random: Random;
  readonly state: State;
  /** To be called behind each unit of work, where one request is several. */
  readonly note: () => void;
}

/** How a request was answered: later, when what it saw is safe; at once; or without having seen anything. */
export type Reply =
  | { readonly kind: "waits"; readonly sent: Promise<unknown> }
  | { readonly kind: "sent" }
  | { readonly kind: "blind" };

export interface Clients<State> {
  /** Once, before the first request: makes what all of them need. */
  begin(): void;
  /** One client asks for something. */
  ask(): Reply;
  /** What an engine does without being asked. */
  upkeep(): void;
  /** A tenant comes or goes. */
  changeTenants(): void;
  /** What the engine must hold now. */
  state(): State;
}

/** What is between the parts of a server. What is absent is as in the program. */
export interface Harness<Engine> {
  /** The disk as the server or its snapshot sees it. */
  readonly disk?: (disk: Disk) => Disk;
  /** The journal as the engine sees it. */
  readonly journal?: (journal: AreaStorage["journal"]) => Journal;
  /** How a recovering server applies a frame. */
  readonly replay?: (engine: Engine, frame: Buffer) => void;
  /** What the process of a snapshot writes. */
  readonly dump?: (engine: Engine) => Iterable<Uint8Array>;
}
