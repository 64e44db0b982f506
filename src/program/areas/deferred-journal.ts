/**
 * An engine's journal over its whole life. An engine exists before its journal:
 * recovery replays the past into the engine, and only then is the position known
 * at which the journal continues.
 *
 *     nothing -> open (the journal's own answers) -> closed
 *
 * With a fence it is the journal of a shard, whose node may lose it:
 *
 * (1) A reply leaves when its node was certain to own the shard after the reply
 *     was made. A commit that it waits for proves that if it was sent after the
 *     reply was made; any other reply asks the fence. The answer to a commit may
 *     have been on its way while another node claimed the shard and wrote to it.
 * (2) Nothing is safe while the fence is not fresh, so a caller that compares
 *     positions waits, and the end of its wait is its answer: positions cannot
 *     tell a reply from one that was made a moment later.
 *
 * Work that still runs when the journal closes (the rest of a long pipeline whose
 * client is gone) is refused, and its unfinished frames are discarded: they are
 * never acknowledged, and the process ends.
 */

import type { FrameOwner, Journal } from "../../kernel/journal.ts";
import type { FileJournal } from "../../persistence/journal/journal.ts";

/** Whether the node still owns the shard, for replies and for new work. */
export interface JournalFence {
  /** Whether a reply may leave now without a wait. */
  isFresh(): boolean;
  /** Resolves when a reply that was made before this call may leave. */
  whenFresh(): Promise<void>;
  /** Why no write may start now, or undefined. */
  readonly reason: string | undefined;
  /** True if a position of the journal becomes safe by a commit that only the owner can make. */
  readonly isProvenByCommits: boolean;
  /** Whether a call of a destination may start now. */
  readonly mayCall: boolean;
}

const STOPPING = "The server is stopping";

export class DeferredJournal implements Journal {
  /** Receives each frame of an engine that stores nothing, valid until it returns, and the position after it. */
  onFrame: (frame: Uint8Array, position: number) => void = () => {};

  readonly #fence: JournalFence | undefined;
  #journal: FileJournal | undefined;
  #isClosed = false;
  /** Owners that may not write now, with the reason. */
  readonly #held = new Map<FrameOwner, string>();
  /** The position of an engine that stores nothing. */
  #end = 0;

  constructor(fence?: JournalFence) {
    this.#fence = fence;
  }

  /** From here on frames are stored. */
  open(journal: FileJournal): void {
    this.#journal = journal;
  }

  close(): void {
    this.#isClosed = true;
  }

  append(frame: Uint8Array, owner?: FrameOwner, bulkBytes?: number): number {
    if (this.#journal !== undefined && !this.#isClosed) return this.#journal.append(frame, owner, bulkBytes);
    this.#end += 1;
    this.onFrame(frame, this.end);
    return this.end;
  }

  get appendedOffset(): number {
    return this.#journal?.appendedOffset ?? 0;
  }

  get end(): number {
    return this.#journal === undefined ? this.#end : this.#journal.end + this.#end;
  }

  get safe(): number {
    if (this.#fence?.isFresh() === false) return -1; // keeps (2)
    return this.#journal === undefined ? this.#end : this.#journal.safe;
  }

  get synced(): number | undefined {
    return this.#journal?.synced;
  }

  whenSafe(position: number): Promise<void> {
    if (this.#fence !== undefined) return this.#whenOwned(position, this.#fence);
    return this.#journal === undefined ? Promise.resolve() : this.#journal.whenSafe(position);
  }

  /** keeps (1) */
  async #whenOwned(position: number, fence: JournalFence): Promise<void> {
    const journal = this.#journal;
    if (journal === undefined || journal.safe >= position) return fence.whenFresh();
    const isProven = fence.isProvenByCommits && journal.written < position;
    const owned = isProven ? undefined : fence.whenFresh();
    await journal.whenSafe(position);
    await owned;
  }

  get refusal(): string | undefined {
    return this.#isClosed ? STOPPING : (this.#fence?.reason ?? this.#journal?.refusal);
  }

  get isLate(): boolean {
    return this.#fence?.mayCall === false;
  }

  get isTight(): boolean {
    return this.#journal?.isTight === true;
  }

  lackFor(bytes: number): string | undefined {
    return this.#journal?.lackFor(bytes);
  }

  refusalOf(owner: FrameOwner): string | undefined {
    if (this.#isClosed) return STOPPING;
    const held = this.#held.size === 0 ? undefined : this.#held.get(owner);
    return held ?? this.#fence?.reason ?? this.#journal?.refusalOf(owner);
  }

  /** From now on an owner may not write for this reason; undefined: it may again. */
  hold(owner: FrameOwner, reason: string | undefined): void {
    if (reason === undefined) this.#held.delete(owner);
    else this.#held.set(owner, reason);
  }
}
