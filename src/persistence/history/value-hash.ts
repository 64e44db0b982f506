/**
 * A 48-bit hash of a user's attribute value, for the index of values. Hashes may
 * collide, so a search compares the attributes themselves.
 */

/** The name under which the message's id is indexed; no attribute has it. */
export const ID_NAME = "\u0000id";

const HIGH_BITS = 0xffff;
/** Separates name and value: larger than any code unit. */
const SEPARATOR = 0x1_0000;

export function valueHash(user: number, name: string, value: string): number {
  let low = Math.imul(user + 1, 0x9e37_79b1) ^ Math.floor(user / 2 ** 32);
  let high = ~low;
  for (let i = 0; i < name.length; i += 1) {
    low = Math.imul(low ^ name.charCodeAt(i), 0x85eb_ca6b);
    high = Math.imul(high ^ name.charCodeAt(i), 0xc2b2_ae35);
  }
  low = Math.imul(low ^ SEPARATOR, 0x85eb_ca6b);
  high = Math.imul(high ^ SEPARATOR, 0xc2b2_ae35);
  for (let i = 0; i < value.length; i += 1) {
    low = Math.imul(low ^ value.charCodeAt(i), 0x85eb_ca6b);
    high = Math.imul(high ^ value.charCodeAt(i), 0xc2b2_ae35);
  }
  // Products carry only upwards, so differences in high bits must be mixed into the low bits.
  low = stir(low ^ (high >>> 15));
  high = stir(high ^ (low >>> 13));
  return (high & HIGH_BITS) * 2 ** 32 + (low >>> 0);
}

function stir(word: number): number {
  const half = Math.imul(word ^ (word >>> 16), 0x7feb_352d);
  const whole = Math.imul(half ^ (half >>> 15), 0x846c_a68b);
  return whole ^ (whole >>> 16);
}
