/**
 * The journal as an engine sees it, and what the simulation sees of it: each
 * frame at the moment of its append, just after the engine's state changed.
 * Planted bugs are between the two.
 */
import type { Journal } from "../../../src/kernel/journal.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";

export interface JournalBug {
  /** Reports that everything is on the disk. */
  readonly isHasty?: boolean;
}

export class WatchedJournal implements Journal {
  readonly #bug: JournalBug;
  readonly #onFrame: (frame: Buffer, position: number) => void;
  #journal: FileJournal | undefined;
  #isDead = false;

  constructor(bug: JournalBug, onFrame: (frame: Buffer, position: number) => void) {
    this.#bug = bug;
    this.#onFrame = onFrame;
  }

  open(journal: FileJournal): void {
    this.#journal = journal;
  }

  /** The process is gone: running code leaves no more traces. */
  die(): void {
    this.#isDead = true;
  }

  append(frame: Uint8Array): number {
    if (this.#isDead) return this.end;
    const copy = Buffer.from(frame);
    const position = this.#open.append(frame);
    this.#onFrame(copy, position);
    return position;
  }

  get appendedOffset(): number {
    return this.#open.appendedOffset;
  }

  get end(): number {
    return this.#journal?.end ?? 0;
  }

  get safe(): number {
    return this.#bug.isHasty === true ? this.end : this.#open.safe;
  }

  whenSafe(position: number): Promise<void> {
    return this.#bug.isHasty === true ? Promise.resolve() : this.#open.whenSafe(position);
  }

  get refusal(): string | undefined {
    return this.#isDead ? "The process is gone" : this.#open.refusal;
  }

  get #open(): FileJournal {
    if (this.#journal === undefined) throw new Error("The journal must be open");
    return this.#journal;
  }
}
