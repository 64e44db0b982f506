/**
 * The subject of a crash test: the engine of an area, and clients that send it
 * requests. Disk, journal, time and crashes are the same for all subjects.
 *
 * (1) A state is what an engine must hold after a unit of work: a text, or
 *     a value from which the text is made when it is needed.
 * (2) Nothing changes without a frame, and a unit of work is one frame.
 */
import type { Clock } from "../../../src/kernel/clock.ts";
import type { Journal } from "../../../src/kernel/journal.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { AreaStorage } from "../../../src/persistence/area-storage.ts";
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import type { DeferredJournal } from "./deferred-journal.ts";

export interface EngineParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Subject<Engine extends SnapshotEngine, State> {
  /** Name of the area in its files. */
  readonly area: string;
  /** The state of an engine that never recovered anything. */
  readonly empty: State;
  open(parts: EngineParts): Engine;
  /** The whole state as text, equal for two engines exactly if they hold the same. */
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
  /** To be called after each unit of work, if one request has several. */
  readonly note: () => void;
}

/** How a request was answered: later, when what it saw is safe; at once; or without having seen anything. */
export type Reply =
  | { readonly kind: "waits"; readonly sent: Promise<unknown> }
  | { readonly kind: "sent" }
  | { readonly kind: "blind" };

export interface Clients<State> {
  /** Called once before the first request: makes what all requests need. */
  begin(): void;
  /** One client sends a request. */
  ask(): Reply;
  /** The engine's own work, without a request. */
  upkeep(): void;
  /** A tenant is created or deleted. */
  changeTenants(): void;
  /** What the engine must hold now. */
  state(): State;
}

/** What is put between the parts of a server. Absent members are as in the program. */
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
