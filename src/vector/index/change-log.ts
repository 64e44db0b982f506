/**
 * Which records changed while searches are under way. A search that takes
 * several turns scores those again at its end, so its answer is the state then.
 * Nothing is noted while nobody searches.
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

  end(): void {
    this.#searchCount -= 1;
    // Marks are positions: they start again at 0 when nobody holds one.
    if (this.#searchCount === 0) this.#records = [];
  }
}

const NOTHING: ReadonlySet<number> = new Set();
