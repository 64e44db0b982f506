/** Keys that deliveries are signed with: `sig_` and 28 letters and digits, about 166 bits. */
import { secretBytes } from "../kernel/random.ts";
import type { SigningKeys } from "./door.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 28;
/** The largest multiple of the alphabet's size that a byte can be below: larger ones would favour some letters. */
const BYTE_BOUND = 256 - (256 % ALPHABET.length);

export function newSigningKey(): string {
  let key = "sig_";
  while (key.length < LENGTH + 4) {
    for (const byte of secretBytes(LENGTH)) {
      if (byte < BYTE_BOUND && key.length < LENGTH + 4) key += ALPHABET[byte % ALPHABET.length];
    }
  }
  return key;
}

export function newSigningKeys(): SigningKeys {
  return { current: newSigningKey(), next: newSigningKey() };
}
