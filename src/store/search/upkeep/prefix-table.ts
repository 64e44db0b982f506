/**
 * Which indexes a key belongs to, by the prefixes of all of them. Every change of
 * a key asks it, so a key of no index costs a few comparisons.
 *
 * The prefixes are in the order of their bytes, each with the longest other one
 * that begins it (its parent). All prefixes of a key are the last one that is not
 * after the key, or parents of it.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

interface Row<Owner> {
  readonly prefix: Bytes;
  /** The index of its parent, or -1. */
  readonly parent: number;
  readonly owners: Owner[];
}

const NO_ROW = -1;

export class PrefixTable<Owner> {
  readonly #rows: Row<Owner>[] = [];
  /** 1 for each first byte of a prefix. */
  readonly firstBytes = new Uint8Array(256);

  constructor(pairs: Iterable<readonly [Bytes, Owner]>) {
    const owners = new Map<Bytes, Owner[]>();
    for (const [prefix, owner] of pairs) {
      const known = owners.get(prefix);
      if (known === undefined) owners.set(prefix, [owner]);
      else known.push(owner);
    }
    // Strings of bytes compare as their bytes do.
    for (const prefix of [...owners.keys()].sort()) {
      let parent = this.#rows.length - 1;
      while (parent >= 0 && !prefix.startsWith((this.#rows[parent] as Row<Owner>).prefix))
        parent = (this.#rows[parent] as Row<Owner>).parent;
      this.#rows.push({ prefix, parent, owners: owners.get(prefix) as Owner[] });
      if (prefix === "") this.firstBytes.fill(1);
      else this.firstBytes[prefix.charCodeAt(0)] = 1;
    }
  }

  /** Calls `take` with each owner of a prefix of this key; an owner with several of them more than once. */
  visit(key: Bytes, take: (owner: Owner, key: Bytes) => void): void {
    const rows = this.#rows;
    for (let at = rows.length === 1 ? 0 : this.#lastBefore(key); at !== NO_ROW; ) {
      const { prefix, parent, owners } = rows[at] as Row<Owner>;
      if (beginsWith(key, prefix)) for (const owner of owners) take(owner, key);
      at = parent;
    }
  }

  /** The last row whose prefix is not after the key. */
  #lastBefore(key: Bytes): number {
    const rows = this.#rows;
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((rows[middle] as Row<Owner>).prefix <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** As `startsWith`, which is a call that costs more than the few bytes of a usual prefix. */
function beginsWith(key: Bytes, prefix: Bytes): boolean {
  const { length } = prefix;
  if (length > key.length) return false;
  for (let at = 0; at < length; at += 1) if (key.charCodeAt(at) !== prefix.charCodeAt(at)) return false;
  return true;
}
