/** Arguments shared by stream commands: ids, ends of ranges, and trimming. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  idCountMismatch,
  idCountNotPositive,
  idempotenceNotAvailable,
  maxLengthAndMinId,
  streamEndInvalid,
  streamIdInvalid,
  streamStartInvalid,
  syntaxError,
  trimLengthNegative,
  trimLimitAlone,
  trimLimitExact,
  trimLimitNegative,
  trimWithoutStrategy,
} from "../errors.ts";
import { removeEntries, trimEntries } from "../mutations/stream.ts";
import { events } from "../observe/keyspace-events.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import {
  ID_MAX,
  ID_MIN,
  idAfter,
  idBefore,
  parseAddedId,
  parseExactId,
  parseId,
  type StreamId,
  WHOLE_MAX,
  type Whole,
} from "../structures/stream-id.ts";
import type { StreamValue } from "../values/stream.ts";

/** How removing an entry affects the groups in which it is pending. */
export type References = "keep" | "remove" | "obey";

const referencesByWord: ReadonlyMap<string, References> = new Map<string, References>([
  ["KEEPREF", "keep"],
  ["DELREF", "remove"],
  // An entry is removed only after every group has read and acknowledged it.
  ["ACKED", "obey"],
]);

/** The id at this index; `-` and `+` are not accepted. */
export function exactId({ arg }: Call, index: number, missingSeq: Whole = 0): StreamId {
  const id = parseExactId(arg(index), missingSeq);
  if (id === undefined) throw streamIdInvalid;
  return id;
}

/** The ids from one index to before another. */
export function exactIds(call: Call, from: number, to = call.argCount): StreamId[] {
  // Mostly one: a literal has room for it alone, an array that grows begins with room for 17.
  if (to === from + 1) return [exactId(call, from)];
  const ids: StreamId[] = [];
  for (let i = from; i < to; i += 1) ids.push(exactId(call, i));
  return ids;
}

/** The id at this index, or `-`, or `+`. */
export function anyId({ arg }: Call, index: number): StreamId {
  const id = parseId(arg(index), 0);
  if (id === undefined) throw streamIdInvalid;
  return id;
}

/** The start of a range, included: `(` before an id excludes that one. */
export function rangeStart(call: Call, index: number): StreamId {
  const { id, isExcluded } = rangeEnd(call.arg(index), 0);
  if (!isExcluded) return id;
  const after = idAfter(id);
  if (after === undefined) throw streamStartInvalid;
  return after;
}

/** The end of a range, included. An id without a sequence number means its last entry. */
export function rangeStop(call: Call, index: number): StreamId {
  const { id, isExcluded } = rangeEnd(call.arg(index), WHOLE_MAX);
  if (!isExcluded) return id;
  const before = idBefore(id);
  if (before === undefined) throw streamEndInvalid;
  return before;
}

function rangeEnd(text: Bytes, missingSeq: Whole): { id: StreamId; isExcluded: boolean } {
  const isExcluded = text.length > 1 && text.startsWith("(");
  const id = isExcluded ? parseExactId(text.slice(1), missingSeq) : parseId(text, missingSeq);
  if (id === undefined) throw streamIdInvalid;
  return { id, isExcluded };
}

/** As Redis: trimming with `~` and without LIMIT removes at most this many entries at once. */
const TRIMMED_MAX = 10_000;

/** As the hosted service: trimming with `~` begins when at least this many entries are too many. */
const APPROXIMATE_EXCESS_MIN = 100;

/** How to trim a stream. */
export interface Trimming {
  /** Keep this many entries, or those from an id on. */
  readonly bound: { readonly lengthMax: number } | { readonly minId: StreamId };
  /** Nothing is removed while fewer entries are too many. */
  readonly excessMin: number;
  /** The most entries to remove. */
  readonly countMax: number;
  readonly references: References;
}

export interface TrimmingOptions {
  readonly trimming: Trimming | undefined;
  readonly makesStream: boolean;
  /** The index of the first word that is not an option: with XADD the id. */
  readonly end: number;
  /** With XADD, the id; without `seq` for `ms-*`, absent for `*`. */
  readonly id: { readonly ms: Whole; readonly seq: Whole | undefined } | undefined;
}

/** The options of XADD, up to the id, or all options of XTRIM. */
export function readTrimming(call: Call, isAdding: boolean): TrimmingOptions {
  const { arg, word, argCount } = call;
  let bound: Trimming["bound"] | undefined;
  let isApproximate = false;
  let limit: number | undefined;
  let references: References | undefined;
  let makesStream = true;
  let id: TrimmingOptions["id"];
  let i = 2;
  for (; i < argCount; i += 1) {
    if (isAdding && arg(i) === "*") break;
    if (isAdding && beginsWithDigit(arg(i))) {
      // No option begins with a digit: looking it up among them would take as long as all the rest.
      id = addedId(arg(i));
      break;
    }
    const option = word(i);
    const isLast = i + 1 === argCount;
    const wanted = referencesByWord.get(option);
    if ((option === "MAXLEN" || option === "MINID") && !isLast) {
      if (bound !== undefined) throw maxLengthAndMinId;
      const sign = arg(i + 1);
      const hasSign = (sign === "~" || sign === "=") && i + 2 < argCount;
      isApproximate = hasSign && sign === "~";
      i += hasSign ? 2 : 1;
      if (option === "MINID") {
        bound = { minId: exactId(call, i) };
      } else {
        const lengthMax = call.count(i);
        if (lengthMax < 0) throw trimLengthNegative;
        bound = { lengthMax };
      }
    } else if (option === "LIMIT" && !isLast) {
      i += 1;
      limit = call.count(i);
      if (limit < 0) throw trimLimitNegative;
    } else if (isAdding && option === "NOMKSTREAM") {
      makesStream = false;
    } else if (wanted !== undefined && references === undefined) {
      references = wanted;
    } else if (isAdding) {
      if (option === "IDMP" || option === "IDMPAUTO") throw idempotenceNotAvailable;
      id = addedId(arg(i));
      break;
    } else {
      throw syntaxError;
    }
  }
  if (limit !== undefined && limit !== 0 && bound === undefined) throw trimLimitAlone;
  if (!isAdding && bound === undefined) throw trimWithoutStrategy;
  if (limit !== undefined && !isApproximate) throw trimLimitExact;
  const limited = limit ?? (isApproximate ? TRIMMED_MAX : 0);
  const countMax = limited === 0 ? Number.POSITIVE_INFINITY : limited;
  const excessMin = isApproximate ? APPROXIMATE_EXCESS_MIN : 1;
  const trimming = bound && { bound, excessMin, countMax, references: references ?? "keep" };
  return { trimming, makesStream, end: i, id };
}

function beginsWithDigit(text: Bytes): boolean {
  const code = text.charCodeAt(0);
  return code >= 48 && code <= 57;
}

function addedId(text: Bytes): NonNullable<TrimmingOptions["id"]> {
  const id = parseAddedId(text);
  if (id === undefined) throw streamIdInvalid;
  return id;
}

/** Trims a stream and returns the number of removed entries. */
export function trimStream({ keyspace }: Call, key: Bytes, from: { stream: StreamValue; trimming: Trimming }): number {
  const { stream, trimming } = from;
  const { bound, excessMin, countMax, references } = trimming;
  const { entries } = stream;
  const excess =
    "minId" in bound
      ? entries.countBefore(bound.minId, Math.min(Math.max(countMax, excessMin), entries.length))
      : entries.length - bound.lengthMax;
  if (excess < excessMin) return 0;
  const count = Math.min(excess, countMax);
  if (references !== "obey") {
    trimEntries(keyspace, key, { count, removesReferences: references === "remove" });
    keyspace.notify(events.xtrim, key);
    return count;
  }
  const ids: StreamId[] = [];
  let left = count;
  entries.visit(ID_MIN, ID_MAX, (entry) => {
    if (!stream.isReferenced(entry)) ids.push({ ms: entry.ms, seq: entry.seq });
    left -= 1;
    return left > 0;
  });
  if (ids.length > 0) {
    removeEntries(keyspace, key, { ids, removesReferences: false });
    keyspace.notify(events.xtrim, key);
  }
  return ids.length;
}

/** Reads the arguments of XDELEX and XACKDEL from an index on: KEEPREF, DELREF or ACKED, and IDS with its ids. */
export function readRemoval(call: Call, from: number): { references: References; ids: readonly StreamId[] } {
  const { arg, word, argCount } = call;
  let references: References | undefined;
  let ids: readonly StreamId[] | undefined;
  for (let i = from; i < argCount; i += 1) {
    const wanted = referencesByWord.get(word(i));
    if (wanted !== undefined && references === undefined) {
      references = wanted;
    } else if (word(i) === "IDS" && ids === undefined && i + 1 < argCount) {
      const count = parseInteger(arg(i + 1));
      if (count === undefined || count <= 0) throw idCountNotPositive;
      const end = i + 2 + Number(count);
      if (end > argCount) throw idCountMismatch;
      ids = exactIds(call, i + 2, end);
      i = end - 1;
    } else {
      throw syntaxError;
    }
  }
  if (ids === undefined) throw syntaxError;
  return { references: references ?? "keep", ids };
}
