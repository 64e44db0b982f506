/**
 * LCS: the longest common subsequence of two strings, its length, or the
 * positions of its bytes. The work grows with the product of the two lengths, so
 * strings beyond Redis' own bound are refused (threats A-15).
 */
import type { Call } from "../command.ts";
import { lcsLengthAndIndexes, lcsNotString, lcsTooLong, syntaxError } from "../errors.ts";
import { integer, map, type Reply } from "../reply/reply.ts";
import { commonSubsequence, isLcsAllowed, lcsLength, type MatchRange } from "../structures/lcs.ts";
import { bytesOf, isString } from "../values/string.ts";

interface LcsOptions {
  readonly answer: "bytes" | "length" | "ranges";
  /** Shorter ranges are omitted. */
  readonly rangeLengthMin: number | bigint;
  readonly hasRangeLengths: boolean;
}

export function lcs(call: Call): Reply {
  const { keyspace, arg } = call;
  const one = keyspace.find(arg(1)) ?? "";
  const other = keyspace.find(arg(2)) ?? "";
  if (!isString(one) || !isString(other)) throw lcsNotString;
  const options = readOptions(call);
  // Checked before a string of up to 512 MB is converted to bytes.
  if (!isLcsAllowed(one, other)) throw lcsTooLong;
  if (options.answer === "length") return integer(lcsLength(bytesOf(one), bytesOf(other)));
  const { bytes, ranges } = commonSubsequence(bytesOf(one), bytesOf(other));
  if (options.answer === "bytes") return bytes;
  const shown = ranges
    .filter(({ oneStart, oneEnd }) => oneEnd - oneStart + 1 >= options.rangeLengthMin)
    .map((range) => rangeReply(range, options.hasRangeLengths));
  return map([
    ["matches", shown],
    ["len", bytes.length],
  ]);
}

function readOptions({ word, integer: readInteger, argCount }: Call): LcsOptions {
  let wantsLength = false;
  let wantsRanges = false;
  let rangeLengthMin: number | bigint = 0;
  let hasRangeLengths = false;
  for (let i = 3; i < argCount; i += 1) {
    const option = word(i);
    if (option === "LEN") wantsLength = true;
    else if (option === "IDX") wantsRanges = true;
    else if (option === "WITHMATCHLEN") hasRangeLengths = true;
    else if (option === "MINMATCHLEN" && i + 1 < argCount) {
      i += 1;
      rangeLengthMin = readInteger(i);
    } else throw syntaxError;
  }
  if (wantsLength && wantsRanges) throw lcsLengthAndIndexes;
  return { answer: wantsRanges ? "ranges" : wantsLength ? "length" : "bytes", rangeLengthMin, hasRangeLengths };
}

function rangeReply({ oneStart, oneEnd, otherStart, otherEnd }: MatchRange, hasLength: boolean): Reply {
  const places: Reply[] = [
    [oneStart, oneEnd],
    [otherStart, otherEnd],
  ];
  if (hasLength) places.push(oneEnd - oneStart + 1);
  return places;
}
