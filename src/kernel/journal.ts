/**
 * What an engine needs of a journal. `persistence/` has one on the disk; a test
 * has one that records, and an engine that keeps nothing has `NullJournal`.
 */

export interface Journal {
  /**
   * Appends one frame: all of it or none of it survives a crash. The bytes are copied before this returns, so the
   * caller may reuse its buffer. Returns the position after the frame (a count of frames, growing by one).
   */
  append(frame: Uint8Array, owner?: FrameOwner): number;
  /** Where the payload of the frame that was appended last lies in its batch, in bytes. */
  readonly appendedOffset: number;
  /** The position after the last appended frame. */
  readonly end: number;
  /** Everything up to this position is as safe as the durability setting promises. */
  readonly safe: number;
  /** Everything up to this position is on the disk, whatever the setting promises. Undefined: nothing is stored there. */
  readonly synced?: number | undefined;
  /** Resolves once `safe >= position`. Never rejects: after a write error the process ends. */
  whenSafe(position: number): Promise<void>;
  /** Why no new write may start now (the disk is full), or undefined. */
  readonly refusal: string | undefined;
  /** Why this owner may write nothing now, for example because it has too much in the journal's queue. Absent: as for all. */
  refusalOf?(owner: FrameOwner): string | undefined;
}

/** Who writes frames. The journal counts here how many bytes of them it has not written yet. */
export interface FrameOwner {
  journalBytes: number;
}

/** A journal that stores nothing: for a server without a data directory, for tests, and for a process that only reads. */
export class NullJournal implements Journal {
  readonly appendedOffset = 0;
  readonly refusal = undefined;
  // A field, not a getter: the store's hot path reads it for each unit of work.
  end = 0;

  get safe(): number {
    return this.end;
  }

  append(): number {
    this.end += 1;
    return this.end;
  }

  async whenSafe(): Promise<void> {}
}
