/**
 * 48 bits that stand for one attribute's value of one user, in the index of
 * values. Two values may share them: whoever finds a message by them compares
 * the attributes themselves.
 */

/** No attribute has this name: the message's id is found like a value. */
export const ID_NAME = "\u0000id";

const HIGH_BITS = 0xffff;
/** Between name and value: no code unit is so large. */
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
  // A product carries only upwards: what differs high up must reach the low bits too.
  low = stir(low ^ (high >>> 15));
  high = stir(high ^ (low >>> 13));
  return (high & HIGH_BITS) * 2 ** 32 + (low >>> 0);
}

function stir(word: number): number {
  const half = Math.imul(word ^ (word >>> 16), 0x7feb_352d);
  const whole = Math.imul(half ^ (half >>> 15), 0x846c_a68b);
  return whole ^ (whole >>> 16);
}
