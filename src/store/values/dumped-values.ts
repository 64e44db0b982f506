/** Conversion of values to and from the format of dumps: one row for each type. */

import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { TIME_MS_MAX } from "../../kernel/frame.ts";
import { badDataFormat, noDumpOfIndex, noDumpOfJson } from "../errors.ts";
import type { DumpedHash } from "../structures/rdb/hash-payload.ts";
import type { Dumped } from "../structures/rdb/payload.ts";
import type { DumpedEntry, DumpedStream } from "../structures/rdb/stream-payload.ts";
import { ID_MAX, ID_MIN } from "../structures/stream-id.ts";
import { HashValue } from "./hash.ts";
import { JsonValue } from "./json.ts";
import { ListValue } from "./list.ts";
import { SearchDefinition } from "./search-definition.ts";
import { SetValue } from "./set.ts";
import { SortedSetValue } from "./sorted-set.ts";
import { StreamValue } from "./stream.ts";
import { isString, type StringValue, stringFrom, stringFromBuffer } from "./string.ts";
import type { Value } from "./table.ts";

type DumpedSortedSet = Extract<Dumped, { kind: "sorted set" }>;

interface DumpedType<V extends Value, D extends Dumped> {
  readonly kind: D["kind"];
  readonly holds: (value: Value) => value is V;
  /** Shares data with the value: valid until the next change. */
  readonly write: (value: V) => D;
  /** Throws `badDataFormat` for data that such a value cannot have. */
  readonly read: (dumped: D, hashSeed: Uint8Array) => V;
}

const dumpedTypes: readonly DumpedType<never, never>[] = [
  row<StringValue, Extract<Dumped, { kind: "string" }>>({
    kind: "string",
    holds: isString,
    write: (value) => ({ kind: "string", bytes: typeof value === "string" ? value : value.view }),
    read: ({ bytes }) =>
      typeof bytes === "string"
        ? stringFrom(bytes)
        : stringFromBuffer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)),
  }),
  row<HashValue, DumpedHash>({
    kind: "hash",
    holds: (value) => value instanceof HashValue,
    write: writeHash,
    read: readHash,
  }),
  row<ListValue, Extract<Dumped, { kind: "list" }>>({
    kind: "list",
    holds: (value) => value instanceof ListValue,
    write: (list) => ({ kind: "list", elements: list.elements() }),
    read: ({ elements }) => ListValue.from(elements),
  }),
  row<SetValue, Extract<Dumped, { kind: "set" }>>({
    kind: "set",
    holds: (value) => value instanceof SetValue,
    write: (set) => ({ kind: "set", members: Array.from({ length: set.size }, (_, place) => set.memberAt(place)) }),
    read: ({ members }, hashSeed) => {
      const set = new SetValue(hashSeed);
      for (const member of members) if (!set.add(member)) throw badDataFormat;
      return set;
    },
  }),
  row<SortedSetValue, DumpedSortedSet>({
    kind: "sorted set",
    holds: (value) => value instanceof SortedSetValue,
    write: writeSortedSet,
    read: readSortedSet,
  }),
  row<StreamValue, DumpedStream>({
    kind: "stream",
    holds: (value) => value instanceof StreamValue,
    write: writeStream,
    read: readStream,
  }),
];

/**
 * The value in the form of a dump. Throws `noDumpOfJson`: their format belongs to a module, and changes with it; and
 * `noDumpOfIndex`.
 */
export function dumpedOf(value: Value): Dumped {
  if (value instanceof JsonValue) throw noDumpOfJson;
  if (value instanceof SearchDefinition) throw noDumpOfIndex;
  const found = dumpedTypes.find(({ holds }) => holds(value));
  assert(found !== undefined, "every type of value has a form in dumps");
  return found.write(value as never);
}

/** A new value. Throws `badDataFormat`. */
export function valueFrom(dumped: Dumped, hashSeed: Uint8Array): Value {
  const found = dumpedTypes.find(({ kind }) => kind === dumped.kind);
  assert(found !== undefined, "every form in dumps has a type of value");
  return found.read(dumped as never, hashSeed);
}

/** The functions of a row are called only with values of its type and dumps of its kind. */
function row<V extends Value, D extends Dumped>(type: DumpedType<V, D>): DumpedType<never, never> {
  return type as unknown as DumpedType<never, never>;
}

function writeSortedSet(sortedSet: SortedSetValue): DumpedSortedSet {
  const members: Bytes[] = [];
  const scores: number[] = [];
  sortedSet.visit({ from: 0, count: sortedSet.size }, (member, score) => {
    members.push(member);
    scores.push(score);
  });
  return { kind: "sorted set", members, scores };
}

function readSortedSet({ members, scores }: DumpedSortedSet, hashSeed: Uint8Array): SortedSetValue {
  const sortedSet = new SortedSetValue(hashSeed);
  for (const [index, member] of members.entries()) {
    if (sortedSet.has(member)) throw badDataFormat;
    sortedSet.put(member, scores[index] as number);
  }
  return sortedSet;
}

function writeHash(hash: HashValue): DumpedHash {
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  const expiriesMs: number[] | undefined = hash.hasExpiries ? [] : undefined;
  for (let place = 0; place < hash.size; place += 1) {
    const field = hash.fieldAt(place);
    fields.push(field);
    values.push(hash.valueAt(place));
    expiriesMs?.push(hash.expiryOf(field) ?? 0);
  }
  return { kind: "hash", fields, values, ...(expiriesMs === undefined ? {} : { expiriesMs }) };
}

function readHash({ fields, values, expiriesMs }: DumpedHash, hashSeed: Uint8Array): HashValue {
  const hash = new HashValue(hashSeed);
  for (const [index, field] of fields.entries()) {
    if (!hash.set(field, values[index] as Bytes)) throw badDataFormat;
    const atMs = expiriesMs?.[index] ?? 0;
    if (atMs > 0) hash.setExpiry(field, Math.min(atMs, TIME_MS_MAX));
  }
  return hash;
}

function writeStream(stream: StreamValue): DumpedStream {
  const entries: DumpedEntry[] = [];
  stream.entries.visit(ID_MIN, ID_MAX, (entry) => entries.push(entry) > 0);
  const { lastId, maxDeletedId, addedCount } = stream;
  const groups = stream.sortedGroups().map((group) => ({
    name: group.name,
    lastId: group.lastId,
    readCount: group.readCount,
    consumers: group.sortedConsumers().map(({ name, seenMs, pending }) => ({ name, seenMs, pending: pending.all() })),
  }));
  return { kind: "stream", entries, lastId, maxDeletedId, addedCount, groups };
}

function readStream(dumped: DumpedStream): StreamValue {
  const stream = new StreamValue();
  for (const entry of dumped.entries) stream.append(entry, entry);
  stream.lastId = dumped.lastId;
  stream.maxDeletedId = dumped.maxDeletedId;
  stream.addedCount = dumped.addedCount;
  for (const { name, lastId, readCount, consumers } of dumped.groups) {
    const known = readCount === "estimate" ? stream.countUpTo(lastId) : readCount;
    stream.putGroup(name, { lastId, readCount: known });
    const group = stream.group(name);
    for (const dumpedConsumer of consumers) {
      const { name: consumerName, seenMs, pending } = dumpedConsumer;
      const consumer = group?.consumerAt(consumerName, seenMs);
      // As in Redis: where a dump does not say it, a consumer was active when it was seen.
      if (consumer !== undefined) consumer.activeMs = "activeMs" in dumpedConsumer ? dumpedConsumer.activeMs : seenMs;
      for (const { ms, seq, deliveredAtMs, deliveryCount } of pending)
        if (consumer !== undefined) group?.assign(consumer, { id: { ms, seq }, deliveredAtMs, deliveryCount });
    }
  }
  return stream;
}
