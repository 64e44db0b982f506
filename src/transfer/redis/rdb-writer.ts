/**
 * Writes a Redis file (RDB) of version 10, which redis-server 7.0 loads;
 * `rdb-reader.ts` draws the format. Memory holds at most CHUNK_BYTES of it.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { CRC64_BYTES, Crc64, openPayload, PayloadWriter } from "../../store/structures/rdb/mod.ts";

export interface RdbFacts {
  /** The version of Redis that the file names, such as `7.0.15`. */
  readonly redisVersion: string;
  /** The time of writing. */
  readonly nowMs: number;
  /** About how many keys will follow, and how many of them expire: the server allocates for them. */
  readonly keyCount: number;
  readonly expiringCount: number;
}

const VERSION = "0010";
const CHUNK_BYTES = 1024 * 1024;
const FACT = 0xfa;
const SIZES = 0xfb;
const EXPIRY_MS = 0xfc;
const DATABASE = 0xfe;
const END = 0xff;

export class RdbWriter {
  readonly #write: (bytes: Buffer) => Promise<void>;
  readonly #checksum = new Crc64();
  #parts: Buffer[] = [];
  #byteCount = 0;

  /** `write` takes the parts of the file in their order. */
  constructor(write: (bytes: Buffer) => Promise<void>) {
    this.#write = write;
  }

  /** The head: `libraries` is the payload of FUNCTION DUMP. */
  async begin({ redisVersion, nowMs, keyCount, expiringCount }: RdbFacts, libraries: Buffer): Promise<void> {
    await this.#add(Buffer.from(`REDIS${VERSION}`, "latin1"));
    const writer = new PayloadWriter();
    const facts: readonly (readonly [Bytes, Bytes])[] = [
      ["redis-ver", redisVersion],
      ["redis-bits", "64"],
      ["ctime", `${Math.floor(nowMs / 1_000)}`],
      ["aof-base", "0"],
    ];
    for (const [name, text] of facts) writer.byte(FACT).string(name).string(text);
    // A dump of libraries is their records and an end of its own.
    writer.raw(openPayload(libraries).content);
    writer.byte(DATABASE).length(0);
    writer.byte(SIZES).length(keyCount).length(expiringCount);
    await this.#add(writer.take(0));
  }

  /** A key with its payload of DUMP. */
  async key(key: Bytes, { atMs, payload }: { atMs: number | undefined; payload: Buffer }): Promise<void> {
    const { content } = openPayload(payload);
    const writer = new PayloadWriter();
    if (atMs !== undefined) writer.byte(EXPIRY_MS).number64(atMs);
    writer.byte(content[0] as number).string(key);
    await this.#add(writer.take(0));
    await this.#add(content.subarray(1));
  }

  /** The end, with the checksum of all before it. */
  async end(): Promise<void> {
    await this.#add(Buffer.of(END));
    const sum = Buffer.alloc(CRC64_BYTES);
    this.#checksum.writeTo(sum, 0);
    await this.#add(sum);
    await this.#flush();
  }

  async #add(bytes: Buffer): Promise<void> {
    this.#checksum.add(bytes);
    this.#parts.push(bytes);
    this.#byteCount += bytes.length;
    if (this.#byteCount >= CHUNK_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts, this.#byteCount);
    this.#parts = [];
    this.#byteCount = 0;
    await this.#write(bytes);
  }
}
