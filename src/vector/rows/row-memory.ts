/**
 * Memory for the dense rows of all namespaces of a thread: a few arenas, each
 * cut into chunks of 1 MiB, each chunk into blocks of one size.
 *
 * (1) A block is a power of two from 4 KiB to 1 MiB and aligned to its size.
 * (2) A chunk with free and used blocks is in the list of its size; one whose
 *     blocks are all free belongs to no size and serves the next that needs it.
 * (3) What is given back is kept for the next: the machine gets memory back
 *     only when the process ends, so `reservedBytes` never falls.
 * (4) An allocation that is refused has changed nothing that anybody can see.
 */
import { assert } from "../../kernel/assert.ts";
import { Arena, CHUNK_BYTES } from "./arena.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { rowBytesOf } from "./row-kernel.ts";

export const BLOCK_BYTES_MIN = 4_096;
export const BLOCK_BYTES_MAX = CHUNK_BYTES;
const ARENA_BYTES_MAX = 1_073_741_824;

export interface Block {
  readonly arena: Arena;
  readonly address: number;
  readonly bytes: number;
}

/** There is no more memory for rows, by the machine or by `bytesMax`. Nothing has changed. */
export class OutOfMemory extends Error {
  override name = "OutOfMemory";
}

interface Chunk {
  readonly arena: Arena;
  readonly address: number;
  /** Undefined: all of it is free. */
  blockBytes: number | undefined;
  /** Addresses of the free blocks. */
  readonly free: number[];
  /** In the list of its size; -1: it is in none. */
  place: number;
}

export interface RowMemoryOptions {
  /** What all arenas together may take; default: no bound but the machine's. */
  readonly bytesMax?: number;
  /** Of one arena; default 1 GiB, which is also the most. A multiple of 1 MiB. */
  readonly arenaBytes?: number;
}

export class RowMemory {
  readonly #bytesMax: number;
  readonly #arenaBytes: number;
  /** The chunks of each arena by their place after its scratch. */
  readonly #chunks = new Map<Arena, Chunk[]>();
  readonly #freeChunks: Chunk[] = [];
  /** Chunks that have a free block, by the size of their blocks. */
  readonly #chunksBySize = new Map<number, Chunk[]>();
  #firstArena: Arena | undefined;
  #lastArena: Arena | undefined;
  #reservedBytes = 0;
  #usedBytes = 0;

  constructor({ bytesMax = Number.POSITIVE_INFINITY, arenaBytes = ARENA_BYTES_MAX }: RowMemoryOptions = {}) {
    assert(arenaBytes % CHUNK_BYTES === 0 && arenaBytes <= ARENA_BYTES_MAX, "an arena is whole chunks, 1 GiB at most");
    this.#bytesMax = bytesMax;
    this.#arenaBytes = arenaBytes;
  }

  /** Of the blocks that are in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Of all arenas, scratch included. Pages that were never written cost the machine nothing. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** A block whose bytes may be anything. Throws OutOfMemory. */
  allocate(bytes: number): Block {
    assert(isBlockSize(bytes), "a block is a power of two from 4 KiB to 1 MiB");
    const chunk = this.#chunksBySize.get(bytes)?.at(-1) ?? this.#cutChunk(bytes);
    const address = chunk.free.pop();
    assert(address !== undefined, "a listed chunk has a free block");
    if (chunk.free.length === 0) this.#unlist(chunk, bytes);
    this.#usedBytes += bytes;
    return { arena: chunk.arena, address, bytes };
  }

  release({ arena, address, bytes }: Block): void {
    const chunk = this.#chunks.get(arena)?.[Math.floor(address / CHUNK_BYTES) - 1];
    assert(chunk?.blockBytes === bytes, "a block goes back as it was given");
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

  /** A query for stores of its dimension. Throws OutOfMemory, as `squaredLength` does. */
  prepare(values: Float32Array): PreparedQuery {
    const padded = new Float32Array(rowBytesOf(values.length) / Float32Array.BYTES_PER_ELEMENT);
    padded.set(values);
    return { dimension: values.length, padded, squaredLength: this.squaredLength(values) };
  }

  /**
   * A float32, of the same sums as those of rows; Infinity or NaN when they are too large for one. Throws OutOfMemory,
   * only before anything else was allocated.
   */
  squaredLength(values: Float32Array): number {
    this.#firstArena ??= this.#addArena();
    return this.#firstArena.squaredLength(values);
  }

  #cutChunk(bytes: number): Chunk {
    const chunk = this.#freeChunks.pop() ?? this.#addChunk();
    chunk.blockBytes = bytes;
    // The lowest address is given first.
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
    assert(listed !== undefined && last !== undefined && chunk.place >= 0, "a chunk is unlisted from where it is");
    if (last !== chunk) {
      listed[chunk.place] = last;
      last.place = chunk.place;
    }
    chunk.place = -1;
  }

  #addChunk(): Chunk {
    let arena = this.#lastArena;
    if (arena === undefined || arena.bytes === this.#arenaBytes) arena = this.#addArena();
    const address = this.#take(CHUNK_BYTES, () => arena.addChunk());
    const chunk: Chunk = { arena, address, blockBytes: undefined, free: [], place: -1 };
    this.#chunks.get(arena)?.push(chunk);
    return chunk;
  }

  #addArena(): Arena {
    const arena = this.#take(CHUNK_BYTES, () => new Arena(this.#arenaBytes));
    this.#chunks.set(arena, []);
    this.#firstArena ??= arena;
    this.#lastArena = arena;
    return arena;
  }

  /** Reserves by `reserve`. Throws OutOfMemory when it would be beyond the bound or the machine refuses. Keeps (4). */
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
