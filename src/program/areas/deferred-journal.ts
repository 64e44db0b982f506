/**
 * An engine's journal over its whole life. An engine is made before its journal
 * can be: recovery replays the past into the engine, and only then is known
 * where the journal goes on.
 *
 *     nothing -> open (the journal's own answers) -> closed
 *
 * What still runs when the journal closes (the rest of a long pipeline whose
 * client is gone) is refused, and what it had begun goes nowhere: nobody is
 * told of it, and the process ends.
 */

import type { FrameOwner, Journal } from "../../kernel/journal.ts";
import type { FileJournal } from "../../persistence/journal/journal.ts";

const STOPPING = "The server is stopping";

export class DeferredJournal implements Journal {
  /** Told each frame of an engine that keeps nothing, valid until it returns, and the position after it. */
  onFrame: (frame: Uint8Array, position: number) => void = () => {};

  #journal: FileJournal | undefined;
  #isClosed = false;
  /** Where an engine that keeps nothing is. */
  #end = 0;

  /** From here on frames are kept. */
  open(journal: FileJournal): void {
    this.#journal = journal;
  }

  close(): void {
    this.#isClosed = true;
  }

  append(frame: Uint8Array, owner?: FrameOwner): number {
    if (this.#journal !== undefined && !this.#isClosed) return this.#journal.append(frame, owner);
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
