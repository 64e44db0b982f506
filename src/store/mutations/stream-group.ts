/** Mutations of the groups of streams. How a mutation is made: see `generic.ts`. */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace } from "../keyspace.ts";
import type { StreamEntry } from "../structures/stream-chunk.ts";
import { ID_MAX, idAfter, readId, type StreamId, writeId } from "../structures/stream-id.ts";
import type { StreamValue } from "../values/stream.ts";
import type { Delivery, StreamGroup } from "../values/stream-group.ts";
import type { Description, Mutation } from "./mutation.ts";
import { changingStream, describeEntries, streamAt } from "./stream.ts";

const PUT_GROUP = 134;
const REMOVE_GROUP = 135;
const ADD_CONSUMER = 136;
const REMOVE_CONSUMER = 137;
const DELIVER_ENTRIES = 138;
const ASSIGN_ENTRIES = 139;
const ACKNOWLEDGE_ENTRIES = 140;
const NOTE_SEEN = 141;

/** Where a group is. */
export interface GroupPlace {
  readonly key: Bytes;
  readonly group: Bytes;
}

interface GroupState {
  readonly lastId: StreamId;
  readonly readCount: number | undefined;
}

/** Makes a group, and an empty stream if there is none, or moves the group. */
export function putGroup(keyspace: Keyspace, place: GroupPlace, state: GroupState): void {
  keyspace.willChange(place.key);
  writeGroup(writePlace(keyspace.record(PUT_GROUP), place), state);
  applyPutGroup(keyspace, place, state);
}

/** Removes a group, which must exist, with its consumers. */
export function removeGroup(keyspace: Keyspace, place: GroupPlace): void {
  keyspace.willChange(place.key);
  writePlace(keyspace.record(REMOVE_GROUP), place);
  applyRemoveGroup(keyspace, place);
}

/** Makes a consumer that there is not yet. */
export function addConsumer(keyspace: Keyspace, place: GroupPlace, consumer: { name: Bytes; seenMs: number }): void {
  writePlace(keyspace.record(ADD_CONSUMER), place).bytes(consumer.name).time(consumer.seenMs);
  applyAddConsumer(keyspace, place, consumer);
}

/** Removes a consumer, which must exist, with what is pending for it. */
export function removeConsumer(keyspace: Keyspace, place: GroupPlace, name: Bytes): void {
  keyspace.willChange(place.key);
  writePlace(keyspace.record(REMOVE_CONSUMER), place).bytes(name);
  applyRemoveConsumer(keyspace, place, name);
}

/** Notes that a consumer, which must exist, asks for something now. */
export function noteSeen(keyspace: Keyspace, place: GroupPlace, consumer: { name: Bytes; seenMs: number }): void {
  writePlace(keyspace.record(NOTE_SEEN), place).bytes(consumer.name).time(consumer.seenMs);
  applySeen(keyspace, place, consumer);
}

interface DeliveryOfNext {
  readonly consumer: Bytes;
  /** The entries right behind the last one that the group has read; there are as many. */
  readonly count: number;
  readonly atMs: number;
  /** False where they are acknowledged by being read. */
  readonly isPending: boolean;
}

/** Delivers the next entries to a consumer, which is made if there is none. Returns them. */
export function deliverEntries(keyspace: Keyspace, place: GroupPlace, delivery: DeliveryOfNext): StreamEntry[] {
  writePlace(keyspace.record(DELIVER_ENTRIES), place)
    .bytes(delivery.consumer)
    .number(delivery.count)
    .time(delivery.atMs)
    .number(delivery.isPending ? 1 : 0);
  return applyDeliver(keyspace, place, delivery);
}

interface Assignment {
  readonly consumer: Bytes;
  readonly seenMs: number;
  readonly deliveries: readonly Delivery[];
}

/** Makes entries pending for a consumer, which is made if there is none, whoever had them before. */
export function assignEntries(keyspace: Keyspace, place: GroupPlace, assignment: Assignment): void {
  writeAssignment(writePlace(keyspace.record(ASSIGN_ENTRIES), place), assignment);
  applyAssign(keyspace, place, assignment);
}

/** Lets entries be pending no more. */
export function acknowledgeEntries(keyspace: Keyspace, place: GroupPlace, ids: readonly StreamId[]): void {
  const record = writePlace(keyspace.record(ACKNOWLEDGE_ENTRIES), place).number(ids.length);
  for (const id of ids) writeId(record, id);
  applyAcknowledge(keyspace, place, ids);
}

export const streamGroupMutations: readonly Mutation[] = [
  {
    code: PUT_GROUP,
    name: "put-group",
    apply: (keyspace, record) => applyPutGroup(keyspace, readPlace(record), readGroup(record)),
  },
  {
    code: REMOVE_GROUP,
    name: "remove-group",
    apply: (keyspace, record) => applyRemoveGroup(keyspace, readPlace(record)),
  },
  {
    code: ADD_CONSUMER,
    name: "add-consumer",
    apply: (keyspace, record) =>
      applyAddConsumer(keyspace, readPlace(record), { name: record.bytes(), seenMs: record.time() }),
  },
  {
    code: REMOVE_CONSUMER,
    name: "remove-consumer",
    apply: (keyspace, record) => applyRemoveConsumer(keyspace, readPlace(record), record.bytes()),
  },
  {
    code: DELIVER_ENTRIES,
    name: "deliver-entries",
    apply: (keyspace, record) =>
      applyDeliver(keyspace, readPlace(record), {
        consumer: record.bytes(),
        count: record.number(),
        atMs: record.time(),
        isPending: record.number() === 1,
      }),
  },
  {
    code: ASSIGN_ENTRIES,
    name: "assign-entries",
    apply: (keyspace, record) => applyAssign(keyspace, readPlace(record), readAssignment(record)),
  },
  {
    code: ACKNOWLEDGE_ENTRIES,
    name: "acknowledge-entries",
    apply: (keyspace, record) =>
      applyAcknowledge(
        keyspace,
        readPlace(record),
        Array.from({ length: record.number() }, () => readId(record)),
      ),
  },
  {
    code: NOTE_SEEN,
    name: "note-seen",
    apply: (keyspace, record) =>
      applySeen(keyspace, readPlace(record), { name: record.bytes(), seenMs: record.time() }),
  },
];

/** Pending entries in one record of a snapshot. */
const DESCRIBED_PENDING = 1_000;

/** The records that rebuild a stream. */
export function describeStream({ key, value: stream, record }: Description<StreamValue>): void {
  describeEntries(key, stream, record);
  for (const group of stream.sortedGroups()) {
    const place = { key, group: group.name };
    writeGroup(writePlace(record(PUT_GROUP), place), group);
    for (const { name, seenMs, pending } of group.sortedConsumers()) {
      writePlace(record(ADD_CONSUMER), place).bytes(name).time(seenMs);
      const all = pending.all();
      for (let start = 0; start < all.length; start += DESCRIBED_PENDING) {
        const deliveries = all
          .slice(start, start + DESCRIBED_PENDING)
          .map(({ ms, seq, deliveredAtMs, deliveryCount }) => ({ id: { ms, seq }, deliveredAtMs, deliveryCount }));
        writeAssignment(writePlace(record(ASSIGN_ENTRIES), place), { consumer: name, seenMs, deliveries });
      }
    }
  }
}

function writePlace(record: FrameWriter, { key, group }: GroupPlace): FrameWriter {
  return record.bytes(key).bytes(group);
}

function readPlace(record: FrameReader): GroupPlace {
  return { key: record.bytes(), group: record.bytes() };
}

function writeGroup(record: FrameWriter, { lastId, readCount }: GroupState): void {
  writeId(record, lastId);
  // Zero for what is not known.
  record.number(readCount === undefined ? 0 : 1).number(readCount ?? 0);
}

function readGroup(record: FrameReader): GroupState {
  const lastId = readId(record);
  const isKnown = record.number() === 1;
  const readCount = record.number();
  return { lastId, readCount: isKnown ? readCount : undefined };
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

function applyPutGroup(keyspace: Keyspace, { key, group }: GroupPlace, state: GroupState): void {
  streamAt(keyspace, key).putGroup(group, state);
}

function applyRemoveGroup(keyspace: Keyspace, { key, group }: GroupPlace): void {
  changingStream(keyspace, key).removeGroup(group);
  keyspace.onReady?.(key);
}

function applyAddConsumer(
  keyspace: Keyspace,
  place: GroupPlace,
  { name, seenMs }: { name: Bytes; seenMs: number },
): void {
  changingGroup(keyspace, place).consumerAt(name, seenMs);
}

function applySeen(keyspace: Keyspace, place: GroupPlace, { name, seenMs }: { name: Bytes; seenMs: number }): void {
  changingGroup(keyspace, place).consumerAt(name, seenMs).seenMs = seenMs;
}

function applyRemoveConsumer(keyspace: Keyspace, place: GroupPlace, name: Bytes): void {
  changingGroup(keyspace, place).removeConsumer(name);
}

function applyDeliver(keyspace: Keyspace, place: GroupPlace, delivery: DeliveryOfNext): StreamEntry[] {
  const stream = changingStream(keyspace, place.key);
  const group = groupOf(stream, place);
  const { atMs, count, isPending } = delivery;
  const consumer = group.consumerAt(delivery.consumer, atMs);
  consumer.seenMs = atMs;
  const entries: StreamEntry[] = [];
  const from = idAfter(group.lastId);
  assert(from !== undefined, "there is an entry to deliver");
  stream.entries.visit(from, ID_MAX, (entry) => entries.push(entry) < count);
  for (const entry of entries) {
    group.readCount =
      group.readCount !== undefined && !stream.hasGapFrom(entry) ? group.readCount + 1 : stream.readCountAt(entry);
    const id = { ms: entry.ms, seq: entry.seq };
    group.lastId = id;
    if (isPending) group.assign(consumer, { id, deliveredAtMs: atMs, deliveryCount: 1 });
  }
  return entries;
}

function applyAssign(keyspace: Keyspace, place: GroupPlace, { consumer, seenMs, deliveries }: Assignment): void {
  const group = changingGroup(keyspace, place);
  const assignee = group.consumerAt(consumer, seenMs);
  assignee.seenMs = seenMs;
  for (const delivery of deliveries) group.assign(assignee, delivery);
}

function applyAcknowledge(keyspace: Keyspace, place: GroupPlace, ids: readonly StreamId[]): void {
  const group = changingGroup(keyspace, place);
  for (const id of ids) group.acknowledge(id);
}

function changingGroup(keyspace: Keyspace, place: GroupPlace): StreamGroup {
  return groupOf(changingStream(keyspace, place.key), place);
}

function groupOf(stream: StreamValue, place: GroupPlace): StreamGroup {
  const group = stream.group(place.group);
  assert(group !== undefined, "there is a group of this name");
  return group;
}
