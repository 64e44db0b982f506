/**
 * The rows that the files of an earlier life hold, by their version: a table with
 * open addressing outside V8's heap, because a Map holds at most 2^24 rows. It
 * exists during a recovery only.
 *
 * Versions follow from the journal, and a restored data directory may assign them
 * a second time. So a row is the wanted one only if its squared length and its
 * checksum are those of the row in the journal too.
 */
import type { RowEntries } from "./row-entries.ts";

const LENGTH_MIN = 64;
/** The golden ratio in 32 bits: neighbouring versions get distant places. */
const FACTOR = 0x9e37_79b1;

export class FoundRows {
  readonly #shift: number;
  readonly #mask: number;
  readonly #versions: Float64Array;
  readonly #checksums: Uint32Array;
  readonly #squaredLengths: Float32Array;
  /** The place of the row plus one; 0 in a free index. */
  readonly #places: Uint32Array;

  /** For at most `countMax` rows. */
  constructor(countMax: number) {
    let length = LENGTH_MIN;
    while (length < 2 * countMax) length *= 2;
    this.#shift = Math.clz32(length) + 1;
    this.#mask = length - 1;
    this.#versions = new Float64Array(length);
    this.#checksums = new Uint32Array(length);
    this.#squaredLengths = new Float32Array(length);
    this.#places = new Uint32Array(length);
  }

  /** Adds a whole entry. If its version was added before, the later place counts: both are copies of one row. */
  add(entries: RowEntries, entry: number, place: number): void {
    const at = this.#find(entries.versionOf(entry));
    this.#versions[at] = entries.versionOf(entry);
    this.#checksums[at] = entries.checksumOf(entry);
    this.#squaredLengths[at] = entries.squaredLengthOf(entry);
    this.#places[at] = place + 1;
  }

  /** The place of a row that is equal to the entry; undefined if the files hold no such row. */
  findEqual(entries: RowEntries, entry: number): number | undefined {
    const at = this.#find(entries.versionOf(entry));
    const place = this.#places[at] as number;
    if (place === 0) return undefined;
    const isEqual =
      this.#checksums[at] === entries.checksumOf(entry) && this.#squaredLengths[at] === entries.squaredLengthOf(entry);
    return isEqual ? place - 1 : undefined;
  }

  /** The index of a version, or of the free one where it belongs. */
  #find(version: number): number {
    let at = Math.imul(version >>> 0, FACTOR) >>> this.#shift;
    while (this.#places[at] !== 0 && this.#versions[at] !== version) at = (at + 1) & this.#mask;
    return at;
  }
}
