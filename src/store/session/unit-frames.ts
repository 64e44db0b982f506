/**
 * Puts the records of a database into the journal: mostly the frame of one unit of
 * work, when it ends.
 *
 * The units of a pipeline, and of the commands in a packet, follow each other
 * within one turn of the event loop, and their replies leave together afterwards.
 * So their records share a frame, which saves most of what a frame costs beside
 * its bytes: a header, a checksum and a copy for each command.
 *
 * (1) A frame has whole units, in their order. A crash leaves all of them or none,
 *     as if it had come before the first.
 * (2) Before anybody can see a unit (a push, the change of a user, a reply), its
 *     records are in the journal: see `endUnit`, and `append`.
 * (3) The frame is empty when a turn ends, and before another database records.
 */
import type { FrameWriter } from "../../kernel/frame.ts";
import type { FrameOwner, Journal } from "../../kernel/journal.ts";

/** A frame gets no further unit from this size on: longer ones save nothing more. */
const SHARED_FRAME_BYTES_MAX = 16 * 1024;

export class UnitFrames {
  readonly #owner: FrameOwner;
  readonly #frame: FrameWriter;
  readonly #journal: Journal;
  #isHolding = false;

  constructor(owner: FrameOwner, { frame, journal }: { readonly frame: FrameWriter; readonly journal: Journal }) {
    this.#owner = owner;
    this.#frame = frame;
    this.#journal = journal;
  }

  /** From now on the units share frames, until `release` in the same turn. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Ends this. */
  release(): void {
    this.#isHolding = false;
    this.append();
  }

  /** A unit ends. `isSeen`: something of it leaves at once. keeps (2) */
  endUnit(isSeen: boolean): void {
    const frame = this.#frame;
    if (frame.isEmpty) return;
    frame.endUnit();
    if (isSeen || !this.#isHolding || frame.byteCount >= SHARED_FRAME_BYTES_MAX) this.append();
  }

  /**
   * The records of finished units are in the journal afterwards, unless the running unit has records too. Those of a
   * unit that was broken off by a bug stay in the frame: no other unit begins if they are not empty.
   */
  append(): void {
    const frame = this.#frame;
    if (!frame.isEmpty && frame.unitByteCount === 0) this.#journal.append(frame.take(), this.#owner, frame.bulkBytes);
  }
}
