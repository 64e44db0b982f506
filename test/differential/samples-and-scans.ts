/**
 * Comparisons for all families with random elements or scans:
 * each server chooses its own elements, so only some
 * properties can be compared.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import { type Comparison, isList, isSame } from "./compare.ts";
import type { Draw } from "./draw.ts";

/** Never a large negative number: Redis would return that many elements, until the machine is out of memory. */
export function sampleCount(draw: Draw): Bytes {
  if (draw.oneIn(3)) return draw.pick(["9223372036854775807", "-9223372036854775808", "4294967296", "x", "", "1.5"]);
  return `${draw.below(16) - 6}`;
}

/** Random elements: their number and kind. */
export const asDrawn: Comparison = ({ command, ours, theirs }) => {
  if (isList(ours) && isList(theirs)) return ours.length === theirs.length;
  const isOne = command.length === 2 && typeof ours === "string" && typeof theirs === "string";
  return isOne || isSame(ours, theirs);
};

/** Options of a scan. `wholeCount` is above every size, so that one reply mostly has all elements to compare. */
export function scanOptions(
  draw: Draw,
  choices: {
    readonly patterns: readonly Bytes[];
    readonly wholeCount: Bytes;
    readonly others: readonly (() => Bytes[])[];
  },
): Bytes[] {
  const { patterns, wholeCount, others } = choices;
  return draw.options(
    [
      () => ["MATCH", draw.pick([...patterns, draw.value()])],
      () => ["COUNT", draw.oneIn(3) ? draw.count() : wholeCount],
      ...others,
    ],
    2,
  );
}

/** Whole scans return the same elements, by this comparison; the parts of one depend on the server. */
export function asScanOf(compareElements: Comparison, { cursorAt }: { readonly cursorAt: number }): Comparison {
  return (exchange) => {
    const { command, ours, theirs } = exchange;
    if (!isList(ours) || !isList(theirs)) return isSame(ours, theirs);
    const [ourCursor, ourElements = null] = ours;
    const [theirCursor, theirElements = null] = theirs;
    if (command[cursorAt] !== "0" || ourCursor !== "0" || theirCursor !== "0")
      return isList(ourElements) && isList(theirElements);
    return compareElements({ command, ours: ourElements, theirs: theirElements });
  };
}
