/**
 * An engine's journal over its whole life. An engine exists before its journal:
 * recovery replays the past into the engine, and only then is the position known
 * at which the journal continues.
 *
 *     nothing -> open (the journal's own answers) -> closed
 *
 * Work that still runs when the journal closes (the rest of a long pipeline whose
 * client is gone) is refused, and its unfinished frames are discarded: they are
 * never acknowledged, and the process ends.
 */

import type { FrameOwner, Journal } from "../../kernel/journal.ts";
import type { FileJournal } from "../../persistence/journal/journal.ts";

const STOPPING = "The server is stopping";

export class DeferredJournal implements Journal {
  /** Receives each frame of an engine that stores nothing, valid until it returns, and the position after it. */
  onFrame: (frame: Uint8Array, position: number) => void = () => {};

  #journal: FileJournal | undefined;
  #isClosed = false;
  /** The position of an engine that stores nothing. */
  #end = 0;

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
    return this.#journal === undefined ? this.#end : this.#journal.safe;
  }

  get synced(): number | undefined {
    return this.#journal?.synced;
  }

  whenSafe(position: number): Promise<void> {
    return this.#journal === undefined ? Promise.resolve() : this.#journal.whenSafe(position);
  }

  get refusal(): string | undefined {
    return this.#isClosed ? STOPPING : this.#journal?.refusal;
  }

  refusalOf(owner: FrameOwner): string | undefined {
    return this.#isClosed ? STOPPING : this.#journal?.refusalOf(owner);
  }
}
