/**
 * The definition of a search index as the value of a key. It never changes; the
 * index itself is derived from the keyspace and is not part of the value, apart
 * from two things that belong to the key: the memory that it takes, and the order
 * of its documents, which decides among equal scores and must survive a restart.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import type { IndexDefinition } from "../search/definition.ts";

/** The objects, roughly. */
const FIXED_BYTES = 400;
const FIELD_BYTES = 120;
const STORED_HASH_BYTES = 8;

/** The index of a definition, as far as the value shows it. */
export interface IndexOfDefinition {
  /** Approximate memory in bytes. Call `change` of the meter before it changes. */
  readonly memoryBytes: number;
  /** The keys of the documents, in the order of their numbers. */
  keys(): Iterable<Bytes>;
}

export class SearchDefinition {
  readonly typeName = "search";
  readonly definition: IndexDefinition;
  /** Set in a serving process. */
  index: IndexOfDefinition | undefined;
  /** Hashes of the keys of the documents in their order, from records; empty once the index has all documents. */
  #storedOrder: number[] = [];
  readonly #definitionBytes: number;

  constructor(definition: IndexDefinition) {
    this.definition = definition;
    let bytes = FIXED_BYTES;
    for (const prefix of definition.prefixes) bytes += memoryBytesOf(prefix);
    for (const { name, path } of definition.fields)
      bytes += FIELD_BYTES + memoryBytesOf(name) + (path === undefined ? 0 : memoryBytesOf(path));
    this.#definitionBytes = bytes;
  }

  /** Approximate memory in bytes, with that of the index. */
  get memoryBytes(): number {
    return this.#definitionBytes + this.#storedOrder.length * STORED_HASH_BYTES + (this.index?.memoryBytes ?? 0);
  }

  /** Takes hashes that records have; at 0 a new order begins. */
  storeOrder(at: number, hashes: readonly number[]): void {
    if (at === 0) this.#storedOrder = [];
    for (const hash of hashes) this.#storedOrder.push(hash);
  }

  get storedOrder(): readonly number[] {
    return this.#storedOrder;
  }

  /** The order of the documents, as hashes of their keys: that of the index, or the stored one. */
  *order(): Generator<number> {
    if (this.index === undefined || this.#storedOrder.length > 0) yield* this.#storedOrder;
    else for (const key of this.index.keys()) yield hashOfKey(key);
  }
}

/** 53 bits. Chosen keys with one hash only lose their order among equal scores. */
export function hashOfKey(key: Bytes): number {
  let high = 0xdead_beef;
  let low = 0x41c6_ce57;
  for (let i = 0; i < key.length; i += 1) {
    const byte = key.charCodeAt(i);
    high = Math.imul(high ^ byte, 0x9e37_79b1);
    low = Math.imul(low ^ byte, 0x5f35_6495);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85eb_ca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2_ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85eb_ca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2_ae35);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
