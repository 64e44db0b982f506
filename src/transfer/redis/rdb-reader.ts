/**
 * A Redis file (RDB), read record by record.
 *
 *     | REDIS0011 or VALKEY080 | record … | ff | CRC-64 of all before it, or zero |      a checksum since version 5
 *
 *     fa name, text           a fact about the file
 *     fe number               the database of what follows
 *     fb size, expiring       how many keys it has
 *     f5 code                 a library of functions
 *     f7 …, f4 …              of modules, of slots: skipped
 *     f3 name, ranges         an import of slots under way, in files of Valkey 9
 *     [fd u32 | fc u64] [f8 length | f9 u8] [f3 metadata] type, key, value
 *                             with its expiry, its age or frequency, and metadata of modules in files of Redis 8.6
 *
 * (1) Memory holds only a window of the file: a record, or 64 KiB. No record is
 *     longer than VALUE_BYTES_MAX, so damage cannot cause a large window.
 * (2) Every step goes forward: damage ends in `RdbDamage`, with the file offset of
 *     the error.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import {
  CommandError,
  CRC64_BYTES,
  Crc64,
  closePayload,
  isKnownVersion,
  isOfValkey,
  KEY_METADATA,
  KNOWN_VERSIONS,
  type MetadataClass,
  moduleName,
  PayloadReader,
  PayloadWriter,
} from "../../store/structures/rdb/mod.ts";
import {
  MoreNeeded,
  RdbWalker,
  redisForms,
  skipKeyMetadata,
  skipModuleParts,
  valkeyForms,
  WrongBytes,
} from "./rdb-walker.ts";
import { hashOfZipmap, ZIPMAP } from "./zipmap.ts";

/** The file is not a Redis file, or is damaged. */
export class RdbDamage extends Error {
  override name = "RdbDamage";
  readonly offset: number;

  constructor(offset: number, reason: string) {
    super(`it is damaged at byte ${offset}: ${reason}`);
    this.offset = offset;
  }
}

/** An unsupported part of a possibly valid file. */
export class RdbUnsupported extends Error {
  override name = "RdbUnsupported";
}

export type RdbRecord =
  | {
      readonly kind: "key";
      readonly database: number;
      readonly key: Bytes;
      readonly atMs: number | undefined;
      /** As the payload of DUMP, in the version of the file. */
      readonly payload: Buffer;
      /** The classes of metadata of modules at the key, which the payload does not have. */
      readonly metadata: readonly MetadataClass[];
    }
  | { readonly kind: "module value"; readonly database: number; readonly key: Bytes; readonly module: string }
  | { readonly kind: "library"; readonly code: Bytes }
  /** The server was importing these slots, such as `0-100 200-300`, when it saved the file. */
  | { readonly kind: "slot import"; readonly ranges: string };

/** The used part of Node's `FileHandle`. */
export interface RdbFile {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

/** A position where reading may continue: after a record. */
export interface RdbPosition {
  readonly offset: number;
  readonly database: number;
}

const CHECKSUM_SINCE_VERSION = 5;
const HEADER = /^(?:REDIS0|(VALKEY))(\d{3})$/;
const HEADER_BYTES = 9;
/** A cluster has so many slots. */
const SLOT_RANGES_MAX = 16_384;
const WINDOW_BYTES = 65_536;
/** Redis' longest string, with its key and lengths. */
const VALUE_BYTES_MAX = 544 * 1024 * 1024;

/** Written by release candidates of Redis 4.0 and 7.0; their end cannot be found, or their meaning has changed. */
const CANDIDATE_MODULE_VALUE = 6;
const CANDIDATE_LIBRARY = 0xf6;
const MODULE_VALUE = 7;
const SLOT = 0xf4;
const LIBRARY = 0xf5;
const MODULE_FACT = 0xf7;
const IDLE = 0xf8;
const FREQUENCY = 0xf9;
const FACT = 0xfa;
const SIZES = 0xfb;
const EXPIRY_MS = 0xfc;
const EXPIRY_SECONDS = 0xfd;
const DATABASE = 0xfe;
const END = 0xff;

/** The content of a record; some records have none. */
type Step = RdbRecord | "passed" | "end";

export class RdbReader {
  readonly #file: RdbFile;
  readonly #size: number;
  readonly #walker = new RdbWalker();
  /** The file offset of the walker's bytes. */
  #offset = 0;
  /** The offset of the next record in the walker's bytes. */
  #next = 0;
  #database = 0;
  #version = 0;
  /** Undefined if reading began in the middle. */
  #checksum: Crc64 | undefined;
  #hasChecksum = false;

  constructor(file: RdbFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Whether the end was reached and the file had a correct checksum. */
  get hasChecksum(): boolean {
    return this.#hasChecksum;
  }

  get position(): RdbPosition {
    return { offset: this.#offset + this.#next, database: this.#database };
  }

  /** Reads the head, and skips everything before the position. Rejects as `next` does. */
  async open(from?: RdbPosition): Promise<void> {
    this.#checksum = from === undefined ? new Crc64() : undefined;
    await this.#step((walker) => {
      const head = bytesFrom(walker.bytes, walker.at, walker.skip(HEADER_BYTES) + HEADER_BYTES);
      const [, valkey, digits] = HEADER.exec(head) ?? [];
      if (digits === undefined) throw new WrongBytes(0, "it is not a Redis file (RDB)");
      const version = Number(digits);
      if (!isKnownVersion(version) || isOfValkey(version) !== (valkey !== undefined))
        throw new RdbUnsupported(
          `it has version ${version} of the RDB format of ${valkey === undefined ? "Redis" : "Valkey"}, but larder reads ${KNOWN_VERSIONS}`,
        );
      this.#version = version;
    });
    if (from === undefined) return;
    this.#offset = from.offset;
    this.#database = from.database;
    this.#next = 0;
    this.#walker.at = 0;
    this.#walker.end = 0;
  }

  /** The next record; undefined at the end. Rejects with `RdbDamage` or `RdbUnsupported`. */
  async next(): Promise<RdbRecord | undefined> {
    for (;;) {
      const step = await this.#step((walker) => this.#readRecord(walker));
      if (step === "end") {
        await this.#readEnd();
        return undefined;
      }
      if (step !== "passed") return step;
    }
  }

  /** Runs `read` on the current bytes, with more of them until they suffice, and moves past the read bytes. */
  async #step<Result>(read: (walker: RdbWalker) => Result): Promise<Result> {
    const walker = this.#walker;
    for (;;) {
      walker.at = this.#next;
      try {
        const result = read(walker);
        this.#checksum?.add(walker.bytes, this.#next, walker.at);
        this.#next = walker.at;
        return result;
      } catch (fault) {
        if (fault instanceof WrongBytes) throw new RdbDamage(this.#offset + fault.at, fault.message);
        if (!(fault instanceof MoreNeeded)) throw fault;
        await this.#fill(fault.byteCount);
      }
    }
  }

  /** Reads at least this many more bytes, and doubles the window, so that a long record is not walked often. */
  async #fill(neededBytes: number): Promise<void> {
    const walker = this.#walker;
    const keptBytes = walker.end - this.#next;
    const start = this.#offset + this.#next;
    const leftBytes = this.#size - (this.#offset + walker.end);
    if (neededBytes > leftBytes)
      throw new RdbDamage(this.#size, `it ends within the record that begins at byte ${start}`);
    // keeps (1)
    if (keptBytes + neededBytes > VALUE_BYTES_MAX)
      throw new RdbDamage(start, "the record that begins here is too long");
    const byteCount = Math.min(leftBytes, Math.max(neededBytes, keptBytes, WINDOW_BYTES));
    const bytes = Buffer.allocUnsafeSlow(keptBytes + byteCount);
    walker.bytes.copy(bytes, 0, this.#next, walker.end);
    let filled = keptBytes;
    while (filled < bytes.length) {
      const { bytesRead } = await this.#file.read(bytes, filled, bytes.length - filled, start + filled);
      if (bytesRead === 0) throw new RdbDamage(start + filled, "it was truncated while being read");
      filled += bytesRead;
    }
    walker.bytes = bytes;
    walker.end = bytes.length;
    this.#offset = start;
    this.#next = 0;
  }

  #readRecord(walker: RdbWalker): Step {
    let atMs: number | undefined;
    let metadata: readonly MetadataClass[] = [];
    for (;;) {
      const start = walker.at;
      const type = walker.byte();
      switch (type) {
        case EXPIRY_MS:
          atMs = Number(walker.bytes.readBigInt64LE(walker.skip(8)));
          continue;
        case EXPIRY_SECONDS:
          atMs = walker.bytes.readInt32LE(walker.skip(4)) * 1_000;
          continue;
        case FREQUENCY:
          walker.skip(1);
          continue;
        case IDLE:
          walker.whole();
          continue;
        case KEY_METADATA:
          // Valkey gave the same byte another meaning.
          if (isOfValkey(this.#version)) return readSlotImport(walker);
          metadata = skipKeyMetadata(walker);
          continue;
        case FACT:
          walker.skipStrings(2);
          return "passed";
        case SIZES:
          walker.length();
          walker.length();
          return "passed";
        case SLOT:
          for (let i = 0; i < 3; i += 1) walker.whole();
          return "passed";
        case MODULE_FACT:
          walker.whole();
          skipModuleParts(walker);
          return "passed";
        case DATABASE:
          this.#database = walker.length();
          return "passed";
        case LIBRARY:
          return { kind: "library", code: readString(walker) };
        case CANDIDATE_LIBRARY:
          throw new RdbUnsupported("it has a function in the form of a release candidate of Redis 7.0");
        case END:
          return "end";
        default:
          return this.#readKey(walker, { type, start, atMs, metadata });
      }
    }
  }

  #readKey(walker: RdbWalker, { type, start, atMs, metadata }: KeyHead): RdbRecord {
    const database = this.#database;
    if (type === MODULE_VALUE) {
      const key = readString(walker);
      const module = moduleName(walker.whole());
      skipModuleParts(walker);
      return { kind: "module value", database, key, module };
    }
    if (type === CANDIDATE_MODULE_VALUE) {
      const key = JSON.stringify(readString(walker));
      throw new RdbUnsupported(`the key ${key} holds a module's value in the form of a release candidate of Redis 4.0`);
    }
    const skip = (isOfValkey(this.#version) ? valkeyForms : redisForms).get(type);
    if (skip === undefined) throw new WrongBytes(start, `there is no record type ${type}`);
    const key = readString(walker);
    const valueStart = walker.at;
    skip(walker);
    const content = walker.bytes.subarray(valueStart, walker.at);
    const writer = new PayloadWriter();
    if (type === ZIPMAP) writeHashOfZipmap(writer, content, valueStart);
    else writer.byte(type).raw(content);
    return { kind: "key", database, key, atMs, payload: closePayload(writer, this.#version), metadata };
  }

  /** Checks the checksum, and that nothing follows. */
  async #readEnd(): Promise<void> {
    const sum = this.#checksum;
    this.#checksum = undefined;
    if (this.#version >= CHECKSUM_SINCE_VERSION) {
      const found = await this.#step((walker) => {
        const start = walker.skip(CRC64_BYTES);
        return Buffer.from(walker.bytes.subarray(start, start + CRC64_BYTES));
      });
      const expected = Buffer.alloc(CRC64_BYTES);
      sum?.writeTo(expected, 0);
      // Zero: the writer was configured to omit the checksum.
      this.#hasChecksum = found.readBigUInt64LE(0) !== 0n;
      if (sum !== undefined && this.#hasChecksum && !found.equals(expected))
        throw new RdbDamage(this.position.offset - CRC64_BYTES, "the checksum does not match its bytes");
    }
    const { offset } = this.position;
    if (offset < this.#size)
      throw new RdbDamage(offset, `${this.#size - offset} bytes follow its end, as in a file of Redis' command log`);
  }
}

/** The bytes before the name of a key. */
interface KeyHead {
  readonly type: number;
  /** The offset of the type in the walker's bytes. */
  readonly start: number;
  readonly atMs: number | undefined;
  readonly metadata: readonly MetadataClass[];
}

function readSlotImport(walker: RdbWalker): RdbRecord {
  walker.skipString();
  const start = walker.at;
  const count = walker.length();
  if (count > SLOT_RANGES_MAX) throw new WrongBytes(start, `a cluster has no ${count} ranges of slots`);
  const ranges = Array.from({ length: count }, () => `${walker.length()}-${walker.length()}`);
  return { kind: "slot import", ranges: ranges.join(" ") };
}

/** A copy of a key or a code. */
function readString(walker: RdbWalker): Bytes {
  const start = walker.at;
  walker.skipString();
  try {
    const string = new PayloadReader(walker.bytes.subarray(start, walker.at)).string();
    return typeof string === "string" ? string : bytesFrom(string);
  } catch (fault) {
    throw fault instanceof CommandError ? new WrongBytes(start, "a compressed string cannot be decompressed") : fault;
  }
}

function writeHashOfZipmap(writer: PayloadWriter, content: Buffer, at: number): void {
  try {
    hashOfZipmap(new PayloadReader(content).blob(), writer);
  } catch (fault) {
    throw fault instanceof CommandError ? new WrongBytes(at, "a hash in the form of Redis 2.4 is damaged") : fault;
  }
}
