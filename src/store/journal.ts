/** What the store needs of a journal, in its own words. `main.ts` gives it one. */

export interface StoreJournal {
  /**
   * Appends one frame: all of it or none of it survives a crash. The bytes are copied before this returns, so the
   * caller may reuse its buffer. Returns the position behind the frame (a count of frames, growing by one).
   */
  append(frame: Uint8Array, owner?: FrameOwner): number;
  /** The position behind the last appended frame. */
  readonly end: number;
  /** Everything up to this position is as safe as the durability setting promises. */
  readonly safe: number;
  /** Everything up to this position is on the disk, whatever the setting promises. Absent: nothing is kept there. */
  readonly synced?: number | undefined;
  /** Resolves once `safe >= position`. Never rejects: after a write error the process ends. */
  whenSafe(position: number): Promise<void>;
  /** Why no new write may start now (disk full), or undefined. */
  readonly refusal: string | undefined;
  /** Why nothing new of this owner may be accepted now, which may have too much in the journal's queue. Absent: as for all. */
  refusalOf?(owner: FrameOwner): string | undefined;
}

/** Whose frames they are. The journal counts here how many bytes of them it has not written yet. */
export interface FrameOwner {
  journalBytes: number;
}

/** A journal that keeps nothing: for a development server without a data directory, and for tests. */
export class NullJournal implements StoreJournal {
  end = 0;
  readonly refusal = undefined;

  get safe(): number {
    return this.end;
  }

  append(): number {
    this.end += 1;
    return this.end;
  }

  async whenSafe(): Promise<void> {}
}
