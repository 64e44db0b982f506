/**
 * Records the order of the documents of an index, in slices between which documents change.
 *
 * (1) A document that changes gets the highest number, so it comes again before the end, and of a hash that comes twice
 *     the last place counts. So the order is that of the moment when the last slice ends.
 * (2) A compaction numbers all documents again; then the order begins again too.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Keyspace } from "../../keyspace.ts";
import { HASHES_PER_RECORD, recordOrder } from "../../mutations/state/search-indexes.ts";
import { hashOfKey } from "../../values/search-definition.ts";
import type { InSlices } from "../slices.ts";
import type { LiveIndex } from "./live-index.ts";

/** Numbers of documents in a slice: one or two milliseconds. */
export const ORDER_SLICE = HASHES_PER_RECORD;
/** A record costs as much as so many hashes. */
const RECORD_COST = 64;

/** Numbers of documents that are left of the slice. The caller sets it again before the next one. */
export interface OrderSlice {
  left: number;
}

interface NamedIndex {
  readonly name: Bytes;
  readonly live: LiveIndex;
  readonly keyspace: Keyspace;
}

/** Yields when the slice is over. Ends early if the definition is gone, or all keys are read again. */
export function* recordOrderOf({ name, live, keyspace }: NamedIndex, slice: OrderSlice): InSlices<void> {
  const { index, value } = live;
  let { renumberings } = index;
  for (let next = 0, at = 0; ; ) {
    if (slice.left <= 0) yield;
    if (live.isScanning || keyspace.search.definitions.get(name) !== value) return;
    if (renumberings !== index.renumberings) {
      ({ renumberings } = index);
      next = at = 0; // keeps (2)
    }
    const end = Math.min(next + HASHES_PER_RECORD, index.documentLimit);
    slice.left -= RECORD_COST + end - next;
    const hashes: number[] = [];
    for (; next < end; next += 1) if (index.isLive(next)) hashes.push(hashOfKey(index.keyOf(next)));
    if (hashes.length > 0 || at === 0) recordOrder(keyspace, { key: name, at, hashes });
    at += hashes.length;
    if (next < index.documentLimit) continue;
    live.hasNewOrder = false;
    return;
  }
}
