/** What messaging needs of a journal, in its own words. Start-up gives it one. */

export interface MessagingJournal {
  /** Appends one frame: all of it or none of it survives a crash. The bytes are copied. Returns the position behind it. */
  append(frame: Uint8Array, owner?: FrameOwner): number;
  /** Where the payload of the frame that was appended last lies in its batch. */
  readonly appendedOffset: number;
  /** The position behind the last appended frame. */
  readonly end: number;
  /** Everything up to this position is on the disk. */
  readonly safe: number;
  /** Resolves once `safe >= position`. */
  whenSafe(position: number): Promise<void>;
  /** Why nothing new may be accepted now, or undefined. */
  readonly refusal: string | undefined;
  /** Why nothing new of this owner may be accepted now, which may have too much in the journal's queue. Absent: as for all. */
  refusalOf?(owner: FrameOwner): string | undefined;
}

/** Whose frames they are. The journal counts here how many bytes of them it has not written yet. */
export interface FrameOwner {
  journalBytes: number;
}

/** A journal that keeps nothing: for tests, and for a process that only reads. */
export class NullJournal implements MessagingJournal {
  #end = 0;
  readonly appendedOffset = 0;
  readonly refusal = undefined;

  append(): number {
    this.#end += 1;
    return this.#end;
  }

  get end(): number {
    return this.#end;
  }

  get safe(): number {
    return this.#end;
  }

  async whenSafe(): Promise<void> {}
}
