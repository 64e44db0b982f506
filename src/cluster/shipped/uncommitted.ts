/**
 * What was written to the segments of a shard and is not committed by the log
 * store, as at most two spans: the writes that the sync under way covers, and
 * those since it began. Each span is reported at its first write and at its end.
 * The syncs of a journal come one after the other.
 */

/** Reports a write. The returned function is called when the store has committed it and those after it. */
export type ReportWrite = () => () => void;

export class Uncommitted {
  readonly #report: ReportWrite;
  #isSyncing = false;
  /** Ends the oldest span. */
  #endOldest: (() => void) | undefined;
  /** Ends the span of the writes since the sync under way began. */
  #endNewer: (() => void) | undefined;

  constructor(report: ReportWrite) {
    this.#report = report;
  }

  wrote(): void {
    if (this.#endOldest === undefined) this.#endOldest = this.#report();
    else if (this.#isSyncing) this.#endNewer ??= this.#report();
  }

  /** Runs a sync that covers all writes so far. After a sync that fails nothing is committed any more. */
  async during(sync: () => Promise<void>): Promise<void> {
    this.#isSyncing = true;
    // Without it, a write during a sync that covers nothing would begin the span that the sync ends.
    this.#endOldest ??= () => {};
    await sync();
    this.#isSyncing = false;
    this.#endOldest?.();
    this.#endOldest = this.#endNewer;
    this.#endNewer = undefined;
  }
}
