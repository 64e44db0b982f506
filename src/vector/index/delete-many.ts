/**
 * A delete that may affect very many records: those with a prefix, or those that
 * pass a filter. They are found first and then removed in portions of one frame
 * of the journal and one step each, and each record is tested again in the step
 * that removes it.
 *
 * Records are visited from the highest number down: a removal moves records from
 * the highest numbers into gaps, so records that are not visited yet always have
 * lower numbers.
 */

import type { Filter } from "../filter/filter.ts";
import type { FilterMatch } from "../metadata/filter-matcher.ts";
import { hasBit } from "../search/bits.ts";
import type { SearchJob } from "../search/queue.ts";
import type { IndexJournal } from "./index-journal.ts";
import type { IndexState } from "./index-state.ts";
import type { Namespace } from "./namespace.ts";

/** Records of one frame: about two milliseconds. bench/vector.bench.ts */
const PORTION_COUNT = 1_000;
/** Ids that one step compares with a prefix. */
const COMPARED_COUNT = 20_000;
/** The time of one step, in nanoseconds. */
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
  /** Records from this number on were visited. */
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
    // The namespace was dropped meanwhile, with all its records.
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
      if (!this.#isSelected(record)) continue;
      const id = table.idOf(record);
      if (id !== undefined) ids.push(id);
    }
    this.#end = record;
    return ids;
  }

  #isSelected(record: number): boolean {
    if (this.#selected.kind === "prefix") return this.#parts.namespace.table.hasPrefix(record, this.#selected.prefix);
    return this.#match !== undefined && hasBit(this.#match.matches, record);
  }
}
