/**
 * Walks over the content of a Redis file (RDB) without decoding it, to find the
 * end of a length, a string or a value. `store/structures/rdb/payload-reader.ts`
 * draws lengths and strings, `payload.ts`, `hash-payload.ts` and
 * `stream-payload.ts` there draw values, and `key-metadata.ts` the metadata
 * before a value; RESTORE decodes their bytes.
 *
 * The current bytes are a part of the file. If they do not suffice, `MoreNeeded`
 * is thrown, and the caller reads more and begins again at the same record.
 */
import { METADATA_CLASSES_MAX, type MetadataClass, metadataClass } from "../../store/structures/rdb/mod.ts";

/** The current bytes end before the record. */
export class MoreNeeded extends Error {
  readonly byteCount: number;

  constructor(byteCount: number) {
    super("more bytes are needed");
    this.byteCount = byteCount;
  }
}

/** Bytes that are invalid in such a file. */
export class WrongBytes extends Error {
  /** In the current bytes. */
  readonly at: number;

  constructor(at: number, reason: string) {
    super(reason);
    this.at = at;
  }
}

export class RdbWalker {
  bytes: Buffer = Buffer.alloc(0);
  /** The offset of the next byte. */
  at = 0;
  end = 0;

  /** Skips this many bytes and returns where they begin. */
  skip(byteCount: number): number {
    const start = this.at;
    if (byteCount > this.end - start) throw new MoreNeeded(byteCount - (this.end - start));
    this.at = start + byteCount;
    return start;
  }

  byte(): number {
    return this.bytes[this.skip(1)] as number;
  }

  /** A count or a length. */
  length(): number {
    const start = this.at;
    const first = this.byte();
    if (first < 0x40) return first;
    if (first < 0x80) return ((first & 0x3f) << 8) | this.byte();
    if (first === 0x80) return this.bytes.readUInt32BE(this.skip(4));
    if (first !== 0x81) throw new WrongBytes(start, `no length begins with byte ${first}`);
    const length = this.bytes.readBigUInt64BE(this.skip(8));
    if (length > Number.MAX_SAFE_INTEGER) throw new WrongBytes(start, `nothing has a length of ${length}`);
    return Number(length);
  }

  /** A number of 64 bits in the form of a length. */
  whole(): bigint {
    if (this.at < this.end && this.bytes[this.at] !== 0x81) return BigInt(this.length());
    this.skip(1);
    return this.bytes.readBigUInt64BE(this.skip(8));
  }

  skipString(): void {
    const start = this.at;
    const first = this.byte();
    if (first < 0xc0) {
      this.at = start;
      this.skip(this.length());
    } else if (first === 0xc0) this.skip(1);
    else if (first === 0xc1) this.skip(2);
    else if (first === 0xc2) this.skip(4);
    else if (first === 0xc3) {
      const compressedBytes = this.length();
      this.length();
      this.skip(compressedBytes);
    } else throw new WrongBytes(start, `no string begins with byte ${first}`);
  }

  skipStrings(count: number): void {
    for (let left = count; left > 0; left -= 1) this.skipString();
  }
}

type Skip = (walker: RdbWalker) => void;

/** The content of the types of values that Redis and Valkey have in common, by their byte. */
const commonForms = [
  [0, (walker) => walker.skipString()],
  [1, (walker) => walker.skipStrings(walker.length())],
  [2, (walker) => walker.skipStrings(walker.length())],
  [3, skipSortedSetOfTexts],
  [4, (walker) => walker.skipStrings(2 * walker.length())],
  [5, skipSortedSet],
  [9, (walker) => walker.skipString()],
  [10, (walker) => walker.skipString()],
  [11, (walker) => walker.skipString()],
  [12, (walker) => walker.skipString()],
  [13, (walker) => walker.skipString()],
  [14, (walker) => walker.skipStrings(walker.length())],
  [15, (walker) => skipStream(walker, { hasCounts: false, hasActiveTimes: false })],
  [16, (walker) => walker.skipString()],
  [17, (walker) => walker.skipString()],
  [18, skipNodes],
  [19, (walker) => skipStream(walker, { hasCounts: true, hasActiveTimes: false })],
  [20, (walker) => walker.skipString()],
  [21, (walker) => skipStream(walker, { hasCounts: true, hasActiveTimes: true })],
] satisfies [number, Skip][];

/** The forms of values in files of Redis. */
export const redisForms: ReadonlyMap<number, Skip> = new Map<number, Skip>([
  ...commonForms,
  [22, skipTimedPairs],
  [23, (walker) => walker.skipString()],
  [
    24,
    (walker) => {
      walker.skip(MOMENT_BYTES);
      skipTimedPairs(walker);
    },
  ],
  [
    25,
    (walker) => {
      walker.skip(MOMENT_BYTES);
      walker.skipString();
    },
  ],
  [
    26,
    (walker) => {
      skipStream(walker, { hasCounts: true, hasActiveTimes: true });
      skipProducers(walker);
    },
  ],
]);

/** The forms of values in files of Valkey 9. */
export const valkeyForms: ReadonlyMap<number, Skip> = new Map<number, Skip>([
  ...commonForms,
  [
    22,
    (walker) => {
      for (let left = walker.length(); left > 0; left -= 1) {
        walker.skipStrings(2);
        walker.skip(MOMENT_BYTES);
      }
    },
  ],
]);

function skipSortedSetOfTexts(walker: RdbWalker): void {
  for (let left = walker.length(); left > 0; left -= 1) {
    walker.skipString();
    const textBytes = walker.byte();
    // From 253 on: no number, and the two infinities.
    if (textBytes < 253) walker.skip(textBytes);
  }
}

function skipSortedSet(walker: RdbWalker): void {
  for (let left = walker.length(); left > 0; left -= 1) {
    walker.skipString();
    walker.skip(8);
  }
}

function skipNodes(walker: RdbWalker): void {
  for (let left = walker.length(); left > 0; left -= 1) {
    walker.length();
    walker.skipString();
  }
}

/** A distance or a time in the form of a length, a field and a value, of a hash whose fields expire. */
function skipTimedPairs(walker: RdbWalker): void {
  for (let left = walker.length(); left > 0; left -= 1) {
    walker.whole();
    walker.skipStrings(2);
  }
}

const RAW_ID_BYTES = 16;
const MOMENT_BYTES = 8;

function skipStream(
  walker: RdbWalker,
  { hasCounts, hasActiveTimes }: { hasCounts: boolean; hasActiveTimes: boolean },
): void {
  walker.skipStrings(2 * walker.length());
  skipWholes(walker, hasCounts ? 8 : 3);
  for (let groups = walker.length(); groups > 0; groups -= 1) {
    walker.skipString();
    skipWholes(walker, hasCounts ? 3 : 2);
    for (let pending = walker.length(); pending > 0; pending -= 1) {
      walker.skip(RAW_ID_BYTES + MOMENT_BYTES);
      walker.whole();
    }
    for (let consumers = walker.length(); consumers > 0; consumers -= 1) {
      walker.skipString();
      walker.skip(hasActiveTimes ? 2 * MOMENT_BYTES : MOMENT_BYTES);
      walker.skip(RAW_ID_BYTES * walker.length());
    }
  }
}

function skipWholes(walker: RdbWalker, count: number): void {
  for (let left = count; left > 0; left -= 1) walker.whole();
}

function skipProducers(walker: RdbWalker): void {
  skipWholes(walker, 2);
  for (let producers = walker.length(); producers > 0; producers -= 1) {
    walker.skipString();
    for (let ids = walker.length(); ids > 0; ids -= 1) {
      walker.skipString();
      skipWholes(walker, 2);
    }
  }
  skipWholes(walker, 2);
}

/** Parts of a module's value, by their byte; zero ends it. */
const moduleParts: ReadonlyMap<bigint, Skip> = new Map([
  [1n, (walker) => void walker.whole()],
  [2n, (walker) => void walker.whole()],
  [3n, (walker) => void walker.skip(4)],
  [4n, (walker) => void walker.skip(8)],
  [5n, (walker) => walker.skipString()],
] satisfies [bigint, Skip][]);

/** Skips the parts of a module's value. */
export function skipModuleParts(walker: RdbWalker): void {
  for (;;) {
    const start = walker.at;
    const kind = walker.whole();
    if (kind === 0n) return;
    const skip = moduleParts.get(kind);
    if (skip === undefined) throw new WrongBytes(start, `a module's value has no part ${kind}`);
    skip(walker);
  }
}

/** Skips the metadata of a key, and returns its classes. */
export function skipKeyMetadata(walker: RdbWalker): readonly MetadataClass[] {
  const start = walker.at;
  const count = walker.length();
  if (count === 0 || count > METADATA_CLASSES_MAX)
    throw new WrongBytes(start, `no key has metadata of ${count} classes`);
  const classes: MetadataClass[] = [];
  for (let left = count; left > 0; left -= 1) {
    classes.push(metadataClass(walker.bytes.readUInt32LE(walker.skip(4))));
    skipModuleParts(walker);
  }
  return classes;
}
