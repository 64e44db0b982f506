/**
 * A walk over sorted terms as over a trie: an automaton reads the code points of each prefix once, and terms below a
 * prefix that it refuses are skipped by their common beginnings, without being read.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import type { InSlices, Spend } from "../../slices.ts";
import type { Term } from "../index-reader.ts";
import { codePointAt, decoding, INVALID, SEQUENCE_BYTES_MAX } from "./code-points.ts";
import { COMMON_MAX, type SortedTerms, type TermBlock, type Tokens } from "./sorted-terms.ts";

/** What an automaton says of a prefix: nothing that begins with it matches, everything does, or it depends. */
export type Verdict = "refused" | "accepted" | "open";

/** It keeps a state for each depth, which is a number of code points; `read` replaces that of the next depth. */
export interface PrefixAutomaton {
  /** The steps of one call of `read`. */
  readonly readSteps: number;
  /** Of the empty prefix. */
  readonly begin: () => Verdict;
  /** Reads the code point after a prefix of `depth` code points. */
  readonly read: (depth: number, code: number) => Verdict;
  /** Whether a prefix that is open matches as a whole. */
  readonly isMatch: (depth: number) => boolean;
}

/** The steps of passing over a block. */
const BLOCK_STEPS = 20;
/** Steps are reported this often. */
const STEPS_OF_A_REPORT = 1_000;

/** Calls `take` for each term that the automaton matches, in the order of their bytes. */
export function* walkTerms(
  automaton: PrefixAutomaton,
  dictionary: { readonly sorted: SortedTerms; readonly tokens: Tokens },
  { take, spend }: { readonly take: (term: Term) => void; readonly spend: Spend },
): InSlices<void> {
  const { sorted, tokens } = dictionary;
  /** By depth, where its prefix ends in the last term that was read. */
  const ends: number[] = [0];
  /** By depth, how many bytes of a term decide that it has this prefix: those after an invalid byte count too. */
  const readBytes: number[] = [0];
  let depth = 0;
  let verdict = automaton.begin();
  /** Terms with as many bytes in common have the same verdict, unless it is "open". */
  let decidedBytes = 0;
  let last: Bytes = "";
  let steps = 0;
  for (const { terms, commons, count } of sorted.blocks) {
    steps += BLOCK_STEPS;
    for (let i = 0; i < count; i += 1) {
      let common = commons[i] as number;
      if (verdict === "refused" && common >= decidedBytes) continue;
      const term = terms[i] as Term;
      const token = tokens.at(term) as Bytes;
      if (common === COMMON_MAX) common = commonFrom(last, token);
      if (verdict !== "open") {
        if (common >= decidedBytes) {
          if (verdict === "accepted") take(term);
          steps += 1;
          continue;
        }
        verdict = "open";
      }
      while ((readBytes[depth] as number) > common) depth -= 1;
      let at = ends[depth] as number;
      while (at < token.length && verdict === "open") {
        const code = codePointAt(token, at);
        const decided = code < INVALID ? decoding.end : at + SEQUENCE_BYTES_MAX;
        at = decoding.end;
        verdict = automaton.read(depth, code);
        readBytes[depth + 1] = Math.max(decided, readBytes[depth] as number);
        depth += 1;
        ends[depth] = at;
        steps += automaton.readSteps;
      }
      last = token;
      if (verdict === "open") {
        if (automaton.isMatch(depth)) take(term);
      } else {
        decidedBytes = readBytes[depth] as number;
        if (verdict === "accepted") take(term);
      }
      if (steps >= STEPS_OF_A_REPORT) {
        if (spend(steps)) yield;
        steps = 0;
      }
    }
    if (steps >= STEPS_OF_A_REPORT) {
      if (spend(steps)) yield;
      steps = 0;
    }
  }
  spend(steps);
}

/** Whether an automaton matches one token. */
export function matchesToken(automaton: PrefixAutomaton, token: Bytes, spend: Spend): boolean {
  let verdict = automaton.begin();
  let depth = 0;
  for (let at = 0; at < token.length && verdict === "open"; at = decoding.end) {
    const code = codePointAt(token, at);
    verdict = automaton.read(depth, code);
    depth += 1;
  }
  spend(1 + depth * automaton.readSteps);
  return verdict === "accepted" || (verdict === "open" && automaton.isMatch(depth));
}

/** Terms of a prefix between two calls of `spend`, and the steps of each. */
const PREFIX_STRIDE = 100;
const TERM_STEPS = 5;

/** Calls `take` for the terms that begin with a prefix, in the order of their bytes, until it returns false. */
export function* walkPrefix(
  prefix: Bytes,
  dictionary: { readonly sorted: SortedTerms; readonly tokens: Tokens },
  { take, spend }: { readonly take: (term: Term) => boolean; readonly spend: Spend },
): InSlices<void> {
  const { sorted, tokens } = dictionary;
  let { block, at } = sorted.lowerBound(prefix);
  let passed = 0;
  spend(BLOCK_STEPS);
  for (; block < sorted.blocks.length; block += 1, at = 0) {
    const { terms, count } = sorted.blocks[block] as TermBlock;
    for (; at < count; at += 1) {
      const term = terms[at] as Term;
      const isTaken = (tokens.at(term) as Bytes).startsWith(prefix) && take(term);
      passed += 1;
      if (passed % PREFIX_STRIDE === 0 && spend(PREFIX_STRIDE * TERM_STEPS)) yield;
      if (isTaken) continue;
      spend((passed % PREFIX_STRIDE) * TERM_STEPS);
      return;
    }
  }
  spend((passed % PREFIX_STRIDE) * TERM_STEPS);
}

function commonFrom(one: Bytes, other: Bytes): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one.charCodeAt(count) === other.charCodeAt(count)) count += 1;
  return count;
}
