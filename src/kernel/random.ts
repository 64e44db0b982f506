/**
 * Randomness as a dependency. Engines draw from a `Random`, so a run can be
 * replayed from its seed; secrets come only from `secretBytes`.
 */
import { randomBytes, randomFillSync } from "node:crypto";

export interface Random {
  /** A uniform integer in [0, bound). `bound` is at most 2^32. */
  below(bound: number): number;
  /** A uniform double in [0, 1). */
  unit(): number;
}

/** Numbers drawn from the system at a time: one call into the kernel serves many draws. */
const POOL_WORDS = 1_024;

class SystemRandom implements Random {
  readonly #pool = new Uint32Array(POOL_WORDS);
  #used = POOL_WORDS;

  below(bound: number): number {
    // The multiply-shift bias is below 2^-20 for any bound the engines use.
    return Math.floor(this.unit() * bound);
  }

  unit(): number {
    return (this.#word() * 0x20_0000 + (this.#word() >>> 11)) / 2 ** 53;
  }

  #word(): number {
    if (this.#used === POOL_WORDS) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    return this.#pool[this.#used++] as number;
  }
}

export const systemRandom: Random = new SystemRandom();

/** A replayable source (sfc32 seeded by splitmix32): the same seed draws the same numbers. */
export function seededRandom(seed: number): Random {
  let a = mix(seed);
  let b = mix(seed + 0x9e37_79b9);
  let c = mix(seed + 0x3c6e_f372);
  let counter = 1;
  const word = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i += 1) word();
  const unit = (): number => (word() * 0x20_0000 + (word() >>> 11)) / 2 ** 53;
  return { unit, below: (bound) => Math.floor(unit() * bound) };
}

/** Bytes that cannot be guessed: tokens, signing keys, hash seeds. */
export function secretBytes(count: number): Buffer {
  return randomBytes(count);
}

const LETTERS_AND_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Letters and digits that cannot be guessed, about 6 bits each: tokens, signing keys. */
export function secretText(count: number): string {
  let text = "";
  while (text.length < count) {
    for (const byte of secretBytes(count)) {
      // 248 = 4 x 62: bytes beyond it would make the first letters more likely.
      if (byte < 248 && text.length < count) text += LETTERS_AND_DIGITS.charAt(byte % LETTERS_AND_DIGITS.length);
    }
  }
  return text;
}

function mix(value: number): number {
  let z = value | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
  return z ^ (z >>> 15);
}
