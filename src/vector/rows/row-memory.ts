/**
 * Memory for the dense rows of all namespaces of a thread and the tables of their
 * records: a few arenas, each cut into chunks of 1 MiB, each chunk into blocks of
 * one size. Buffers of their own would leave gaps in the memory of the process.
 *
 * (1) A block is a power of two from 2 KiB to 1 MiB and aligned to its size.
 * (2) A chunk with free and used blocks is in the list of its size; a chunk whose
 *     blocks are all free belongs to no size and can serve any.
 * (3) Freed blocks are used again: memory is returned to the machine only when
 *     the process ends, so `reservedBytes` never falls.
 * (4) A refused allocation has no visible effect.
 */
import { assert } from "../../kernel/assert.ts";
import { Arena, CHUNK_BYTES } from "./arena.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { rowBytesOf } from "./row-kernel.ts";

export const BLOCK_BYTES_MIN = 2_048;
export const BLOCK_BYTES_MAX = CHUNK_BYTES;
/** Threads other than its owner that may have scratch in an arena. */
export const SCRATCH_MAX = 64;
/** With the scratch of all threads, an arena is 1 GiB, the most that the kernel's module declares. */
const ARENA_BYTES_MAX = 1_073_741_824 - SCRATCH_MAX * CHUNK_BYTES;

export interface Block {
  readonly arena: Arena;
  readonly address: number;
  readonly bytes: number;
}

/** The machine or `bytesMax` has no more memory for rows. Nothing has changed. */
export class OutOfMemory extends Error {
  override name = "OutOfMemory";
}

interface Chunk {
  readonly arena: Arena;
  readonly address: number;
  /** Undefined if all of it is free. */
  blockBytes: number | undefined;
  /** Addresses of the free blocks. */
  readonly free: number[];
  /** The index in the list of its size; -1 if it is in no list. */
  place: number;
}

export interface RowMemoryOptions {
  /** The most bytes of all arenas together; by default only the machine's limit. */
  readonly bytesMax?: number;
  /** The most bytes of one arena: a multiple of 1 MiB, by default and at most 960 MiB. */
  readonly arenaBytes?: number;
}

export class RowMemory {
  readonly #bytesMax: number;
  readonly #arenaBytes: number;
  /** The chunks of each arena by their index after the scratch of this thread. */
  readonly #chunks = new Map<Arena, Chunk[]>();
  /** The addresses of the scratch of other threads in each arena, by the number of the thread. */
  readonly #scratches = new Map<Arena, (number | undefined)[]>();
  readonly #freeChunks: Chunk[] = [];
  /** Chunks with a free block, by the size of their blocks. */
  readonly #chunksBySize = new Map<number, Chunk[]>();
  #firstArena: Arena | undefined;
  #lastArena: Arena | undefined;
  #reservedBytes = 0;
  #usedBytes = 0;

  constructor({ bytesMax = Number.POSITIVE_INFINITY, arenaBytes = ARENA_BYTES_MAX }: RowMemoryOptions = {}) {
    assert(
      arenaBytes % CHUNK_BYTES === 0 && arenaBytes <= ARENA_BYTES_MAX,
      "an arena is whole chunks, 960 MiB at most",
    );
    this.#bytesMax = bytesMax;
    this.#arenaBytes = arenaBytes;
  }

  /** The bytes of the blocks in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The bytes of all arenas with their scratch. Pages that were never written take no memory of the machine. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** Returns a block with arbitrary contents. Throws OutOfMemory. */
  allocate(bytes: number): Block {
    assert(isBlockSize(bytes), "a block is a power of two from 2 KiB to 1 MiB");
    const chunk = this.#chunksBySize.get(bytes)?.at(-1) ?? this.#cutChunk(bytes);
    const address = chunk.free.pop();
    assert(address !== undefined, "a listed chunk has a free block");
    if (chunk.free.length === 0) this.#unlist(chunk, bytes);
    this.#usedBytes += bytes;
    return { arena: chunk.arena, address, bytes };
  }

  /**
   * A block with arbitrary contents for a part of a table, whose bytes are a power of two and 1 MiB at most. Undefined if
   * it is too small for a block, or if there is no memory: then it needs a buffer of its own, because only the memory of
   * rows is reserved before a change.
   */
  findBlock(bytes: number): Block | undefined {
    if (bytes < BLOCK_BYTES_MIN) return undefined;
    try {
      return this.allocate(bytes);
    } catch (failure) {
      if (failure instanceof OutOfMemory) return undefined;
      throw failure;
    }
  }

  release({ arena, address, bytes }: Block): void {
    const chunk = this.#chunks.get(arena)?.[Math.floor(address / CHUNK_BYTES) - 1];
    assert(chunk?.blockBytes === bytes, "a block is freed with the size of its allocation");
    chunk.free.push(address);
    this.#usedBytes -= bytes;
    if (chunk.place < 0) this.#list(chunk, bytes);
    if (chunk.free.length < CHUNK_BYTES / bytes) return;
    // keeps (2)
    this.#unlist(chunk, bytes);
    chunk.blockBytes = undefined;
    chunk.free.length = 0;
    this.#freeChunks.push(chunk);
  }

  /**
   * The address of a chunk that only the thread of this number uses, as its scratch. Undefined if there is no memory.
   * It stays allocated, for the next thread of that number.
   */
  findScratch(arena: Arena, thread: number): number | undefined {
    assert(thread < SCRATCH_MAX, "an arena has room for the scratch of each thread");
    let addresses = this.#scratches.get(arena);
    if (addresses === undefined) {
      addresses = [];
      this.#scratches.set(arena, addresses);
    }
    addresses[thread] ??= this.#takeScratch(arena);
    return addresses[thread];
  }

  /**
   * Prepares a query for stores of its dimension. Its values, which are not copied if they need no padding, must not
   * change while it is used. Throws OutOfMemory, as `squaredLength` does.
   */
  prepare(values: Float32Array): PreparedQuery {
    const length = rowBytesOf(values.length) / Float32Array.BYTES_PER_ELEMENT;
    let padded = values;
    if (values.length < length) {
      padded = new Float32Array(length);
      padded.set(values);
    }
    return { dimension: values.length, padded, squaredLength: this.squaredLength(values) };
  }

  /**
   * The squared length as a float32, by the same sums as those of rows; Infinity or NaN if they overflow. Throws
   * OutOfMemory only if nothing was allocated before.
   */
  squaredLength(values: Float32Array): number {
    this.#firstArena ??= this.#addArena();
    return this.#firstArena.squaredLength(values);
  }

  #cutChunk(bytes: number): Chunk {
    const chunk = this.#freeChunks.pop() ?? this.#addChunk();
    chunk.blockBytes = bytes;
    // The lowest address is used first.
    for (let end = CHUNK_BYTES; end > 0; end -= bytes) chunk.free.push(chunk.address + end - bytes);
    this.#list(chunk, bytes);
    return chunk;
  }

  #list(chunk: Chunk, bytes: number): void {
    let listed = this.#chunksBySize.get(bytes);
    if (listed === undefined) {
      listed = [];
      this.#chunksBySize.set(bytes, listed);
    }
    chunk.place = listed.length;
    listed.push(chunk);
  }

  #unlist(chunk: Chunk, bytes: number): void {
    const listed = this.#chunksBySize.get(bytes);
    const last = listed?.pop();
    assert(listed !== undefined && last !== undefined && chunk.place >= 0, "an unlisted chunk was in the list");
    if (last !== chunk) {
      listed[chunk.place] = last;
      last.place = chunk.place;
    }
    chunk.place = -1;
  }

  #addChunk(): Chunk {
    let arena = this.#lastArena;
    if (arena === undefined || this.#isFull(arena)) arena = this.#addArena();
    return this.#addChunkTo(arena);
  }

  #addChunkTo(arena: Arena): Chunk {
    const address = this.#take(CHUNK_BYTES, () => arena.addChunk());
    const chunk: Chunk = { arena, address, blockBytes: undefined, free: [], place: -1 };
    this.#chunks.get(arena)?.push(chunk);
    return chunk;
  }

  /** The scratch of other threads is in addition to the bytes of an arena. */
  #isFull(arena: Arena): boolean {
    const scratchCount = this.#scratches.get(arena)?.filter((address) => address !== undefined).length ?? 0;
    return arena.bytes - scratchCount * CHUNK_BYTES === this.#arenaBytes;
  }

  #takeScratch(arena: Arena): number | undefined {
    try {
      return this.#addChunkTo(arena).address;
    } catch (failure) {
      if (failure instanceof OutOfMemory) return undefined;
      throw failure;
    }
  }

  #addArena(): Arena {
    const arena = this.#take(CHUNK_BYTES, () => Arena.create(this.#arenaBytes + SCRATCH_MAX * CHUNK_BYTES));
    this.#chunks.set(arena, []);
    this.#firstArena ??= arena;
    this.#lastArena = arena;
    return arena;
  }

  /** Reserves with `reserve`. Throws OutOfMemory if it exceeds the bound or the machine refuses. Keeps (4). */
  #take<Reserved>(bytes: number, reserve: () => Reserved): Reserved {
    if (this.#reservedBytes + bytes > this.#bytesMax)
      throw new OutOfMemory(`Dense rows may take ${this.#bytesMax} bytes of memory, and they do`);
    let reserved: Reserved;
    try {
      reserved = reserve();
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw new OutOfMemory("The machine has no more memory for dense rows", { cause });
    }
    this.#reservedBytes += bytes;
    return reserved;
  }
}

function isBlockSize(bytes: number): boolean {
  return bytes >= BLOCK_BYTES_MIN && bytes <= BLOCK_BYTES_MAX && (bytes & (bytes - 1)) === 0;
}
