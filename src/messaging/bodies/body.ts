/**
 * Bodies of messages, and of responses of dead letters. The bytes of a body are
 * in memory, in the journal, or both.
 *
 *     in memory only ──(its batch is written)──> in both ──> in the journal only
 *
 * (1) A body leaves memory only when its location in the journal is known.
 * (2) `liveBytes` of a segment is the sum of its bodies that are in use; a segment
 *     with such bodies must not be removed.
 * (3) Bytes that are read back are checked before they are used.
 */

import { assert } from "../../kernel/assert.ts";
import { crc32 } from "../../kernel/checksum/crc32.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";

const FREED = -1;

export class Body {
  bytes: Buffer | undefined;
  /** The account that counts its bytes while they are in memory. */
  account: MemoryAccount | undefined;
  readonly length: number;
  /** A signed number, which needs no object on the heap: there are millions of bodies. */
  readonly #checksum: number;
  /** Segment of the journal; 0: not known, FREED: the body is not used any more. */
  segment = 0;
  /** In the segment's file. */
  offset = 0;
  /** True if it is needed soon, so that it should stay in memory. */
  isNeededSoon: boolean;

  constructor(
    bytes: Buffer | undefined,
    { length, checksum }: { length: number; checksum: number },
    isNeededSoon: boolean,
  ) {
    this.bytes = bytes;
    this.account = undefined;
    this.length = length;
    this.#checksum = checksum | 0;
    this.isNeededSoon = isNeededSoon;
  }

  /** False after it was freed. */
  get isWanted(): boolean {
    return this.segment !== FREED;
  }

  /** CRC-32 of the bytes. */
  get checksum(): number {
    return this.#checksum >>> 0;
  }

  static of(bytes: Buffer, isNeededSoon: boolean): Body {
    return new Body(bytes, { length: bytes.length, checksum: crc32(bytes) }, isNeededSoon);
  }
}

/** The location of a batch of the journal. */
export interface WrittenBatch {
  /** Position before its first frame. */
  readonly start: number;
  /** Position after its last frame. */
  readonly end: number;
  readonly segment: number;
  /** Of the batch in the segment's file. */
  readonly offset: number;
}

export interface BodySource {
  /** Reads bytes of a segment of the journal. Rejects with `BodyDamaged` if they do not exist any more. */
  read(segment: number, offset: number, length: number): Promise<Buffer>;
}

/** Longer bodies leave memory as soon as they are written. */
const MEMORY_LENGTH_MAX = 64 * 1024;
/** The most memory that all bodies that are needed soon may take. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024;

/** The bytes differ from those written, or do not exist any more. The text is for the log: it may name files. */
export class BodyDamaged extends Error {
  override name = "BodyDamaged";
}

/** The text for HTTP clients. */
export const BODY_DAMAGED = "The body is damaged on the disk of the server and cannot be read";

interface Unplaced {
  readonly body: Body;
  readonly position: number;
  /** In its batch. */
  readonly offset: number;
}

export class Bodies {
  #source: BodySource | undefined;
  /** Bodies of the current frame, with their offset in the frame. */
  #noted: { body: Body; offset: number }[] = [];
  #unplaced: Unplaced[] = [];
  readonly #liveBytes = new Map<number, number>();
  #memoryBytes = 0;
  /** Bodies that a read found damaged. */
  readonly #damaged = new Set<Body>();

  /** From now on bodies can be read back. Without a source they stay in memory. */
  open(source: BodySource): void {
    this.#source = source;
  }

  /** Bytes of bodies in memory. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Segments with bodies in use, and the bytes of those. */
  get liveBytes(): ReadonlyMap<number, number> {
    return this.#liveBytes;
  }

  /** Count of bodies in use that are known to be damaged. */
  get damagedCount(): number {
    return this.#damaged.size;
  }

  /** True if a read found it damaged. */
  isDamaged(body: Body): boolean {
    return this.#damaged.has(body);
  }

  /** A body was put into the current frame, `offset` bytes after its start. */
  note(body: Body, offset: number, account?: MemoryAccount): void {
    // A moved body has a location, and was counted when it was new.
    if (body.bytes !== undefined && body.segment === 0) this.keep(body, account);
    this.#noted.push({ body, offset });
  }

  /** The bytes of a body are in memory from now on, and count for its user. */
  keep(body: Body, account?: MemoryAccount): void {
    this.#memoryBytes += body.length;
    body.account = account;
    account?.add(body.length);
  }

  /** The frame was appended: it ends at `position`, and its payload begins at `offset` of its batch. */
  appended(position: number, offset: number): void {
    if (this.#noted.length === 0) return;
    if (this.#source !== undefined) {
      for (const noted of this.#noted) {
        this.#unplaced.push({ body: noted.body, position, offset: offset + noted.offset });
      }
    }
    this.#noted = [];
  }

  /** keeps (1) */
  written({ end, segment, offset }: WrittenBatch): void {
    let count = 0;
    for (const { body, position, offset: inBatch } of this.#unplaced) {
      if (position > end) break;
      count += 1;
      this.place(body, segment, offset + inBatch);
      const stays = body.isNeededSoon && body.length <= MEMORY_LENGTH_MAX && this.#memoryBytes <= MEMORY_BYTES_MAX;
      if (!stays) this.#dropBytes(body);
    }
    if (count > 0) this.#unplaced = this.#unplaced.slice(count);
  }

  /** Sets the location of a body, known from its batch or from a recovery. */
  place(body: Body, segment: number, offset: number): void {
    if (!body.isWanted) return;
    this.#countOut(body);
    body.segment = segment;
    body.offset = offset;
    if (body.length > 0) this.#liveBytes.set(segment, (this.#liveBytes.get(segment) ?? 0) + body.length); // keeps (2)
  }

  /** The bytes, at once if they are in memory. Rejects with `BodyDamaged` or the system's error. */
  load(body: Body): Buffer | Promise<Buffer> {
    if (body.bytes !== undefined) return body.bytes;
    if (body.length === 0) return NO_BYTES;
    return this.#read(body);
  }

  /** The body is not needed soon: it leaves memory when its location is known. */
  setAside(body: Body): void {
    body.isNeededSoon = false;
    if (body.segment > 0) this.#dropBytes(body);
  }

  /** The body is not used any more. */
  free(body: Body): void {
    if (!body.isWanted) return;
    this.#countOut(body);
    this.#damaged.delete(body);
    body.segment = FREED;
    this.#dropBytes(body);
  }

  /** A body that is moved during the read is read again at its new location. */
  async #read(body: Body): Promise<Buffer> {
    const { segment } = body;
    try {
      return await this.#readPlace(body);
    } catch (fault) {
      const isMoved = body.segment !== segment;
      if (isMoved && body.isWanted) return this.load(body);
      if (fault instanceof BodyDamaged && body.isWanted) this.#damaged.add(body);
      throw fault;
    }
  }

  async #readPlace(body: Body): Promise<Buffer> {
    assert(this.#source !== undefined && body.segment > 0, "a body that is not in memory has a location");
    const bytes = await this.#source.read(body.segment, body.offset, body.length);
    if (bytes.length !== body.length || crc32(bytes) !== body.checksum) {
      throw new BodyDamaged(`The body at ${body.offset} of segment ${body.segment} is not what was written`); // keeps (3)
    }
    return bytes;
  }

  #dropBytes(body: Body): void {
    if (body.bytes === undefined) return;
    this.#memoryBytes -= body.length;
    body.account?.add(-body.length);
    body.account = undefined;
    body.bytes = undefined;
  }

  #countOut(body: Body): void {
    if (body.segment <= 0 || body.length === 0) return;
    const rest = (this.#liveBytes.get(body.segment) ?? 0) - body.length;
    if (rest > 0) this.#liveBytes.set(body.segment, rest);
    else this.#liveBytes.delete(body.segment);
  }
}

/** The bytes, or undefined if they are damaged. Rejects with the system's error. */
export async function loadUndamaged(bodies: Bodies, body: Body): Promise<Buffer | undefined> {
  try {
    return await bodies.load(body);
  } catch (fault) {
    if (fault instanceof BodyDamaged) return undefined;
    throw fault;
  }
}

const NO_BYTES = Buffer.alloc(0);
