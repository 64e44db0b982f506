/**
 * The prefixes of clients that track in the mode BCAST, and the keys with each
 * prefix that changed in the running unit of work.
 *
 * (1) A prefix is in the table while a client has it.
 * (2) A change costs one look-up for each distinct length of the prefixes, which
 *     are bounded in length, whatever their number.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Tracker } from "./tracker.ts";

/** A prefix with its clients. */
export interface TrackedPrefix {
  readonly prefix: Bytes;
  readonly trackers: Set<Tracker>;
  /** Changed keys, each with the client whose command changed it last, if that tracks keys. */
  readonly changed: Map<Bytes, Tracker | undefined>;
  changedBytes: number;
}

export class TrackedPrefixes {
  readonly #byPrefix = new Map<Bytes, TrackedPrefix>();
  /** How many prefixes have a length. keeps (2) */
  readonly #countByLength = new Map<number, number>();
  readonly #changed = new Set<TrackedPrefix>();

  /** The number of distinct prefixes. */
  get count(): number {
    return this.#byPrefix.size;
  }

  /** How many look-ups a change takes. */
  get lengthCount(): number {
    return this.#countByLength.size;
  }

  has(prefix: Bytes): boolean {
    return this.#byPrefix.has(prefix);
  }

  add(prefix: Bytes, tracker: Tracker): void {
    const known = this.#byPrefix.get(prefix);
    if (known !== undefined) {
      known.trackers.add(tracker);
      return;
    }
    this.#byPrefix.set(prefix, { prefix, trackers: new Set([tracker]), changed: new Map(), changedBytes: 0 });
    this.#countByLength.set(prefix.length, (this.#countByLength.get(prefix.length) ?? 0) + 1);
  }

  /** keeps (1) */
  remove(prefix: Bytes, tracker: Tracker): void {
    const tracked = this.#byPrefix.get(prefix);
    if (tracked === undefined || !tracked.trackers.delete(tracker) || tracked.trackers.size > 0) return;
    this.#byPrefix.delete(prefix);
    this.#changed.delete(tracked);
    const count = (this.#countByLength.get(prefix.length) ?? 0) - 1;
    if (count > 0) this.#countByLength.set(prefix.length, count);
    else this.#countByLength.delete(prefix.length);
  }

  /** Adds a changed key to each of its prefixes. `full` gets those with at least `bytesMax` bytes of keys. */
  note(
    key: Bytes,
    by: Tracker | undefined,
    { bytesMax, full }: { bytesMax: number; full: (of: TrackedPrefix) => void },
  ): void {
    for (const length of this.#countByLength.keys()) {
      if (length > key.length) continue;
      const tracked = this.#byPrefix.get(key.slice(0, length));
      if (tracked === undefined) continue;
      if (!tracked.changed.has(key)) tracked.changedBytes += key.length + KEY_BYTES;
      tracked.changed.set(key, by);
      this.#changed.add(tracked);
      if (tracked.changedBytes >= bytesMax) full(tracked);
    }
  }

  /** The prefixes with changed keys, in the order of their bytes, as Redis sends them. The caller takes the keys. */
  takeChanged(): readonly TrackedPrefix[] {
    if (this.#changed.size === 0) return [];
    const all = [...this.#changed];
    this.#changed.clear();
    return all.length === 1 ? all : all.sort((one, other) => (one.prefix < other.prefix ? -1 : 1));
  }
}

/** Approximate memory of a changed key beside its bytes. */
const KEY_BYTES = 32;

/** Takes the changed keys of a prefix, in the order of their bytes. */
export function takeKeys(tracked: TrackedPrefix): readonly (readonly [key: Bytes, by: Tracker | undefined])[] {
  const keys = [...tracked.changed];
  tracked.changed.clear();
  tracked.changedBytes = 0;
  return keys.length < 2 ? keys : keys.sort(([one], [other]) => (one < other ? -1 : 1));
}
