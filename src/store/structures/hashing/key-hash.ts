/**
 * The hash of the keys of dictionaries, with a memory of recent ones: a look-up
 * that is followed by an insertion, or by one in the next dictionary, hashes once,
 * and so do the few keys that a client uses again and again.
 *
 * (1) One memory for all dictionaries, because it keeps its keys alive: at most
 *     `SLOT_COUNT`, of which one may be longer than `SHORT_LENGTH_MAX`.
 * (2) A slot has a key, the two halves of the key of the hash, and the hash that
 *     belongs to these. Which slot a key uses does not matter for (2), so the choice
 *     need not be secret.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { halfSipHash } from "../../../kernel/checksum/half-sip-hash.ts";

/** A power of two: more keys than a client uses in a row. */
const SLOT_COUNT = 64;
const SHORT_LENGTH_MAX = 128;
/** The slot of empty and of long keys. */
const LONG_SLOT = 0;

const keys: Bytes[] = new Array(SLOT_COUNT).fill("");
const firstHalves = new Int32Array(SLOT_COUNT);
const secondHalves = new Int32Array(SLOT_COUNT);
const hashes = new Int32Array(SLOT_COUNT).fill(halfSipHash(0, 0, ""));

/** As `halfSipHash`. */
export function keyHash(key0: number, key1: number, key: Bytes): number {
  const slot = slotOf(key);
  if (keys[slot] === key && firstHalves[slot] === key0 && secondHalves[slot] === key1) return hashes[slot] as number;
  const hash = halfSipHash(key0, key1, key);
  // keeps (2)
  keys[slot] = key;
  firstHalves[slot] = key0;
  secondHalves[slot] = key1;
  hashes[slot] = hash;
  return hash;
}

/** Keys of one kind differ in their last characters. */
function slotOf(key: Bytes): number {
  const { length } = key;
  if (length < 2 || length > SHORT_LENGTH_MAX) return LONG_SLOT;
  return (
    (Math.imul(key.charCodeAt(length - 1), 11) + Math.imul(key.charCodeAt(length - 2), 3) + length) & (SLOT_COUNT - 1)
  );
}
