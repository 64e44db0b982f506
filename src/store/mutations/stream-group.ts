/** Mutations of the groups of streams. How a mutation is made: see `generic.ts`. */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace } from "../keyspace.ts";
import type { StreamEntry } from "../structures/stream-chunk.ts";
import { compareIds, ID_MAX, idAfter, readId, type StreamId, writeId } from "../structures/stream-id.ts";
import { StreamValue } from "../values/stream.ts";
import type { Delivery, StreamGroup } from "../values/stream-group.ts";
import type { Description, Mutation } from "./mutation.ts";
import { changingStream, describeEntries, mustSave, PENDING_BYTES, pushRestorers, streamAt } from "./stream.ts";

const PUT_GROUP = 134;
const REMOVE_GROUP = 135;
const ADD_CONSUMER = 136;
const REMOVE_CONSUMER = 137;
const DELIVER_ENTRIES = 138;
const ASSIGN_ENTRIES = 139;
const ACKNOWLEDGE_ENTRIES = 140;
const NOTE_SEEN = 141;
const DELIVER_COUNTED = 142;
const NOTE_ACTIVE = 143;

/** The key and name of a group. */
export interface GroupKey {
  readonly key: Bytes;
  readonly group: Bytes;
}

interface GroupState {
  readonly lastId: StreamId;
  readonly readCount: number | undefined;
}

/** Creates a group, and an empty stream if missing, or moves the group. */
export function putGroup(keyspace: Keyspace, groupKey: GroupKey, state: GroupState): void {
  keyspace.willChange(groupKey.key);
  writeGroup(writeGroupKey(keyspace.record(PUT_GROUP), groupKey), state);
  applyPutGroup(keyspace, groupKey, state);
}

/** Removes a group, which must exist, with its consumers. */
export function removeGroup(keyspace: Keyspace, groupKey: GroupKey): void {
  keyspace.willChange(groupKey.key);
  writeGroupKey(keyspace.record(REMOVE_GROUP), groupKey);
  applyRemoveGroup(keyspace, groupKey);
}

/** Creates a new consumer. */
export function addConsumer(keyspace: Keyspace, groupKey: GroupKey, consumer: { name: Bytes; seenMs: number }): void {
  writeGroupKey(keyspace.record(ADD_CONSUMER), groupKey).bytes(consumer.name).time(consumer.seenMs);
  applyAddConsumer(keyspace, groupKey, consumer);
}

/** Removes a consumer, which must exist, with its pending entries. */
export function removeConsumer(keyspace: Keyspace, groupKey: GroupKey, name: Bytes): void {
  keyspace.willChange(groupKey.key);
  writeGroupKey(keyspace.record(REMOVE_CONSUMER), groupKey).bytes(name);
  applyRemoveConsumer(keyspace, groupKey, name);
}

/** Records that a consumer, which must exist, reads now. */
export function noteSeen(keyspace: Keyspace, groupKey: GroupKey, consumer: { name: Bytes; seenMs: number }): void {
  writeGroupKey(keyspace.record(NOTE_SEEN), groupKey).bytes(consumer.name).time(consumer.seenMs);
  applySeen(keyspace, groupKey, consumer);
}

interface DeliveryOfNext {
  readonly consumer: Bytes;
  /** The number of entries after the last one that the group has read; they must exist. */
  readonly count: number;
  readonly atMs: number;
}

interface CountedDelivery extends DeliveryOfNext {
  readonly readCount: number | undefined;
  /** The delivered entries, which the caller has just read; absent: they are read. */
  readonly entries?: readonly StreamEntry[];
}

/** Delivers the next entries to a consumer, which is created if missing. Returns them. */
export function deliverEntries(keyspace: Keyspace, groupKey: GroupKey, delivery: DeliveryOfNext): StreamEntry[] {
  const { entries, state } = nextOf(keyspace, groupKey, delivery.count);
  const record = writeGroupKey(keyspace.record(DELIVER_COUNTED), groupKey);
  writeReadCount(record.bytes(delivery.consumer).number(delivery.count).time(delivery.atMs), state);
  applyDeliverCounted(keyspace, groupKey, { ...delivery, readCount: state.readCount, entries });
  return entries;
}

/** Moves the group past a number of its next entries, which must exist, and returns them: no consumer gets them. */
export function passEntries(keyspace: Keyspace, groupKey: GroupKey, count: number): StreamEntry[] {
  const { entries, state } = nextOf(keyspace, groupKey, count);
  writeGroup(writeGroupKey(keyspace.record(PUT_GROUP), groupKey), state);
  applyPutGroup(keyspace, groupKey, state);
  return entries;
}

/** Records that a consumer, which must exist, got entries now. */
export function noteActive(keyspace: Keyspace, groupKey: GroupKey, consumer: { name: Bytes; activeMs: number }): void {
  writeGroupKey(keyspace.record(NOTE_ACTIVE), groupKey).bytes(consumer.name).time(consumer.activeMs);
  applyActive(keyspace, groupKey, consumer);
}

/** Lets the group find its pending entries by their idle times. Derived, so there is no record. */
export function orderDeliveries(keyspace: Keyspace, groupKey: GroupKey): void {
  changingGroup(keyspace, groupKey).group.orderDeliveries();
}

interface Assignment {
  readonly consumer: Bytes;
  readonly seenMs: number;
  readonly deliveries: readonly Delivery[];
}

/** Makes entries pending for a consumer, which is created if missing, whatever their previous consumer. */
export function assignEntries(keyspace: Keyspace, groupKey: GroupKey, assignment: Assignment): void {
  writeAssignment(writeGroupKey(keyspace.record(ASSIGN_ENTRIES), groupKey), assignment);
  applyAssign(keyspace, groupKey, assignment);
}

interface Acknowledgement extends GroupOfStream {
  readonly ids: readonly StreamId[];
}

/** Removes entries from the pending ones of a group, which the caller has read: it is not looked up again. */
export function acknowledgeEntries(keyspace: Keyspace, groupKey: GroupKey, done: Acknowledgement): void {
  const record = writeGroupKey(keyspace.record(ACKNOWLEDGE_ENTRIES), groupKey).number(done.ids.length);
  for (const id of done.ids) writeId(record, id);
  applyAcknowledge(keyspace, done);
}

export const streamGroupMutations: readonly Mutation[] = [
  {
    code: PUT_GROUP,
    name: "put-group",
    apply: (keyspace, record) => applyPutGroup(keyspace, readGroupKey(record), readGroup(record)),
  },
  {
    code: REMOVE_GROUP,
    name: "remove-group",
    apply: (keyspace, record) => applyRemoveGroup(keyspace, readGroupKey(record)),
  },
  {
    code: ADD_CONSUMER,
    name: "add-consumer",
    apply: (keyspace, record) =>
      applyAddConsumer(keyspace, readGroupKey(record), { name: record.bytes(), seenMs: record.time() }),
  },
  {
    code: REMOVE_CONSUMER,
    name: "remove-consumer",
    apply: (keyspace, record) => applyRemoveConsumer(keyspace, readGroupKey(record), record.bytes()),
  },
  {
    // Counts the entries that a group has read as Redis 7.0 did.
    code: DELIVER_ENTRIES,
    name: "deliver-entries",
    isFormer: true,
    apply: (keyspace, record) =>
      applyDeliver(keyspace, readGroupKey(record), {
        consumer: record.bytes(),
        count: record.number(),
        atMs: record.time(),
        isPending: record.number() === 1,
      }),
  },
  {
    code: ASSIGN_ENTRIES,
    name: "assign-entries",
    apply: (keyspace, record) => applyAssign(keyspace, readGroupKey(record), readAssignment(record)),
  },
  {
    code: ACKNOWLEDGE_ENTRIES,
    name: "acknowledge-entries",
    apply: (keyspace, record) =>
      applyAcknowledge(keyspace, {
        ...changingGroup(keyspace, readGroupKey(record)),
        ids: Array.from({ length: record.number() }, () => readId(record)),
      }),
  },
  {
    code: NOTE_SEEN,
    name: "note-seen",
    apply: (keyspace, record) =>
      applySeen(keyspace, readGroupKey(record), { name: record.bytes(), seenMs: record.time() }),
  },
  {
    code: DELIVER_COUNTED,
    name: "deliver-counted",
    apply: (keyspace, record) =>
      applyDeliverCounted(keyspace, readGroupKey(record), {
        consumer: record.bytes(),
        count: record.number(),
        atMs: record.time(),
        readCount: readReadCount(record),
      }),
  },
  {
    code: NOTE_ACTIVE,
    name: "note-active",
    apply: (keyspace, record) =>
      applyActive(keyspace, readGroupKey(record), { name: record.bytes(), activeMs: record.time() }),
  },
];

/** Pending entries in one record of a snapshot. */
const DESCRIBED_PENDING = 1_000;

/** The records that rebuild a stream. */
export function describeStream({ key, value: stream, record }: Description<StreamValue>): void {
  describeEntries(key, stream, record);
  for (const group of stream.sortedGroups()) {
    const groupKey = { key, group: group.name };
    writeGroup(writeGroupKey(record(PUT_GROUP), groupKey), group);
    for (const { name, seenMs, activeMs, pending } of group.sortedConsumers()) {
      writeGroupKey(record(ADD_CONSUMER), groupKey).bytes(name).time(seenMs);
      const all = pending.all();
      for (let start = 0; start < all.length; start += DESCRIBED_PENDING) {
        const deliveries = all
          .slice(start, start + DESCRIBED_PENDING)
          .map(({ ms, seq, deliveredAtMs, deliveryCount }) => ({ id: { ms, seq }, deliveredAtMs, deliveryCount }));
        writeAssignment(writeGroupKey(record(ASSIGN_ENTRIES), groupKey), { consumer: name, seenMs, deliveries });
      }
      if (activeMs !== undefined) writeGroupKey(record(NOTE_ACTIVE), groupKey).bytes(name).time(activeMs);
    }
  }
}

function writeGroupKey(record: FrameWriter, { key, group }: GroupKey): FrameWriter {
  return record.bytes(key).bytes(group);
}

function readGroupKey(record: FrameReader): GroupKey {
  return { key: record.bytes(), group: record.bytes() };
}

function writeGroup(record: FrameWriter, state: GroupState): void {
  writeId(record, state.lastId);
  writeReadCount(record, state);
}

function readGroup(record: FrameReader): GroupState {
  return { lastId: readId(record), readCount: readReadCount(record) };
}

function writeReadCount(record: FrameWriter, { readCount }: GroupState): void {
  // Zero if unknown.
  record.number(readCount === undefined ? 0 : 1).number(readCount ?? 0);
}

function readReadCount(record: FrameReader): number | undefined {
  const isKnown = record.number() === 1;
  const readCount = record.number();
  return isKnown ? readCount : undefined;
}

function writeAssignment(record: FrameWriter, { consumer, seenMs, deliveries }: Assignment): void {
  record.bytes(consumer).time(seenMs).number(deliveries.length);
  for (const { id, deliveredAtMs, deliveryCount } of deliveries) {
    writeId(record, id);
    record.time(deliveredAtMs).number(deliveryCount);
  }
}

function readAssignment(record: FrameReader): Assignment {
  const consumer = record.bytes();
  const seenMs = record.time();
  const deliveries = Array.from({ length: record.number() }, () => ({
    id: readId(record),
    deliveredAtMs: record.time(),
    deliveryCount: record.number(),
  }));
  return { consumer, seenMs, deliveries };
}

function applyPutGroup(keyspace: Keyspace, { key, group }: GroupKey, state: GroupState): void {
  const stream = streamAt(keyspace, key);
  if (mustSave(keyspace, stream)) {
    const restore = stream.group(group)?.positionRestorer() ?? (() => stream.removeGroup(group));
    pushRestorers(keyspace, stream, { bytes: 0, restorers: [restore] });
  }
  stream.putGroup(group, state);
}

function applyRemoveGroup(keyspace: Keyspace, { key, group }: GroupKey): void {
  const stream = changingStream(keyspace, key);
  if (mustSave(keyspace, stream)) {
    const bytes = (stream.group(group)?.pending.size ?? 0) * PENDING_BYTES;
    pushRestorers(keyspace, stream, { bytes, restorers: [stream.groupRestorer(group)] });
  }
  stream.removeGroup(group);
  keyspace.onReady?.(key, stream);
}

function applyAddConsumer(
  keyspace: Keyspace,
  groupKey: GroupKey,
  { name, seenMs }: { name: Bytes; seenMs: number },
): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  willChange(keyspace, { stream, group }, { consumer: name, ids: [] });
  group.consumerAt(name, seenMs);
}

function applySeen(keyspace: Keyspace, groupKey: GroupKey, { name, seenMs }: { name: Bytes; seenMs: number }): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  willChange(keyspace, { stream, group }, { consumer: name, ids: [] });
  group.consumerAt(name, seenMs).seenMs = seenMs;
}

function applyRemoveConsumer(keyspace: Keyspace, groupKey: GroupKey, name: Bytes): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  if (mustSave(keyspace, stream)) {
    const bytes = (group.consumers.get(name)?.pending.size ?? 0) * PENDING_BYTES;
    pushRestorers(keyspace, stream, { bytes, restorers: [group.removedConsumerRestorer(name)] });
  }
  group.removeConsumer(name);
}

function applyActive(
  keyspace: Keyspace,
  groupKey: GroupKey,
  { name, activeMs }: { name: Bytes; activeMs: number },
): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  willChange(keyspace, { stream, group }, { consumer: name, ids: [] });
  const consumer = group.consumers.get(name);
  assert(consumer !== undefined, "a consumer of this name exists");
  consumer.activeMs = activeMs;
}

function applyDeliverCounted(keyspace: Keyspace, groupKey: GroupKey, delivery: CountedDelivery): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  const { atMs, count, readCount, entries = nextEntries(stream, group, count) } = delivery;
  willChange(keyspace, { stream, group }, { consumer: delivery.consumer, ids: entries });
  const consumer = group.consumerAt(delivery.consumer, atMs);
  consumer.seenMs = atMs;
  consumer.activeMs = atMs;
  for (const { ms, seq } of entries) {
    group.lastId = { ms, seq };
    group.assign(consumer, { id: group.lastId, deliveredAtMs: atMs, deliveryCount: 1 });
  }
  group.readCount = readCount;
}

function applyDeliver(
  keyspace: Keyspace,
  groupKey: GroupKey,
  delivery: DeliveryOfNext & { readonly isPending: boolean },
): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  const { atMs, count, isPending } = delivery;
  const entries = nextEntries(stream, group, count);
  willChange(keyspace, { stream, group }, { consumer: delivery.consumer, ids: isPending ? entries : [] });
  const consumer = group.consumerAt(delivery.consumer, atMs);
  consumer.seenMs = atMs;
  if (isPending) consumer.activeMs = atMs;
  for (const entry of entries) {
    const isCounted = group.readCount !== undefined && !stream.formerHasDeletedFrom(entry);
    group.readCount = isCounted ? (group.readCount as number) + 1 : stream.formerCountUpTo(entry);
    group.lastId = { ms: entry.ms, seq: entry.seq };
    if (isPending) group.assign(consumer, { id: group.lastId, deliveredAtMs: atMs, deliveryCount: 1 });
  }
}

/** The next entries of a group, and where it is after it has read them. */
function nextOf(keyspace: Keyspace, groupKey: GroupKey, count: number): { entries: StreamEntry[]; state: GroupState } {
  const stream = keyspace.entries.get(groupKey.key);
  assert(stream instanceof StreamValue, "the key holds a stream");
  const group = groupOf(stream, groupKey);
  const entries = nextEntries(stream, group, count);
  let state: GroupState = group;
  for (const entry of entries) state = stateAfter(stream, state, entry);
  return { entries, state };
}

/** The entries that a group reads next. */
function nextEntries(stream: StreamValue, group: StreamGroup, count: number): StreamEntry[] {
  const entries: StreamEntry[] = [];
  const from = idAfter(group.lastId);
  assert(from !== undefined, "an entry to deliver exists");
  stream.entries.visit(from, ID_MAX, (entry) => entries.push(entry) < count);
  return entries;
}

/** Where a group is after it has read this entry, its next one. */
function stateAfter(stream: StreamValue, { lastId, readCount }: GroupState, entry: StreamEntry): GroupState {
  const isCounted =
    readCount !== undefined && compareIds(lastId, stream.firstId) >= 0 && !stream.hasDeletedFrom(lastId);
  return {
    lastId: { ms: entry.ms, seq: entry.seq },
    readCount: isCounted ? readCount + 1 : stream.countUpTo(entry),
  };
}

function applyAssign(keyspace: Keyspace, groupKey: GroupKey, { consumer, seenMs, deliveries }: Assignment): void {
  const { stream, group } = changingGroup(keyspace, groupKey);
  if (mustSave(keyspace, stream))
    willChange(keyspace, { stream, group }, { consumer, ids: deliveries.map(({ id }) => id) });
  const assignee = group.consumerAt(consumer, seenMs);
  assignee.seenMs = seenMs;
  // Of an earlier build: as Redis reads older files, a consumer with entries was active when it was seen.
  assignee.activeMs ??= seenMs;
  for (const delivery of deliveries) group.assign(assignee, delivery);
}

function applyAcknowledge(keyspace: Keyspace, { stream, group, ids }: Acknowledgement): void {
  keyspace.meter.change(stream);
  if (keyspace.undo !== undefined) willChange(keyspace, { stream, group }, { consumer: undefined, ids });
  for (const id of ids) group.acknowledge(id);
}

interface GroupOfStream {
  readonly stream: StreamValue;
  readonly group: StreamGroup;
}

/** The position of a group, a consumer, and whether entries are pending, are about to change. */
function willChange(
  keyspace: Keyspace,
  { stream, group }: GroupOfStream,
  { consumer, ids }: { readonly consumer: Bytes | undefined; readonly ids: readonly StreamId[] },
): void {
  if (!mustSave(keyspace, stream)) return;
  const restorers = [group.positionRestorer()];
  if (consumer !== undefined) restorers.push(group.consumerRestorer(consumer));
  for (const id of ids) restorers.push(group.pendingRestorer(id));
  pushRestorers(keyspace, stream, { bytes: ids.length * PENDING_BYTES, restorers });
}

function changingGroup(keyspace: Keyspace, groupKey: GroupKey): GroupOfStream {
  const stream = changingStream(keyspace, groupKey.key);
  return { stream, group: groupOf(stream, groupKey) };
}

function groupOf(stream: StreamValue, groupKey: GroupKey): StreamGroup {
  const group = stream.group(groupKey.group);
  assert(group !== undefined, "a group of this name exists");
  return group;
}
