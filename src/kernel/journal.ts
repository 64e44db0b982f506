/**
 * The journal as engines use it. `persistence/` implements it on the disk, tests
 * have one that records, and an engine that stores nothing has `NullJournal`.
 */

/** The reason of `Journal.refusalOf` for a tenant that moves to another shard: it can write again when it is there. */
export const OWNER_MOVES = "the data is moving to another shard";

export interface Journal {
  /**
   * Appends one frame: all of it or none of it survives a crash. The bytes are copied before this returns, so the
   * caller may reuse its buffer. `bulkBytes`: how many of them a replay only copies (0 if absent); they count less towards
   * the next snapshot. Returns the position after the frame (a count of frames, growing by one).
   */
  append(frame: Uint8Array, owner?: FrameOwner, bulkBytes?: number): number;
  /** Offset of the payload of the last appended frame in its batch, in bytes. */
  readonly appendedOffset: number;
  /** The position after the last appended frame. */
  readonly end: number;
  /**
   * Everything up to this position is as safe as the durability setting promises. -1 in a cluster while the node is not
   * certain to own the journal: then only the end of `whenSafe` lets a reply leave.
   */
  readonly safe: number;
  /** Everything up to this position is on the disk, independent of the setting. Undefined: nothing is stored there. */
  readonly synced?: number | undefined;
  /**
   * Resolves when a reply may leave that saw no more than this position and was made before the call. Never rejects:
   * after a write error the process ends.
   */
  whenSafe(position: number): Promise<void>;
  /** Why no new write may start now (the disk is full), or undefined. */
  readonly refusal: string | undefined;
  /** Why this owner may not write now, for example because its frames fill the journal's queue. Absent: `refusal`. */
  refusalOf?(owner: FrameOwner): string | undefined;
  /** True while the disk may have no room for a long frame: then `lackFor` says. Absent: never. */
  readonly isTight?: boolean;
  /**
   * Why the disk has no room for a frame of so many bytes; undefined: it has, and the room is taken. Ask it before anything
   * changes: a frame that fits nowhere waits for space, and all replies after it. Nothing while the journal is not tight.
   */
  lackFor?(bytes: number): string | undefined;
  /**
   * True in a cluster while a frame has waited so long for its commit that another node may soon own the journal: no call
   * of a destination starts, because its result may be lost. Absent: never.
   */
  readonly isLate?: boolean;
}

/** An owner of frames. The journal counts here how many bytes of them it has not written yet. */
export interface FrameOwner {
  journalBytes: number;
}

/** A journal that stores nothing: for servers without a data directory, tests, and processes that only read. */
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
