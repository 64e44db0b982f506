/**
 * The order of terms with equal counts. The service reads them from a hash table of its engine, and programs compare such
 * answers exactly, so whole numbers are put into the slots of a table like that one. Its hash of other keys is not known:
 * they keep the order of their first occurrence.
 *
 * (1) A table for n keys has 4 slots up to 3 keys, 8 up to 7, and otherwise the least power of two that 7/8 of cover n.
 * (2) Keys come in the order of their counts, then of their first occurrence. Each takes the slot of its hash, or the next
 *     free one, the first after the last.
 * (3) The order of ties is that of the slots.
 */

/** The multiplier of the hash, which is modulo 2^64. */
const MULTIPLIER = 0xf135_7aea_2e62_a9c5n;
const ROTATION = 20n;
/** The engine's numbers of the two kinds of keys. */
const KIND_OF_NATURAL = 5n;
const KIND_OF_NEGATIVE = 4n;

/** More keys keep the order of their first occurrence. */
export const SLOT_KEYS_MAX = 4_096;

/** The place of each key in the order of ties. `keys` are in the order of (2). */
export function tiePlaces(keys: readonly (number | bigint)[]): Uint32Array {
  const places = Uint32Array.from(keys, (_, at) => at);
  if (keys.length > SLOT_KEYS_MAX || keys.every((key) => !isWhole(key))) return places;
  const capacity = capacityFor(keys.length);
  const slots = new Int32Array(capacity).fill(-1);
  /** By slot: a slot that is free, or nearer to one; a lookup shortens the way. */
  const nextFree = Uint32Array.from({ length: capacity }, (_, slot) => slot);
  const freeFrom = (slot: number): number => {
    let at = slot;
    while (slots[at] !== -1) {
      const next = nextFree[at] as number;
      nextFree[at] = nextFree[next] as number;
      at = next === at ? (at + 1) % capacity : next;
    }
    return at;
  };
  keys.forEach((key, at) => {
    const slot = freeFrom(slotOf(key, capacity));
    slots[slot] = at;
    nextFree[slot] = (slot + 1) % capacity;
  });
  let place = 0;
  for (const at of slots) {
    if (at === -1) continue;
    places[at] = place;
    place += 1;
  }
  return places;
}

function isWhole(key: number | bigint): boolean {
  return typeof key === "bigint" || Number.isSafeInteger(key);
}

// keeps (1)
function capacityFor(count: number): number {
  if (count < 4) return 4;
  if (count < 8) return 8;
  let capacity = 16;
  while (7 * capacity < 8 * count) capacity *= 2;
  return capacity;
}

/** 0 for keys that are not whole. */
function slotOf(key: number | bigint, capacity: number): number {
  if (!isWhole(key)) return 0;
  const value = BigInt(key);
  const kind = value < 0n ? KIND_OF_NEGATIVE : KIND_OF_NATURAL;
  const mixed = BigInt.asUintN(64, (kind * MULTIPLIER + value) * MULTIPLIER);
  const rotated = BigInt.asUintN(64, (mixed << ROTATION) | (mixed >> (64n - ROTATION)));
  return Number(rotated % BigInt(capacity));
}
