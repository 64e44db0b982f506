/**
 * A delete that may touch very many records: those with a prefix, or those that
 * pass a filter. They are found first and then removed in portions, each one
 * frame of the journal and one step, and each record is looked at in the step
 * that removes it.
 *
 * Record numbers are gone through from the highest down: removing moves records
 * from the highest numbers into gaps, so one that was not looked at yet always
 * has a lower number still.
 */

import type { Filter } from "../filter/filter.ts";
import type { FilterMatch } from "../metadata/filter-matcher.ts";
import { hasBit } from "../search/bits.ts";
import type { SearchJob } from "../search/queue.ts";
import type { IndexJournal } from "./index-journal.ts";
import type { IndexState } from "./index-state.ts";
import type { Namespace } from "./namespace.ts";

/** Of one frame: about two milliseconds. bench/vector.bench.ts */
const PORTION_COUNT = 1_000;
/** Ids that one step compares with a prefix. */
const COMPARED_COUNT = 20_000;
/** Of one step, in nanoseconds. */
const MATCH_WORK = 1_000_000;

export type ManySelected =
  | { readonly kind: "prefix"; readonly prefix: string }
  | { readonly kind: "filter"; readonly filter: Filter };

export interface DeleteParts {
  readonly state: IndexState;
  readonly journal: IndexJournal;
  readonly namespace: Namespace;
}

export class DeleteMany implements SearchJob {
  readonly #parts: DeleteParts;
  readonly #selected: ManySelected;
  #match: FilterMatch | undefined;
  /** Records from here on were looked at. */
  #end: number;
  #deletedCount = 0;

  constructor(parts: DeleteParts, selected: ManySelected) {
    this.#parts = parts;
    this.#selected = selected;
    this.#end = parts.namespace.table.end;
  }

  get deletedCount(): number {
    return this.#deletedCount;
  }

  step(): boolean {
    const { state, journal, namespace } = this.#parts;
    // Dropped meanwhile: what was to be deleted is gone.
    if (state.find(namespace.name) !== namespace) return true;
    if (this.#selected.kind === "filter") {
      this.#match ??= namespace.filters.start(this.#selected.filter);
      if (!this.#match.step(MATCH_WORK)) return false;
    }
    const ids = this.#nextPortion();
    if (ids.length > 0) {
      journal.checkOpen(state);
      journal.commit(
        state,
        ids.map((id) => ({ kind: "remove", index: state.number, namespace: namespace.number, id })),
      );
      this.#deletedCount += ids.length;
    }
    return this.#end === 0;
  }

  #nextPortion(): readonly string[] {
    const { table } = this.#parts.namespace;
    const ids: string[] = [];
    const stop = Math.max(0, Math.min(this.#end, table.end) - COMPARED_COUNT);
    let record = Math.min(this.#end, table.end);
    while (record > stop && ids.length < PORTION_COUNT) {
      record -= 1;
      const id = table.idOf(record);
      if (id !== undefined && this.#isSelected(record, id)) ids.push(id);
    }
    this.#end = record;
    return ids;
  }

  #isSelected(record: number, id: string): boolean {
    if (this.#selected.kind === "prefix") return id.startsWith(this.#selected.prefix);
    return this.#match !== undefined && hasBit(this.#match.matches, record);
  }
}
