/**
 * Changes an index: the changes are written as one frame, the frame is appended,
 * then the changes are applied. No other code appends frames.
 */
import { FrameWriter } from "../../kernel/frame.ts";
import type { FrameOwner, Journal } from "../../kernel/journal.ts";
import { VectorFailure } from "../failure.ts";
import { writeChange } from "./changes.ts";
import type { IndexChange, IndexState } from "./index-state.ts";

export class IndexJournal {
  readonly #journal: Journal;
  readonly #writer = new FrameWriter();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Throws a `VectorFailure` if writes are refused now. Call it before any decision. */
  checkOpen(owner?: FrameOwner): void {
    const journal = this.#journal;
    const refusal = owner === undefined ? journal.refusal : (journal.refusalOf?.(owner) ?? journal.refusal);
    if (refusal !== undefined) throw refused(refusal);
  }

  /**
   * Makes all changes or none. There must be room for their vectors (`Namespace.reserve`). Throws a `VectorFailure` if the
   * disk has no room for them.
   */
  commit(state: IndexState, changes: readonly IndexChange[]): void {
    if (changes.length === 0) return;
    for (const change of changes) writeChange(this.#writer, change);
    const frame = this.#writer.take();
    const lack = this.#journal.lackFor?.(frame.length);
    if (lack !== undefined) throw refused(lack);
    this.#journal.append(frame, state);
    for (const change of changes) state.apply(change);
  }

  /** Undefined if everything seen so far is safe. */
  whenSafe(): Promise<void> | undefined {
    const { end, safe } = this.#journal;
    return safe >= end ? undefined : this.#journal.whenSafe(end);
  }
}

function refused(reason: string): VectorFailure {
  return new VectorFailure("unavailable", `Writes are refused: ${reason}`);
}
