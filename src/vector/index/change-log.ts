/**
 * The records that changed while searches run. A search that takes several turns
 * scores them again at its end, so its answer is the state at that time. Nothing
 * is noted while no search runs.
 */

export class ChangeLog {
  #records: number[] = [];
  #searchCount = 0;

  /** Begins a search. Returns its mark; `end` must follow. */
  begin(): number {
    this.#searchCount += 1;
    return this.#records.length;
  }

  note(record: number): void {
    if (this.#searchCount > 0) this.#records.push(record);
  }

  /** The records that changed since the mark, each once. */
  since(mark: number): ReadonlySet<number> {
    return mark === this.#records.length ? NOTHING : new Set(this.#records.slice(mark));
  }

  /** The number of changes since the mark: a record that changed twice counts twice. */
  countSince(mark: number): number {
    return this.#records.length - mark;
  }

  end(): void {
    this.#searchCount -= 1;
    // Marks are positions; they restart at 0 when no search holds one.
    if (this.#searchCount === 0) this.#records = [];
  }
}

const NOTHING: ReadonlySet<number> = new Set();
