/**
 * The random numbers of scripts. They are the engine's, until a script seeds its own with `math.randomseed`: those are
 * Redis', the 48-bit congruence of POSIX' lrand48, so that a seed gives the same numbers. The seed lasts until the end
 * of the script, because seeding must not change the numbers of other scripts.
 */

const FACTOR = 0x5_deec_e66dn;
const SUMMAND = 0xbn;
/** The lowest bits of the first state, below the seed (lrand48 of POSIX). */
const SEED_TAIL = 0x330en;
/** Redis' divisor; a result equal to it counts as 0. */
const DRAW_MAX = 0x7fff_ffff;

export class LuaDice {
  readonly #unseeded: () => number;
  #state: bigint | undefined;

  constructor(unseeded: () => number) {
    this.#unseeded = unseeded;
  }

  /** A double in [0, 1). */
  unit(): number {
    if (this.#state === undefined) return this.#unseeded();
    this.#state = BigInt.asUintN(48, this.#state * FACTOR + SUMMAND);
    return (Number(this.#state >> 17n) % DRAW_MAX) / DRAW_MAX;
  }

  /** From now on the numbers follow from the low 32 bits of the integer part of `seed`. */
  seed(seed: number): void {
    this.#state = (BigInt.asUintN(32, BigInt(seed | 0)) << 16n) | SEED_TAIL;
  }

  /** The script is over: its seed is dropped. */
  forgetSeed(): void {
    this.#state = undefined;
  }
}
