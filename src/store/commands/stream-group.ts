/**
 * Consumer groups. A group delivers each entry to one of its consumers and keeps
 * it pending until the consumer acknowledges it; others may claim entries that
 * have been pending for too long.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, firstKey, noKeys, type Row, secondKey } from "../command.ts";
import {
  type CommandError,
  claimCountNotPositive,
  entriesReadNegative,
  groupExists,
  groupNeedsStream,
  invalidClaim,
  noSuchGroup,
  noSuchKeyOrGroup,
  subcommandSyntax,
  syntaxError,
  unknownClaimOption,
  wrongType,
} from "../errors.ts";
import { removeEntries } from "../mutations/stream.ts";
import { acknowledgeEntries, addConsumer, putGroup, removeConsumer, removeGroup } from "../mutations/stream-group.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, nil, nilArray, ok, one, type Reply, zero } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import type { StreamEntry } from "../structures/stream-chunk.ts";
import { compareIds, formatId, ID_MAX, ID_MIN, parseExactId, type StreamId } from "../structures/stream-id.ts";
import { StreamValue } from "../values/stream.ts";
import type { Delivery, Pending, StreamGroup } from "../values/stream-group.ts";
import { inserted, reduced, updated } from "./command-keys.ts";
import { helpRow } from "./help.ts";
import { anyId, exactId, exactIds, rangeStart, rangeStop, readRemoval } from "./stream-arguments.ts";
import { assignTo, noteConsumer } from "./stream-read.ts";
import { countEntry, entryReply } from "./stream-reply.ts";

const helpLines: readonly string[] = [
  "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "CREATE <key> <groupname> <id|$> [MKSTREAM] [ENTRIESREAD entries_read]",
  "    Create a group that reads the entries after the id.",
  "CREATECONSUMER <key> <groupname> <consumer>",
  "    Create a consumer in a group.",
  "DELCONSUMER <key> <groupname> <consumer>",
  "    Remove a consumer, and return its number of pending entries.",
  "DESTROY <key> <groupname>",
  "    Remove a group.",
  "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
  "    Set the id after which a group reads.",
];

export const xgroupRow: Row = {
  name: "XGROUP",
  summary: "Commands for groups and consumers",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "CREATE",
      summary: "Creates a group",
      arity: -5,
      flags: ["write", "denyoom"],
      keys: secondKey,
      keyUses: [inserted],
      run: createGroup,
    },
    {
      name: "CREATECONSUMER",
      summary: "Creates a consumer in a group",
      arity: 5,
      flags: ["write", "denyoom"],
      keys: secondKey,
      keyUses: [inserted],
      run: (call) => {
        const { keyspace, arg, nowMs } = call;
        const { group } = existingGroup(call);
        if (group.consumers.has(arg(4))) return zero;
        addConsumer(keyspace, { key: arg(2), group: arg(3) }, { name: arg(4), seenMs: nowMs });
        keyspace.notify(events["xgroup-createconsumer"], arg(2));
        return one;
      },
    },
    {
      name: "DELCONSUMER",
      summary: "Removes a consumer and its pending entries",
      arity: 5,
      flags: ["write"],
      keys: secondKey,
      keyUses: [reduced],
      run: (call) => {
        const { keyspace, arg } = call;
        const consumer = existingGroup(call).group.consumers.get(arg(4));
        if (consumer === undefined) return zero;
        const pendingCount = consumer.pending.size;
        removeConsumer(keyspace, { key: arg(2), group: arg(3) }, arg(4));
        keyspace.notify(events["xgroup-delconsumer"], arg(2));
        return pendingCount;
      },
    },
    {
      name: "DESTROY",
      summary: "Removes a group",
      arity: 4,
      flags: ["write"],
      keys: secondKey,
      keyUses: [reduced],
      run: ({ keyspace, arg }) => {
        const stream = keyspace.readStream(arg(2));
        if (stream === undefined) throw groupNeedsStream;
        if (stream.group(arg(3)) === undefined) return zero;
        removeGroup(keyspace, { key: arg(2), group: arg(3) });
        keyspace.notify(events["xgroup-destroy"], arg(2));
        return one;
      },
    },
    helpRow(helpLines, { categories: ["stream"] }),
    {
      name: "SETID",
      summary: "Sets the last delivered id of a group",
      arity: -5,
      flags: ["write"],
      keys: secondKey,
      keyUses: [updated],
      run: (call) => {
        const { keyspace, arg, argCount } = call;
        const { readCount } = readGroupOptions(call, false);
        const { stream } = existingGroup(call);
        if (argCount !== 5 && argCount !== 7) throw subcommandSyntax("XGROUP", arg(1));
        const lastId = arg(4) === "$" ? stream.lastId : anyId(call, 4);
        putGroup(keyspace, { key: arg(2), group: arg(3) }, { lastId, readCount: atMostAdded(readCount, stream) });
        keyspace.notify(events["xgroup-setid"], arg(2));
        return ok;
      },
    },
  ],
  run: () => nil,
};

export const xackRow: Row = {
  name: "XACK",
  summary: "Acknowledges pending entries and returns how many were pending",
  arity: -4,
  flags: ["write", "fast"],
  notifiesMisses: true,
  keys: firstKey,
  keyUses: [updated],
  run: (call) => {
    const { keyspace, arg } = call;
    const stream = keyspace.readStream(arg(1));
    const group = stream?.group(arg(2));
    if (stream === undefined || group === undefined) return zero;
    const ids = distinctPending(group, exactIds(call, 3));
    if (ids.length > 0) acknowledgeEntries(keyspace, { key: arg(1), group: arg(2) }, { stream, group, ids });
    return ids.length;
  },
};

export const xackdelRow: Row = {
  name: "XACKDEL",
  summary: "Acknowledges entries and removes them from the stream",
  arity: -6,
  flags: ["write", "fast"],
  keys: firstKey,
  keyUses: [reduced],
  run: xackdel,
};

export const xpendingRow: Row = {
  name: "XPENDING",
  summary: "Returns the pending entries of a group, as a summary or a list",
  arity: -3,
  flags: ["readonly"],
  keys: firstKey,
  run: xpending,
};

export const xclaimRow: Row = {
  name: "XCLAIM",
  summary: "Assigns pending entries to another consumer",
  arity: -6,
  flags: ["write", "fast"],
  notifiesMisses: true,
  keys: firstKey,
  keyUses: [updated],
  run: xclaim,
};

export const xautoclaimRow: Row = {
  name: "XAUTOCLAIM",
  summary: "Assigns entries that have been pending for long to another consumer",
  arity: -6,
  flags: ["write", "fast"],
  notifiesMisses: true,
  keys: firstKey,
  keyUses: [reduced],
  run: xautoclaim,
};

/** The group in words 2 and 3. */
function existingGroup({ keyspace, arg }: Call): { stream: StreamValue; group: StreamGroup } {
  const stream = keyspace.readStream(arg(2));
  if (stream === undefined) throw groupNeedsStream;
  const group = stream.group(arg(3));
  if (group === undefined) throw noSuchGroup(arg(2), arg(3));
  return { stream, group };
}

function readGroupOptions(call: Call, isCreating: boolean): { makesStream: boolean; readCount: number | undefined } {
  const { arg, word, argCount } = call;
  let makesStream = false;
  let readCount: number | undefined;
  for (let i = 5; i < argCount; i += 1) {
    if (isCreating && word(i) === "MKSTREAM") {
      makesStream = true;
    } else if (word(i) === "ENTRIESREAD" && i + 1 < argCount) {
      i += 1;
      const count = call.count(i);
      if (count < -1) throw entriesReadNegative;
      readCount = count === -1 ? undefined : count;
    } else {
      throw subcommandSyntax("XGROUP", arg(1));
    }
  }
  return { makesStream, readCount };
}

/** A group has read no more entries than were added. */
function atMostAdded(readCount: number | undefined, stream: StreamValue | undefined): number | undefined {
  return readCount === undefined ? undefined : Math.min(readCount, stream?.addedCount ?? 0);
}

/** As in Redis: MKSTREAM and ENTRIESREAD once each. */
const CREATE_WORDS_MAX = 8;

function createGroup(call: Call): Reply {
  const { keyspace, arg, argCount } = call;
  const { makesStream, readCount } = readGroupOptions(call, true);
  const stream = keyspace.readStream(arg(2));
  if (stream === undefined && !makesStream) throw groupNeedsStream;
  if (argCount > CREATE_WORDS_MAX) throw subcommandSyntax("XGROUP", arg(1));
  const lastId = arg(4) === "$" ? (stream?.lastId ?? ID_MIN) : exactId(call, 4);
  if (stream?.group(arg(3)) !== undefined) throw groupExists;
  putGroup(keyspace, { key: arg(2), group: arg(3) }, { lastId, readCount: atMostAdded(readCount, stream) });
  keyspace.notify(events["xgroup-create"], arg(2));
  return ok;
}

/** The ids that are pending in the group, without duplicates. */
function distinctPending(group: StreamGroup, ids: readonly StreamId[]): readonly StreamId[] {
  // Usually only one.
  if (ids.length === 1) return group.pending.find(ids[0] as StreamId) === undefined ? [] : ids;
  const seen = new Set<Pending>();
  return ids.filter((id) => {
    const pending = group.pending.find(id);
    if (pending === undefined || seen.has(pending)) return false;
    return seen.add(pending).size > 0;
  });
}

const NOT_FOUND = -1;
const REMOVED = 1;
const STILL_REFERENCED = 2;

/**
 * As Redis, except for an entry that the group has read and no longer has pending: it was acknowledged before, and is
 * removed, as the clients of the hosted service expect.
 */
function xackdel(call: Call): Reply {
  const { keyspace, arg } = call;
  const { references, ids } = readRemoval(call, 3);
  const key = arg(1);
  const stream = keyspace.readStream(key);
  const group = stream?.group(arg(2));
  if (stream === undefined || group === undefined) return ids.map(() => NOT_FOUND);
  const pending = distinctPending(group, ids);
  const isPending = new Set(pending);
  if (pending.length > 0) acknowledgeEntries(keyspace, { key, group: arg(2) }, { stream, group, ids: pending });
  const outcomes = new Map<Bytes, number>();
  const removed: StreamId[] = [];
  let removesEntries = false;
  const reply = ids.map((id) => {
    const text = formatId(id);
    const before = outcomes.get(text);
    if (before !== undefined) return before === STILL_REFERENCED ? STILL_REFERENCED : NOT_FOUND;
    const exists = stream.entries.has(id);
    const isRead = isPending.has(id) || (exists && compareIds(id, group.lastId) <= 0);
    const isKept = references === "obey" && stream.isReferenced(id);
    const outcome = !isRead ? NOT_FOUND : isKept ? STILL_REFERENCED : REMOVED;
    outcomes.set(text, outcome);
    // References to entries that were removed before go too.
    if (outcome === REMOVED || (references === "remove" && !exists)) removed.push(id);
    if (outcome === REMOVED && exists) removesEntries = true;
    return outcome;
  });
  if (removed.length > 0) removeEntries(keyspace, key, { ids: removed, removesReferences: references === "remove" });
  if (removesEntries) keyspace.notify(events.xdel, key);
  return reply;
}

/** The words of XPENDING with a range: without IDLE and consumer, and with both. */
const PENDING_RANGE_WORDS_MIN = 6;
const PENDING_WORDS_MAX = 9;

function xpending(call: Call): Reply {
  const { keyspace, arg, word, argCount } = call;
  const isSummary = argCount === 3;
  if (!isSummary && (argCount < PENDING_RANGE_WORDS_MIN || argCount > PENDING_WORDS_MAX)) throw syntaxError;
  const range = isSummary ? undefined : readPendingRange(call, word(3) === "IDLE");
  const group = keyspace.readStream(arg(1))?.group(arg(2));
  if (group === undefined) throw noSuchKeyOrGroup(arg(1), arg(2));
  return range === undefined ? pendingSummary(group) : pendingList(call, group, range);
}

interface PendingRange {
  readonly from: StreamId;
  readonly to: StreamId;
  readonly countMax: number;
  readonly minIdleMs: number;
  readonly consumer: Bytes | undefined;
}

function readPendingRange(call: Call, hasIdle: boolean): PendingRange {
  const { arg, argCount } = call;
  const minIdleMs = hasIdle ? call.count(4) : 0;
  const start = hasIdle ? 5 : 3;
  if (hasIdle && argCount < start + 3) throw syntaxError;
  const countMax = Math.max(0, call.count(start + 2));
  const from = rangeStart(call, start);
  const to = rangeStop(call, start + 1);
  return { from, to, countMax, minIdleMs, consumer: start + 3 < argCount ? arg(start + 3) : undefined };
}

function pendingSummary(group: StreamGroup): Reply {
  const { first, last, size } = group.pending;
  if (first === undefined || last === undefined) return [zero, nil, nil, nilArray];
  const consumers: Reply[] = [];
  for (const { name, pending } of group.sortedConsumers())
    if (pending.size > 0) consumers.push([name, `${pending.size}`]);
  return [size, formatId(first), formatId(last), consumers];
}

function pendingList({ nowMs }: Call, group: StreamGroup, range: PendingRange): Reply {
  const { from, to, countMax, minIdleMs } = range;
  const consumer = range.consumer === undefined ? undefined : group.consumers.get(range.consumer);
  if ((range.consumer !== undefined && consumer === undefined) || countMax === 0) return emptyArray;
  const found: Reply[] = [];
  const budget = new ReplyBudget();
  (consumer ?? group).pending.visit(from, to, (pending) => {
    const idleMs = nowMs - pending.deliveredAtMs;
    if (minIdleMs !== 0 && idleMs < minIdleMs) return true;
    budget.take(pending.consumer.name.length);
    found.push([formatId(pending), pending.consumer.name, Math.max(0, idleMs), pending.deliveryCount]);
    return found.length < countMax;
  });
  return found;
}

/** A word as an integer. Throws this error for anything else. */
function integerOr({ arg }: Call, index: number, error: CommandError): number {
  const value = parseInteger(arg(index));
  if (value === undefined) throw error;
  if (typeof value === "number") return value;
  return value > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
}

interface ClaimOptions {
  readonly ids: readonly StreamId[];
  readonly minIdleMs: number;
  readonly deliveredAtMs: number;
  readonly deliveryCount: number | undefined;
  readonly isForced: boolean;
  readonly idsOnly: boolean;
  readonly lastId: StreamId;
}

function readClaim(call: Call): ClaimOptions {
  const { arg, word, argCount, nowMs } = call;
  const minIdleMs = Math.max(0, integerOr(call, 4, invalidClaim("min-idle-time argument", "XCLAIM")));
  const ids: StreamId[] = [];
  let i = 5;
  for (; i < argCount; i += 1) {
    const id = parseExactId(arg(i), 0);
    if (id === undefined) break;
    ids.push(id);
  }
  let atMs: number | undefined;
  let deliveryCount: number | undefined;
  let isForced = false;
  let idsOnly = false;
  let lastId = ID_MIN;
  for (; i < argCount; i += 1) {
    const option = word(i);
    const hasMore = i + 1 < argCount;
    if (option === "FORCE") isForced = true;
    else if (option === "JUSTID") idsOnly = true;
    else if (option === "IDLE" && hasMore) {
      i += 1;
      atMs = nowMs - integerOr(call, i, invalidClaim("IDLE option argument", "XCLAIM"));
    } else if (option === "TIME" && hasMore) {
      i += 1;
      atMs = integerOr(call, i, invalidClaim("TIME option argument", "XCLAIM"));
    } else if (option === "RETRYCOUNT" && hasMore) {
      i += 1;
      const count = integerOr(call, i, invalidClaim("RETRYCOUNT option argument", "XCLAIM"));
      deliveryCount = count < 0 ? undefined : count;
    } else if (option === "LASTID" && hasMore) {
      i += 1;
      lastId = exactId(call, i);
    } else {
      throw unknownClaimOption(arg(i));
    }
  }
  // An impossible time counts as now: clients use clocks of their own.
  const deliveredAtMs = atMs === undefined || atMs < 0 || atMs > nowMs ? nowMs : atMs;
  return { ids, minIdleMs, deliveredAtMs, deliveryCount, isForced, idsOnly, lastId };
}

function xclaim(call: Call): Reply {
  const { keyspace, arg, nowMs } = call;
  const stream = keyspace.readStream(arg(1));
  const group = stream?.group(arg(2));
  if (stream === undefined || group === undefined) throw noSuchKeyOrGroup(arg(1), arg(2));
  const { ids, minIdleMs, deliveredAtMs, deliveryCount, isForced, idsOnly, lastId } = readClaim(call);

  const budget = new ReplyBudget();
  const found: Reply[] = [];
  const gone: StreamId[] = [];
  /** The decisions so far, by id: an id may be repeated. */
  const decided = new Map<Bytes, Delivery>();
  for (const id of ids) {
    const text = formatId(id);
    const entry = stream.entries.find(id);
    const pending = group.pending.find(id);
    const before = decided.get(text) ?? pending;
    if (entry === undefined) {
      if (pending !== undefined) gone.push(id);
      continue;
    }
    if (before === undefined && !isForced) continue;
    if (before !== undefined && minIdleMs > 0 && nowMs - before.deliveredAtMs < minIdleMs) continue;
    const count = deliveryCount ?? (before?.deliveryCount ?? 1) + (idsOnly ? 0 : 1);
    decided.set(text, { id, deliveredAtMs, deliveryCount: count });
    found.push(claimReply(entry, idsOnly, budget));
  }
  const place = { key: arg(1), group: arg(2) };
  if (compareIds(lastId, group.lastId) > 0) putGroup(keyspace, place, { lastId, readCount: group.readCount });
  const removed = distinctPending(group, gone);
  if (removed.length > 0) acknowledgeEntries(keyspace, place, { stream, group, ids: removed });
  claim(call, group, [...decided.values()]);
  return found;
}

/** Assigns entries to the consumer in word 3, which is created if missing: as in Redis, also without an entry. */
function claim({ keyspace, arg }: Call, group: StreamGroup, deliveries: readonly Delivery[]): void {
  const claimed = { groupKey: { key: arg(1), group: arg(2) }, group, consumer: arg(3) };
  if (deliveries.length === 0) noteConsumer(keyspace, claimed);
  else assignTo(keyspace, claimed, deliveries);
}

function claimReply(entry: StreamEntry, idsOnly: boolean, budget: ReplyBudget): Reply {
  if (idsOnly) {
    budget.take(0);
    return formatId(entry);
  }
  countEntry(entry, budget);
  return entryReply(entry);
}

/** As Redis: the number of pending entries to check for each requested one. */
const LOOKS_PER_CLAIM = 10;
/** As Redis, where the count is also a number of bytes to reserve. */
const CLAIM_COUNT_MAX = 2 ** 59 - 1;

function xautoclaim(call: Call): Reply {
  const { keyspace, arg, word, argCount, nowMs } = call;
  // Before anything is checked, as in Redis: it counts as a use of the key even if the command is refused later.
  const value = keyspace.find(arg(1));
  const minIdleMs = Math.max(0, integerOr(call, 4, invalidClaim("min-idle-time argument", "XAUTOCLAIM")));
  const from = rangeStart(call, 5);
  let countMax = 100;
  let idsOnly = false;
  for (let i = 6; i < argCount; i += 1) {
    if (word(i) === "COUNT" && i + 1 < argCount) {
      i += 1;
      const count = parseInteger(arg(i));
      if (count === undefined || count < 1 || count > CLAIM_COUNT_MAX) throw claimCountNotPositive;
      countMax = Number(count);
    } else if (word(i) === "JUSTID") {
      idsOnly = true;
    } else {
      throw syntaxError;
    }
  }
  if (value !== undefined && !(value instanceof StreamValue)) throw wrongType;
  const stream = value;
  const group = stream?.group(arg(2));
  if (stream === undefined || group === undefined) throw noSuchKeyOrGroup(arg(1), arg(2));

  const budget = new ReplyBudget();
  const found: Reply[] = [];
  const gone: StreamId[] = [];
  const deliveries: Delivery[] = [];
  let next: Pending | undefined;
  let looks = countMax * LOOKS_PER_CLAIM;
  group.pending.visit(from, ID_MAX, (pending) => {
    if (looks === 0 || found.length + gone.length === countMax) {
      next = pending;
      return false;
    }
    looks -= 1;
    const id = { ms: pending.ms, seq: pending.seq };
    const entry = stream.entries.find(id);
    if (entry === undefined) {
      gone.push(id);
    } else if (minIdleMs === 0 || nowMs - pending.deliveredAtMs >= minIdleMs) {
      deliveries.push({ id, deliveredAtMs: nowMs, deliveryCount: pending.deliveryCount + (idsOnly ? 0 : 1) });
      found.push(claimReply(entry, idsOnly, budget));
    }
    return true;
  });
  const cursor = formatId(next ?? ID_MIN);
  const place = { key: arg(1), group: arg(2) };
  if (gone.length > 0) acknowledgeEntries(keyspace, place, { stream, group, ids: gone });
  claim(call, group, deliveries);
  return [cursor, found, gone.map(formatId)];
}
