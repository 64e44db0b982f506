/**
 * The reads of XREAD and XREADGROUP, in two parts, so that a waiting client can
 * repeat its request: `readRequest` parses the arguments, and replaces `$` by the
 * current last id, and `serveRead` returns the reply, or undefined if there are no
 * entries. Waiting is in `stream-blocking.ts`.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  type CommandError,
  claimOnlyXreadgroup,
  claimTimeNegative,
  claimTimeNotInteger,
  groupMissing,
  groupOnlyXreadgroup,
  lastEntryInGroup,
  lastIdInGroup,
  newIdWithoutGroup,
  noackOnlyXreadgroup,
  noSuchKeyOrGroup,
  pendingTooMany,
  streamIdInvalid,
  syntaxError,
  timeoutNegative,
  timeoutNotInteger,
  timeoutOutOfRange,
  unbalancedStreams,
} from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import {
  addConsumer,
  assignEntries,
  deliverEntries,
  type GroupKey,
  noteActive,
  noteSeen,
  passEntries,
} from "../mutations/stream-group.ts";
import { events } from "../observe/keyspace-events.ts";
import { REPLY_BYTES_MAX, ReplyBudget } from "../reply/budget.ts";
import { nilArray, pairs, type Reply } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { compareIds, formatId, ID_MAX, ID_MIN, idAfter, parseExactId, type StreamId } from "../structures/stream-id.ts";
import { StreamValue } from "../values/stream.ts";
import type { Delivery, StreamGroup } from "../values/stream-group.ts";
import { claimable, orderPending } from "./stream-claim.ts";
import { countEntry, entryReply, rangeReply } from "./stream-reply.ts";

/** A read of one stream. */
interface StreamRead {
  readonly key: Bytes;
  /** Entries after this id, or those that the group has not delivered yet, or the last one. */
  readonly after: StreamId | "new" | "last";
}

export interface ReadRequest {
  readonly reads: readonly StreamRead[];
  readonly countMax: number;
  /** How long the caller would wait, in ms; 0 means no timeout. */
  readonly blockMs: number | undefined;
  readonly group: GroupRequest | undefined;
}

interface GroupRequest {
  readonly name: Bytes;
  readonly consumer: Bytes;
  /** False with NOACK, which acknowledges new entries as they are read. */
  readonly isPending: boolean;
  /** With CLAIM, entries that have been pending for this long are read before new ones. */
  readonly claimMs: number | undefined;
  /** The limit of pending entries for a consumer; 0 means no limit. */
  readonly pendingMax: number;
}

/** Reads the arguments. Throws Redis' errors for them, and `noSuchKeyOrGroup`. */
export function readRequest(call: Call, isGroup: boolean): ReadRequest {
  const { arg, word, argCount } = call;
  let countMax = 0;
  let blockMs: number | undefined;
  let names: { name: Bytes; consumer: Bytes } | undefined;
  let isPending = true;
  let claimMs: number | undefined;
  let streamsAt = 0;
  for (let i = 1; i < argCount && streamsAt === 0; i += 1) {
    const option = word(i);
    const moreCount = argCount - i - 1;
    if (option === "BLOCK" && moreCount > 0) {
      i += 1;
      blockMs = readTimeout(arg(i), call.nowMs);
    } else if (option === "COUNT" && moreCount > 0) {
      i += 1;
      countMax = Math.max(0, call.count(i));
    } else if (option === "STREAMS" && moreCount > 0) {
      streamsAt = i + 1;
      if ((argCount - streamsAt) % 2 !== 0) throw unbalancedStreams;
    } else if (option === "GROUP" && moreCount > 1) {
      if (!isGroup) throw groupOnlyXreadgroup;
      names = { name: arg(i + 1), consumer: arg(i + 2) };
      i += 2;
    } else if (option === "CLAIM" && moreCount > 0) {
      if (!isGroup) throw claimOnlyXreadgroup;
      i += 1;
      claimMs = readClaimTime(call, i);
    } else if (option === "NOACK") {
      if (!isGroup) throw noackOnlyXreadgroup;
      isPending = false;
    } else {
      throw syntaxError;
    }
  }
  if (streamsAt === 0) throw syntaxError;
  if (isGroup && names === undefined) throw groupMissing;
  const streamCount = (argCount - streamsAt) / 2;
  const reads: StreamRead[] = [];
  for (let i = streamsAt; i < streamsAt + streamCount; i += 1)
    reads.push({ key: arg(i), after: readAfter(call, { key: arg(i), id: arg(i + streamCount), group: names?.name }) });
  return {
    reads,
    countMax: countMax === 0 ? Number.POSITIVE_INFINITY : countMax,
    blockMs,
    group: names && { ...names, isPending, claimMs, pendingMax: call.database.context.pendingEntriesMax },
  };
}

function readTimeout(text: Bytes, nowMs: number): number {
  const value = parseInteger(text);
  if (value === undefined) throw timeoutNotInteger;
  if (value < 0) throw timeoutNegative;
  // As in Redis, the moment of the timeout fits 64 bits.
  if (BigInt(value) + BigInt(nowMs) >= 1n << 63n) throw timeoutOutOfRange;
  return Number(value);
}

function readClaimTime(call: Call, index: number): number {
  if (parseInteger(call.arg(index)) === undefined) throw claimTimeNotInteger;
  const value = call.count(index);
  if (value < 0) throw claimTimeNegative;
  return value;
}

function readAfter({ keyspace }: Call, read: { key: Bytes; id: Bytes; group: Bytes | undefined }): StreamRead["after"] {
  const { key, id, group } = read;
  const stream = keyspace.readStream(key);
  if (group !== undefined && stream?.group(group) === undefined) throw groupNotFound(key, group);
  if (id === "$") {
    if (group !== undefined) throw lastIdInGroup;
    return stream?.lastId ?? ID_MIN;
  }
  if (id === "+") {
    if (group !== undefined) throw lastEntryInGroup;
    return "last";
  }
  if (id === ">") {
    if (group === undefined) throw newIdWithoutGroup;
    return "new";
  }
  const after = parseExactId(id, 0);
  if (after === undefined) throw streamIdInvalid;
  // As Redis: for a group, the greatest id means new entries.
  return group !== undefined && compareIds(after, ID_MAX) === 0 ? "new" : after;
}

export function groupNotFound(key: Bytes, group: Bytes): CommandError {
  return noSuchKeyOrGroup(key, group, " in XREADGROUP with GROUP option");
}

/** The key and the entries of each stream that has some; undefined if none has. */
export function serveRead(keyspace: Keyspace, request: ReadRequest): Reply | undefined {
  const { reads, countMax, group } = request;
  if (group?.claimMs !== undefined) orderPending(keyspace, { keys: reads.map(({ key }) => key), group: group.name });
  checkPending(keyspace, request);
  if (group !== undefined) checkSize(keyspace, request);
  const budget = new ReplyBudget();
  const found: [Reply, Reply][] = [];
  for (const { key, after } of reads) {
    const stream = keyspace.readStream(key);
    if (stream === undefined) continue;
    const entries =
      group === undefined
        ? entriesAfter(stream, { after, countMax, budget })
        : readForGroup(keyspace, { stream, key, after, countMax, group });
    if (entries !== undefined) found.push([key, entries]);
  }
  return found.length === 0 ? undefined : pairs(found);
}

function entriesAfter(
  stream: StreamValue,
  read: { after: StreamRead["after"]; countMax: number; budget: ReplyBudget },
): Reply | undefined {
  const { after } = read;
  const from = after === "last" ? stream.entries.last : after === "new" ? undefined : idAfter(after);
  if (from === undefined) return undefined;
  const entries = rangeReply(stream, { from, to: ID_MAX, countMax: read.countMax }, read.budget);
  return entries.length === 0 ? undefined : entries;
}

/** A consumer that polls is recorded once in this time, since each update is a record. */
const SEEN_STEP_MS = 1_000;

interface GroupRead {
  readonly stream: StreamValue;
  readonly key: Bytes;
  readonly after: StreamRead["after"];
  readonly countMax: number;
  readonly group: NonNullable<ReadRequest["group"]>;
}

function readForGroup(keyspace: Keyspace, read: GroupRead): Reply | undefined {
  const { stream, key, after, countMax } = read;
  assert(after !== "last", "a group does not read the last entry alone");
  const { name, consumer, isPending } = read.group;
  const groupKey: GroupKey = { key, group: name };
  const group = stream.group(name) as StreamGroup;
  const { nowMs } = keyspace;
  if (after === "new") {
    const claimed = claimable(stream, group, { claimMs: read.group.claimMs, countMax, nowMs });
    const count = claimed.length < countMax ? countNew(stream, group, countMax - claimed.length) : 0;
    // As the hosted service: a read that leaves nothing pending does not create its consumer.
    const isNoted = isPending ? count === 0 : group.consumers.has(consumer);
    if (claimed.length === 0 && isNoted) noteConsumer(keyspace, { groupKey, group, consumer });
    if (claimed.length + count === 0) return undefined;
    const reply = claimed.map(({ entry, pending }) => [
      ...entryReply(entry),
      Math.max(0, nowMs - pending.deliveredAtMs),
      pending.deliveryCount,
    ]);
    const deliveries = claimed.map(({ pending: { ms, seq, deliveryCount } }) => ({
      id: { ms, seq },
      deliveredAtMs: nowMs,
      deliveryCount: deliveryCount + 1,
    }));
    if (deliveries.length > 0) assignTo(keyspace, { groupKey, group, consumer }, deliveries);
    if (count === 0) return reply;
    const isKnown = group.consumers.has(consumer);
    const entries = isPending
      ? deliverEntries(keyspace, groupKey, { consumer, count, atMs: nowMs })
      : passEntries(keyspace, groupKey, count);
    if (isPending && !isKnown) keyspace.notify(events["xgroup-createconsumer"], key);
    if (read.group.claimMs === undefined) return entries.map(entryReply);
    // As Redis: with CLAIM new entries have the form of claimed ones.
    return [...reply, ...entries.map((entry) => [...entryReply(entry), 0, 0])];
  }
  noteConsumer(keyspace, { groupKey, group, consumer });
  // Entries delivered to this consumer before, which are delivered again.
  const again: Delivery[] = [];
  const entries: Reply[] = [];
  const from = idAfter(after);
  if (from === undefined) return entries;
  group.consumers.get(consumer)?.pending.visit(from, ID_MAX, ({ ms, seq, deliveryCount }) => {
    const id = { ms, seq };
    const entry = stream.entries.find(id);
    if (entry === undefined) entries.push([formatId(id), nilArray]);
    else {
      entries.push(entryReply(entry));
      again.push({ id, deliveredAtMs: nowMs, deliveryCount: deliveryCount + 1 });
    }
    return entries.length < countMax;
  });
  if (again.length > 0) assignEntries(keyspace, groupKey, { consumer, seenMs: nowMs, deliveries: again });
  return entries;
}

interface GroupConsumer {
  readonly groupKey: GroupKey;
  readonly group: StreamGroup;
  readonly consumer: Bytes;
}

/** Assigns entries to a consumer, which is created if missing, and is active with that. */
export function assignTo(
  keyspace: Keyspace,
  { groupKey, group, consumer }: GroupConsumer,
  deliveries: readonly Delivery[],
): void {
  const { nowMs } = keyspace;
  const isKnown = group.consumers.has(consumer);
  assignEntries(keyspace, groupKey, { consumer, seenMs: nowMs, deliveries });
  noteActive(keyspace, groupKey, { name: consumer, activeMs: nowMs });
  if (!isKnown) keyspace.notify(events["xgroup-createconsumer"], groupKey.key);
}

/** Creates a missing consumer, or updates the time at which it was last seen. */
export function noteConsumer(keyspace: Keyspace, { groupKey, group, consumer }: GroupConsumer): void {
  const { nowMs } = keyspace;
  const known = group.consumers.get(consumer);
  if (known === undefined) {
    addConsumer(keyspace, groupKey, { name: consumer, seenMs: nowMs });
    keyspace.notify(events["xgroup-createconsumer"], groupKey.key);
  } else if (nowMs - known.seenMs >= SEEN_STEP_MS) {
    noteSeen(keyspace, groupKey, { name: consumer, seenMs: nowMs });
  }
}

/** The number of new entries for a group, up to `countMax`. */
function countNew(stream: StreamValue, group: StreamGroup, countMax: number): number {
  const from = idAfter(group.lastId);
  if (from === undefined) return 0;
  const { entries } = stream;
  if (countMax >= entries.length) return entries.length - entries.countBefore(from, entries.length);
  let count = 0;
  entries.visit(from, ID_MAX, () => {
    count += 1;
    return count < countMax;
  });
  return count;
}

/** Throws `pendingTooMany` before anything is delivered. */
function checkPending(keyspace: Keyspace, { reads, countMax, group }: ReadRequest): void {
  if (group === undefined || group.pendingMax === 0) return;
  const { name, consumer, claimMs, pendingMax: limit } = group;
  for (const { key, after } of reads) {
    const stream = after === "new" ? keyspace.peek(key) : undefined;
    const state = stream instanceof StreamValue ? stream.group(name) : undefined;
    if (!(stream instanceof StreamValue) || state === undefined) continue;
    const claimed = claimable(stream, state, { claimMs, countMax, nowMs: keyspace.nowMs });
    const fromOthers = claimed.filter(({ pending }) => pending.consumer.name !== consumer).length;
    const left = countMax - claimed.length;
    const newCount = fromOthers + (group.isPending && left > 0 ? countNew(stream, state, left) : 0);
    const pendingCount = state.consumers.get(consumer)?.pending.size ?? 0;
    if (newCount === 0 || pendingCount + newCount <= limit) continue;
    throw pendingTooMany({ limit, pendingCount, newCount, key, group: name, consumer });
  }
}

/** Throws `replyTooLarge` before anything is delivered. Usually the streams themselves are small enough. */
function checkSize(keyspace: Keyspace, { reads, countMax, group }: ReadRequest): void {
  let bytesMax = 0;
  // Does not count as a use of the keys; serving them does.
  const streams = reads.map(({ key }) => {
    const value = keyspace.peek(key);
    return value instanceof StreamValue ? value : undefined;
  });
  // An entry shares its names; written out, it takes at most this many times as much.
  for (const stream of streams) if (stream !== undefined) bytesMax += stream.memoryBytes * WRITTEN_OUT;
  if (group === undefined || bytesMax <= REPLY_BYTES_MAX) return;
  const budget = new ReplyBudget();
  for (const [i, { after }] of reads.entries()) {
    const stream = streams[i];
    if (after === "last") continue;
    const from = stream && idAfter(after === "new" ? (stream.group(group.name)?.lastId ?? ID_MAX) : after);
    if (stream === undefined || from === undefined) continue;
    let left = countMax;
    const take = (entry: Parameters<typeof countEntry>[0] | undefined): boolean => {
      if (entry === undefined) budget.take(0);
      else countEntry(entry, budget);
      left -= 1;
      return left > 0;
    };
    const state = stream.group(group.name);
    if (after === "new" && state !== undefined)
      for (const { entry } of claimable(stream, state, { claimMs: group.claimMs, countMax, nowMs: keyspace.nowMs }))
        take(entry);
    if (after === "new") {
      if (left > 0) stream.entries.visit(from, ID_MAX, take);
    } else state?.consumers.get(group.consumer)?.pending.visit(from, ID_MAX, (id) => take(stream.entries.find(id)));
  }
}

const WRITTEN_OUT = 32;
