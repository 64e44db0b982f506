/**
 * Tables of checks that follow from a description, such as "every byte of a file is damaged": `npm test` looks at a part of
 * them, which a seed draws, and a proof at all. So does a file that runs alone.
 */
import type { Random } from "../../src/kernel/random.ts";
import { drawsLess } from "../budget.ts";

export interface DrawnPart {
  /** `npm test` looks at one row of so many. */
  readonly oneIn: number;
  readonly random: Random;
  /** The default is the size of this run. */
  readonly drawsLess?: boolean;
}

/** All rows, or in `npm test` a part of them: at least one, in their order. */
export function drawnPart<Row>(
  rows: readonly Row[],
  { oneIn, random, drawsLess: isPart = drawsLess() }: DrawnPart,
): Row[] {
  if (!isPart) return [...rows];
  let wanted = Math.ceil(rows.length / oneIn);
  // Each row is drawn with the share of rows that are still wanted among those that are left.
  return rows.filter((_, index) => {
    const isDrawn = random.below(rows.length - index) < wanted;
    if (isDrawn) wanted -= 1;
    return isDrawn;
  });
}
