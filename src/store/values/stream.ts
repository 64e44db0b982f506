/**
 * A stream: entries in the order of their ids, each with pairs of a name and a
 * value, and groups of consumers that read them. It exists until it is deleted,
 * even without entries.
 *
 * (1) Ids only rise: `lastId` is that of the last entry added, or later, even if the entry was removed.
 * (2) `maxDeletedId` is the greatest id that was deleted from the middle; entries trimmed from the front do not count.
 *     While no deleted entry lies ahead of a group, the counts of added and read entries give its lag.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { StreamEntries } from "../structures/stream-entries.ts";
import { compareIds, ID_MIN, isZeroId, type StreamId } from "../structures/stream-id.ts";
import { StreamGroup, type Tally } from "./stream-group.ts";

/** The object itself, roughly. */
const FIXED_BYTES = 560;

export class StreamValue {
  readonly typeName = "stream";
  #entries = new StreamEntries();
  lastId: StreamId = ID_MIN;
  maxDeletedId: StreamId = ID_MIN;
  /** Entries ever added. */
  addedCount = 0;
  /** Absent until needed: most streams have none, and a map takes more than a short stream. */
  #groups: Map<Bytes, StreamGroup> | undefined;
  /** The group that was found last. Most streams have one group, and the map would hash each name of a request. */
  #found: StreamGroup | undefined;
  readonly #tally: Tally = { bytes: 0 };

  get entries(): StreamEntries {
    return this.#entries;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** The id of the first entry, or zero. */
  get firstId(): StreamId {
    return this.#entries.first ?? ID_MIN;
  }

  get memoryBytes(): number {
    return FIXED_BYTES + this.#entries.memoryBytes + this.#tally.bytes;
  }

  /** Work so far. Only grows; complexity tests read it. */
  get work(): number {
    let work = this.#entries.work;
    for (const { pending, deliveries } of this.#groups?.values() ?? []) work += pending.work + (deliveries?.work ?? 0);
    return work;
  }

  get groupCount(): number {
    return this.#groups?.size ?? 0;
  }

  group(name: Bytes): StreamGroup | undefined {
    const last = this.#found;
    if (last !== undefined && last.name === name) return last;
    const group = this.#groups?.get(name);
    if (group !== undefined) this.#found = group;
    return group;
  }

  /** The groups in the byte order of their names. */
  sortedGroups(): StreamGroup[] {
    return [...(this.#groups?.values() ?? [])].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Creates a group, or moves an existing one. */
  putGroup(name: Bytes, state: { lastId: StreamId; readCount: number | undefined }): void {
    this.#groups ??= new Map();
    const group = this.#groups.get(name);
    if (group === undefined) {
      this.#groups.set(name, new StreamGroup(name, this.#tally, state));
      return;
    }
    group.lastId = state.lastId;
    group.readCount = state.readCount;
  }

  /** Puts back a group, which exists, after `removeGroup`. */
  groupRestorer(name: Bytes): () => void {
    const group = this.#groups?.get(name);
    const restore = group?.restorer();
    return () => {
      if (group !== undefined) this.#groups?.set(name, group);
      this.#found = undefined;
      restore?.();
    };
  }

  /** Makes an entry pending again, in each group in which it is, after `removeReferences`. */
  referenceRestorers(id: StreamId): (() => void)[] {
    const restorers: (() => void)[] = [];
    for (const group of this.#groups?.values() ?? [])
      if (group.pending.find(id) !== undefined) restorers.push(group.pendingRestorer(id));
    return restorers;
  }

  /** Removes a group, which must exist. */
  removeGroup(name: Bytes): void {
    this.#groups?.get(name)?.release();
    this.#groups?.delete(name);
    this.#found = undefined;
  }

  /** Appends an entry; its id must be greater than `lastId`. */
  append(id: StreamId, content: { names: readonly Bytes[]; values: readonly Bytes[] }): void {
    this.#entries.append({ ms: id.ms, seq: id.seq, names: content.names, values: content.values });
    this.lastId = { ms: id.ms, seq: id.seq };
    this.addedCount += 1;
  }

  /** Removes this entry from the pending ones of all groups. */
  removeReferences(id: StreamId): void {
    for (const group of this.#groups?.values() ?? []) group.acknowledge(id);
  }

  /** True if the entry is pending in a group, or a group has yet to read it. */
  isReferenced(id: StreamId): boolean {
    for (const { lastId, pending } of this.#groups?.values() ?? [])
      if (compareIds(id, lastId) > 0 || pending.find(id) !== undefined) return true;
    return false;
  }

  /** The number of entries added up to this id, or undefined if unknown, as Redis 8 computes it. */
  countUpTo(id: StreamId): number | undefined {
    const { addedCount, length, lastId, maxDeletedId, firstId } = this;
    if (addedCount === 0) return 0;
    const order = compareIds(id, lastId);
    if (length === 0 && order <= 0) return addedCount;
    if (!isZeroId(id) && compareIds(id, maxDeletedId) < 0) return undefined;
    if (order >= 0) return order === 0 ? addedCount : undefined;
    const place = compareIds(id, firstId);
    if (place > 0 || (!isZeroId(maxDeletedId) && compareIds(maxDeletedId, firstId) >= 0)) return undefined;
    return place < 0 ? addedCount - length : addedCount - length + 1;
  }

  /** True if an entry from this id on was deleted from the middle: (2). */
  hasDeletedFrom(id: StreamId): boolean {
    const { length, maxDeletedId } = this;
    return length > 0 && !isZeroId(maxDeletedId) && compareIds(id, maxDeletedId) <= 0;
  }

  /** The number of entries that a group has yet to read, or undefined if unknown, as Redis 8 computes it. */
  lagOf({ lastId, readCount }: StreamGroup): number | undefined {
    const { addedCount, length, firstId, maxDeletedId } = this;
    if (addedCount === 0 || length === 0) return 0;
    // Whatever was deleted was before the first entry, and so is the group.
    if (compareIds(lastId, firstId) < 0 && compareIds(maxDeletedId, firstId) < 0) return length;
    const isCounted = readCount !== undefined && !this.hasDeletedFrom(lastId);
    const count = isCounted ? readCount : this.countUpTo(lastId);
    return count === undefined ? undefined : addedCount - count;
  }

  /** Like `countUpTo`, as Redis 7.0 computed it: records of earlier builds depend on it. */
  formerCountUpTo(id: StreamId): number | undefined {
    const { addedCount, length, lastId, maxDeletedId, firstId } = this;
    if (addedCount === 0) return 0;
    const order = compareIds(id, lastId);
    if (order === 0 || (length === 0 && order < 0)) return addedCount;
    if (order > 0 || (!isZeroId(maxDeletedId) && compareIds(maxDeletedId, firstId) >= 0)) return undefined;
    const place = compareIds(id, firstId);
    if (place > 0) return undefined;
    return place < 0 ? addedCount - length : addedCount - length + 1;
  }

  /** Like `hasDeletedFrom`, as Redis 7.0 computed it: records of earlier builds depend on it. */
  formerHasDeletedFrom(id: StreamId): boolean {
    return this.hasDeletedFrom(id) && compareIds(this.firstId, this.maxDeletedId) <= 0;
  }

  copy(): StreamValue {
    const copy = new StreamValue();
    copy.#entries = this.#entries.copy();
    copy.lastId = this.lastId;
    copy.maxDeletedId = this.maxDeletedId;
    copy.addedCount = this.addedCount;
    if (this.#groups !== undefined) {
      copy.#groups = new Map();
      for (const group of this.#groups.values()) copy.#groups.set(group.name, group.copy(copy.#tally));
    }
    return copy;
  }
}
