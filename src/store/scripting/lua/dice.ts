/**
 * The dice of scripts. They are the engine's, until a script seeds its own with `math.randomseed`: those are Redis', the
 * 48-bit congruence of POSIX' lrand48, so that a seed draws the same numbers here and there. They last as long as the
 * script, because seeding must not change what other scripts draw.
 */

const FACTOR = 0x5_deec_e66dn;
const SUMMAND = 0xbn;
/** Stands below the seed in the first state (lrand48 of POSIX). */
const SEED_TAIL = 0x330en;
/** What Redis divides by; a draw that is just as large counts as 0. */
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

  /** From here on draws what follows from the low 32 bits of the integer part of `seed`. */
  seed(seed: number): void {
    this.#state = (BigInt.asUintN(32, BigInt(seed | 0)) << 16n) | SEED_TAIL;
  }

  /** The script is over: what it seeded is no more. */
  forgetSeed(): void {
    this.#state = undefined;
  }
}
