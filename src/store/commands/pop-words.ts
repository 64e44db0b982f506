/** The shared arguments of LMPOP and ZMPOP, and counts that are refused with an error of their own. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { type CommandError, countNotPositive, keyCountNotPositive, syntaxError } from "../errors.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

/** The number of elements to remove from one end of the first of these keys that is not empty. */
export interface PopWords<End> {
  readonly keys: readonly Bytes[];
  readonly end: End;
  readonly count: number;
}

/** Reads `numkeys key … end [COUNT count]`, with the first word at `countAt`. Throws CommandError. */
export function readPopWords<End>(
  call: Call,
  countAt: number,
  readEnd: (call: Call, index: number) => End,
): PopWords<End> {
  const { arg, word, argCount } = call;
  const keyCount = positiveCount(call, countAt, keyCountNotPositive);
  const endAt = countAt + 1 + keyCount;
  if (endAt >= argCount) throw syntaxError;
  const end = readEnd(call, endAt);
  let count: number | undefined;
  for (let i = endAt + 1; i < argCount; i += 2) {
    if (count !== undefined || word(i) !== "COUNT" || i + 1 === argCount) throw syntaxError;
    count = positiveCount(call, i + 1, countNotPositive);
  }
  const keys: Bytes[] = [];
  for (let i = countAt + 1; i < endAt; i += 1) keys.push(arg(i));
  return { keys, end, count: count ?? 1 };
}

/** A count from 0. Throws this error for anything else. */
export function countFromZeroOr(call: Call, index: number, error: CommandError): number {
  const count = countOr(call, index, error);
  if (count < 0) throw error;
  return count;
}

/** A count from 1. Throws this error for anything else. */
function positiveCount(call: Call, index: number, error: CommandError): number {
  const count = countOr(call, index, error);
  if (count < 1) throw error;
  return count;
}

function countOr({ arg, count }: Call, index: number, error: CommandError): number {
  if (parseInteger(arg(index)) === undefined) throw error;
  return count(index);
}
