/**
 * Ids of strings. A few strings are in one `Map`, many in many, because a `Map`
 * of a million entries takes a tenth of a second to grow.
 */

/** The strings of one map before it is divided, and the number of maps then; a power of two. */
const UNDIVIDED_MAX = 1_024;
const SHARDS = 64;
/** Characters from the end that select the map of a string. */
const CHARACTERS_READ = 8;

export class StringTable {
  #shards: readonly Map<string, number>[] = [new Map()];
  #count = 0;

  find(text: string): number | undefined {
    return this.#shardOf(text).get(text);
  }

  /** Adds a string that has no id yet. */
  add(text: string, id: number): void {
    if (this.#count === UNDIVIDED_MAX && this.#shards.length === 1) this.#divide();
    this.#shardOf(text).set(text, id);
    this.#count += 1;
  }

  /** Removes a string that has an id. */
  remove(text: string): void {
    this.#shardOf(text).delete(text);
    this.#count -= 1;
  }

  #shardOf(text: string): Map<string, number> {
    return this.#shards[this.#shards.length === 1 ? 0 : shardNumber(text)] as Map<string, number>;
  }

  #divide(): void {
    const all = this.#shards[0] as Map<string, number>;
    this.#shards = Array.from({ length: SHARDS }, () => new Map());
    for (const [text, id] of all) this.#shardOf(text).set(text, id);
  }
}

/** The map of a string. Chosen strings that all go to one map only make it as slow to grow as a single map. */
function shardNumber(text: string): number {
  let hash = text.length;
  for (let at = Math.max(0, text.length - CHARACTERS_READ); at < text.length; at += 1)
    hash = Math.imul(hash, 0x9e37_79b1) + text.charCodeAt(at);
  return (hash ^ (hash >>> 11)) & (SHARDS - 1);
}
