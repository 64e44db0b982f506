/**
 * Stream commands. A stream is a log of entries with increasing ids, each with a
 * few pairs of a name and a value; consumer groups are in `stream-group.ts`. A
 * stream without entries exists too.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey, streamKeys } from "../command.ts";
import {
  type CommandError,
  entriesAddedBelowLength,
  entriesAddedNegative,
  noSuchKey,
  setIdBelowDeleted,
  setIdBelowGivenDeleted,
  setIdBelowTop,
  streamExhausted,
  streamIdNotGreater,
  streamIdZero,
  syntaxError,
  wrongArity,
} from "../errors.ts";
import { addEntry, removeEntries, setStreamState } from "../mutations/stream.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, nil, nilArray, ok, type Reply, zero } from "../reply/reply.ts";
import {
  compareIds,
  formatId,
  ID_MIN,
  idAfter,
  isZeroId,
  plusOne,
  type StreamId,
  WHOLE_MAX,
  type Whole,
} from "../structures/stream-id.ts";
import type { StreamValue } from "../values/stream.ts";
import { looked, read, reduced, updated } from "./command-keys.ts";
import { exactId, exactIds, rangeStart, rangeStop, readRemoval, readTrimming, trimStream } from "./stream-arguments.ts";
import { xread, xreadgroup } from "./stream-blocking.ts";
import { xackdelRow, xackRow, xautoclaimRow, xclaimRow, xgroupRow, xpendingRow } from "./stream-group.ts";
import { xinfoRow } from "./stream-info.ts";
import { rangeReply } from "./stream-reply.ts";

export const streamCommands = family("stream", [
  xackRow,
  xackdelRow,
  {
    name: "XADD",
    summary: "Adds an entry, optionally trims the stream, and returns the id",
    arity: -5,
    flags: ["write", "denyoom", "fast"],
    // May trim the stream.
    isQuick: false,
    keys: firstKey,
    keyUses: [updated],
    run: xadd,
  },
  xautoclaimRow,
  xclaimRow,
  {
    name: "XDEL",
    summary: "Removes entries and returns the number removed",
    arity: -3,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [reduced],
    run: xdel,
  },
  {
    name: "XDELEX",
    summary: "Removes entries, and keeps, removes or respects the references of groups",
    arity: -5,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [reduced],
    run: xdelex,
  },
  xgroupRow,
  xinfoRow,
  {
    name: "XLEN",
    summary: "Returns the number of entries",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => keyspace.readStream(arg(1))?.length ?? zero,
  },
  xpendingRow,
  {
    name: "XRANGE",
    summary: "Returns the entries between two ids",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => xrange(call, { startAt: 2, stopAt: 3, isBackwards: false }),
  },
  {
    name: "XREAD",
    summary: "Returns the entries of streams after the given ids",
    arity: -4,
    flags: ["readonly", "blocking", "movablekeys"],
    keys: streamKeys,
    run: xread,
  },
  {
    name: "XREADGROUP",
    summary: "Returns new entries to a consumer of a group, or its pending ones",
    arity: -7,
    flags: ["write", "blocking", "movablekeys"],
    notifiesMisses: true,
    keys: streamKeys,
    keyUses: [read],
    run: xreadgroup,
  },
  {
    name: "XREVRANGE",
    summary: "Returns the entries between two ids, in reverse order",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => xrange(call, { startAt: 3, stopAt: 2, isBackwards: true }),
  },
  {
    name: "XSETID",
    summary: "Sets the last id of a stream, and its counters of removed entries",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: xsetid,
  },
  {
    name: "XTRIM",
    summary: "Removes the oldest entries and returns the number removed",
    arity: -4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: (call) => {
      const { trimming } = readTrimming(call, false);
      const key = call.arg(1);
      const stream = call.keyspace.readStream(key);
      return stream === undefined || trimming === undefined ? zero : trimStream(call, key, { stream, trimming });
    },
  },
]);

function xadd(call: Call): Reply {
  const { keyspace, arg, argCount, command } = call;
  const { trimming, makesStream, end, id: wanted } = readTrimming(call, true);
  const start = end + 1;
  const wordCount = argCount - start;
  if (wordCount < 2 || wordCount % 2 === 1) throw wrongArity(command.name);
  if (wanted?.seq === 0 && wanted.ms === 0) throw streamIdZero;
  const key = arg(1);
  const stream = keyspace.readStream(key);
  if (stream === undefined && !makesStream) return nil;
  const lastId = stream?.lastId ?? ID_MIN;
  if (lastId.ms === WHOLE_MAX && lastId.seq === WHOLE_MAX) throw streamExhausted;
  const id = chooseId(lastId, wanted, keyspace.nowMs);
  const pairCount = wordCount / 2;
  // Arrays that grow reserve more room than they need.
  const names: Bytes[] = new Array(pairCount);
  const values: Bytes[] = new Array(pairCount);
  for (let i = 0; i < pairCount; i += 1) {
    names[i] = arg(start + 2 * i);
    values[i] = arg(start + 2 * i + 1);
  }
  addEntry(keyspace, key, { id, content: { names, values } });
  keyspace.notify(events.xadd, key);
  const text = formatId(id);
  if (trimming === undefined) return text;
  // `peek` does not count as a use: the key was looked up once, as in Redis.
  trimStream(call, key, { stream: stream ?? (keyspace.peek(key) as StreamValue), trimming });
  return text;
}

/** The id of the new entry: the requested one, or the next one at this time. */
function chooseId(
  lastId: StreamId,
  wanted: { readonly ms: Whole; readonly seq: Whole | undefined } | undefined,
  nowMs: number,
): StreamId {
  if (wanted === undefined) {
    if (lastId.ms < nowMs) return { ms: nowMs, seq: 0 };
    return idAfter(lastId) ?? fail(streamExhausted);
  }
  const { ms, seq } = wanted;
  if (seq !== undefined) {
    if (compareIds(wanted as StreamId, lastId) <= 0) throw streamIdNotGreater;
    return { ms, seq };
  }
  if (ms !== lastId.ms) return ms > lastId.ms ? { ms, seq: 0 } : fail(streamIdNotGreater);
  return lastId.seq === WHOLE_MAX ? fail(streamIdNotGreater) : { ms, seq: plusOne(lastId.seq) };
}

function fail(error: CommandError): never {
  throw error;
}

function xdel(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const stream = keyspace.readStream(key);
  if (stream === undefined) return zero;
  const ids = distinctEntries(stream, exactIds(call, 2));
  if (ids.length > 0) {
    removeEntries(keyspace, key, { ids, removesReferences: false });
    keyspace.notify(events.xdel, key);
  }
  return ids.length;
}

/** The ids that exist in the stream, without duplicates. */
function distinctEntries(stream: StreamValue, ids: readonly StreamId[]): StreamId[] {
  const seen = new Set<Bytes>();
  return ids.filter((id) => {
    const text = formatId(id);
    if (seen.has(text) || !stream.entries.has(id)) return false;
    return seen.add(text).size > 0;
  });
}

const NOT_FOUND = -1;
const REMOVED = 1;
const STILL_REFERENCED = 2;

function xdelex(call: Call): Reply {
  const { keyspace, arg } = call;
  const { references, ids } = readRemoval(call, 2);
  const key = arg(1);
  const stream = keyspace.readStream(key);
  if (stream === undefined) return ids.map(() => NOT_FOUND);
  const found = new Set(distinctEntries(stream, ids));
  const outcomes = ids.map((id) => {
    if (!found.has(id)) return NOT_FOUND;
    return references === "obey" && stream.isReferenced(id) ? STILL_REFERENCED : REMOVED;
  });
  const removesReferences = references === "remove";
  // References to entries that were deleted before are removed too.
  const removed = ids.filter((_, i) => removesReferences || outcomes[i] === REMOVED);
  if (removed.length > 0) removeEntries(keyspace, key, { ids: removed, removesReferences });
  if (outcomes.includes(REMOVED)) keyspace.notify(events.xdel, key);
  return outcomes;
}

function xrange(call: Call, places: { startAt: number; stopAt: number; isBackwards: boolean }): Reply {
  const { keyspace, arg, word, argCount } = call;
  const from = rangeStart(call, places.startAt);
  const to = rangeStop(call, places.stopAt);
  let countMax: number | undefined;
  for (let i = 4; i < argCount; i += 2) {
    if (word(i) !== "COUNT" || i + 1 === argCount) throw syntaxError;
    countMax = Math.max(0, call.count(i + 1));
  }
  const stream = keyspace.readStream(arg(1));
  if (stream === undefined) return emptyArray;
  if (countMax === 0) return nilArray;
  const range = { from, to, countMax: countMax ?? Number.POSITIVE_INFINITY, isBackwards: places.isBackwards };
  return rangeReply(stream, range, new ReplyBudget());
}

function xsetid(call: Call): Reply {
  const { keyspace, arg, word, argCount } = call;
  const lastId = exactId(call, 2);
  let addedCount: number | undefined;
  let maxDeletedId = ID_MIN;
  for (let i = 3; i < argCount; i += 2) {
    if (i + 1 === argCount) throw syntaxError;
    const option = word(i);
    if (option === "ENTRIESADDED") {
      addedCount = call.count(i + 1);
      if (addedCount < 0) throw entriesAddedNegative;
    } else if (option === "MAXDELETEDID") {
      maxDeletedId = exactId(call, i + 1);
      if (compareIds(lastId, maxDeletedId) < 0) throw setIdBelowGivenDeleted;
    } else {
      throw syntaxError;
    }
  }
  const key = arg(1);
  const stream = keyspace.readStream(key);
  if (stream === undefined) throw noSuchKey;
  if (compareIds(lastId, stream.maxDeletedId) < 0) throw setIdBelowDeleted;
  const last = stream.entries.last;
  if (last !== undefined) {
    if (compareIds(lastId, last) < 0) throw setIdBelowTop;
    if (addedCount !== undefined && addedCount < stream.length) throw entriesAddedBelowLength;
  }
  const state = {
    lastId,
    addedCount: addedCount ?? stream.addedCount,
    maxDeletedId: isZeroId(maxDeletedId) ? stream.maxDeletedId : maxDeletedId,
  };
  const isChange =
    compareIds(state.lastId, stream.lastId) !== 0 ||
    state.addedCount !== stream.addedCount ||
    compareIds(state.maxDeletedId, stream.maxDeletedId) !== 0;
  if (isChange) setStreamState(keyspace, key, state);
  keyspace.notify(events.xsetid, key);
  return ok;
}
