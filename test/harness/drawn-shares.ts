/** Kinds of rounds in an order that a seed draws. */
import type { Random } from "../../src/kernel/random.ts";

/**
 * `rounds` kinds in a drawn order. Each kind is there in its share, rounded up, of the sum of all shares, so that with a
 * multiple of the sum all shares are exact; otherwise the last ones of the order are left out.
 */
export function drawShares<Kind extends string>(
  shares: Readonly<Record<Kind, number>>,
  rounds: number,
  random: Random,
): Kind[] {
  const kinds = Object.keys(shares) as Kind[];
  const sum = kinds.reduce((total, kind) => total + shares[kind], 0);
  const drawn = kinds.flatMap((kind) => new Array<Kind>(Math.ceil((shares[kind] * rounds) / sum)).fill(kind));
  for (let i = drawn.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    [drawn[i], drawn[j]] = [drawn[j] as Kind, drawn[i] as Kind];
  }
  return drawn.slice(0, rounds);
}
