/**
 * The subject of a crash test: the engine of an area, and clients that send it
 * requests. Disk, journal, time and crashes are the same for all subjects.
 *
 * (1) A state is what an engine must hold after a unit of work: a text, or
 *     a value from which the text is made when it is needed.
 * (2) Nothing changes without a frame, and a unit of work is one frame.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import type { DeferredJournal } from "../deferred-journal.ts";
import type { EngineKind } from "../server.ts";

export interface Subject<Engine extends SnapshotEngine, State> extends EngineKind<Engine> {
  /** The state of an engine that never recovered anything. */
  readonly empty: State;
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
  /** In a cluster: whether a reply may leave now, which has waited for a commit or not. Absent: it may. */
  readonly mayReply?: (reply: { readonly hasWaited: boolean }) => boolean;
  /** In a cluster: whether the clients only read now, from a node that would notice with a write what it has lost. */
  readonly hasOnlyReaders?: () => boolean;
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
