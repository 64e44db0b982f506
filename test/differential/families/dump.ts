/**
 * Random DUMP and RESTORE. Random dumps are made here, so that Redis reads our dumps; the reply of Redis to DUMP
 * is read by us and compared as a value, since each server chooses the encoding. Where both choose the same one, the
 * bytes are compared too.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { type Dumped, readPayload, writePayload } from "../../../src/store/structures/rdb/payload.ts";
import { formatId } from "../../../src/store/structures/stream-id.ts";
import { asMultiset, asPairs, type Comparison, exact, isError, isList, isSame, showReply } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

/** Numbers of elements around those at which Redis chooses another encoding. */
const COUNTS: readonly number[] = [1, 2, 5, 127, 128, 129, 511, 512, 513];

/** Distinct elements: short texts, numbers, or a long one among them. */
function distinct(draw: Draw): Bytes[] {
  const count = draw.oneIn(3) ? draw.pick(COUNTS) : 1 + draw.below(6);
  const elements = new Set<Bytes>();
  const isNumeric = draw.oneIn(3);
  if (!isNumeric) elements.add(draw.value()).add("y".repeat(draw.pick([63, 64, 65, 300])));
  const step = draw.pick([1, 700, 90_000, 9_000_000_000]);
  for (let i = 0; elements.size < count; i += 1) elements.add(isNumeric ? `${(i - 3) * step}` : `element ${i}`);
  return [...elements];
}

function randomValue(draw: Draw): Dumped {
  switch (draw.below(DRAWN_KINDS)) {
    case 0:
      return { kind: "string", bytes: draw.value() };
    case 1: {
      const fields = distinct(draw);
      return { kind: "hash", fields, values: fields.map(() => draw.value()) };
    }
    case 2:
      return { kind: "set", members: distinct(draw) };
    case 3:
      return { kind: "list", elements: [...distinct(draw), ...draw.list(4, () => draw.value())] };
    default: {
      const members = distinct(draw);
      return { kind: "sorted set", members, scores: members.map(() => Number(score(draw))) };
    }
  }
}

const DRAWN_KINDS = 5;

function score(draw: Draw): Bytes {
  return draw.pick(["0", "1", "-1.5", "3.1415926535897931", "1e300", "5e-324", "9007199254740993", "0.1"]);
}

function payload(draw: Draw): Bytes {
  const bytes = writePayload(randomValue(draw));
  if (draw.oneIn(8)) {
    // Never damage with a valid checksum: Redis trusts that.
    const at = draw.below(bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 + draw.below(255));
  }
  return bytes.subarray(0, draw.oneIn(12) ? draw.below(bytes.length) : bytes.length).latin1Slice();
}

/** Times for ABSTTL. Without it, which damage may remove, they are spans: Redis' sum of one and now fits 64 bits. */
const MOMENTS: readonly Bytes[] = ["2000000000000", "4000000000001", "281474976710656", "1000", "0", "-1", "x", "1.5"];
const SPANS: readonly Bytes[] = ["0", "0", "0", "100000", "3600001", "281474976710656", "-1", "x", "", "1.5"];

function timeToLive(draw: Draw): Bytes[] {
  return draw.oneIn(3) ? [draw.pick(MOMENTS), "ABSTTL"] : [draw.pick(SPANS)];
}

function restore(draw: Draw, isPlain: boolean): Bytes[] {
  const [time = "0", ...moment] = isPlain ? ["0"] : timeToLive(draw);
  const options = draw.options(
    [
      () => ["REPLACE"],
      () => ["IDLETIME", draw.pick(["0", "1000", "-1", "x", "1000000"])],
      () => ["FREQ", draw.pick(["0", "255", "256", "-1", "x"])],
    ],
    2,
  );
  return ["RESTORE", draw.key(), time, payload(draw), ...moment, ...(isPlain ? ["REPLACE"] : options)];
}

/** Numbers around those where the encoding of a string changes, and texts that are no integers. */
const NEARLY_INTEGERS: readonly Bytes[] = [
  ...["0", "-0", "+1", "007", " 1", "1.0", "127", "128", "-128", "-129", "32767", "32768", "-32768", "-32769"],
  ...["2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808"],
];

/** The same value, and the same bytes where both servers write one form. */
export const asDump: Comparison = ({ command, ours, theirs }) => {
  if (typeof ours !== "string" || typeof theirs !== "string") return isSame(ours, theirs);
  const [one, other] = [ours, theirs].map((bytes) => readPayload(Buffer.from(bytes, "latin1")));
  if (one === undefined || other === undefined || one.kind !== other.kind) return false;
  const comparison =
    one.kind === "set" ? asMultiset : one.kind === "hash" || one.kind === "sorted set" ? asPairs : exact;
  if (!comparison({ command, ours: contentOf(one), theirs: contentOf(other) })) return false;
  if (other.kind === "string") return isCompressed(theirs) || ours === theirs;
  return !isTable(other.kind) || ours[0] !== theirs[0] || !hasShortElements(other) || isPermutation(ours, theirs);
};

/** As Redis answers, or with the reason after its text. A dump that is cut by a byte has a valid checksum once in 256 times. */
const asRestored: Comparison = ({ ours, theirs }) => {
  if (isSame(ours, theirs)) return true;
  return isError(theirs) && showReply(ours).startsWith(`${showReply(theirs)}: version `);
};

/** The first byte of a compressed string, after the type. We never compress. */
const COMPRESSED = "\xc3";

function isCompressed(dump: Bytes): boolean {
  return dump[1] === COMPRESSED;
}

/** Both servers write the elements of a table one after the other, in the order of their hashes. */
function isTable(kind: Dumped["kind"]): boolean {
  return kind === "set" || kind === "hash" || kind === "sorted set";
}

/** Redis compresses no string of so few bytes (rdb.c, rdbSaveRawString). */
const UNCOMPRESSED_BYTES_MAX = 20;

function hasShortElements(value: Dumped): boolean {
  const content = contentOf(value);
  return isList(content) && content.every((each) => typeof each !== "string" || each.length <= UNCOMPRESSED_BYTES_MAX);
}

/** A checksum depends on the order. */
const CHECKSUM_BYTES = 8;

function isPermutation(one: Bytes, other: Bytes): boolean {
  const [first, second] = [one, other].map((dump) => Buffer.from(dump.slice(0, -CHECKSUM_BYTES), "latin1").sort());
  return first !== undefined && second !== undefined && first.equals(second);
}

function contentOf(value: Dumped): RawReply {
  switch (value.kind) {
    case "string":
      return typeof value.bytes === "string" ? value.bytes : Buffer.from(value.bytes).latin1Slice();
    case "list":
      return value.elements;
    case "set":
      return value.members;
    case "sorted set":
      return value.members.flatMap((member, index) => [member, `${value.scores[index]}`]);
    case "hash":
      return value.fields.flatMap((field, index) => [field, value.values[index] ?? null]);
    case "stream": {
      const { entries, lastId, maxDeletedId, addedCount, groups } = value;
      return [
        entries.map((entry) => [formatId(entry), entry.names, entry.values]),
        [formatId(lastId), formatId(maxDeletedId), addedCount],
        // The times when consumers were seen advance with the clock; newer versions of Redis create more consumers, and
        // count what a group has read in another way.
        groups.map(({ name, lastId: readUpTo, consumers }) => [
          ...[name, formatId(readUpTo)],
          consumers
            .filter(({ pending }) => pending.length > 0)
            .map((consumer) => [
              consumer.name,
              consumer.pending.map((pending) => [formatId(pending), pending.deliveryCount]),
            ]),
        ]),
      ];
    }
    default: {
      const never: never = value;
      return never;
    }
  }
}

export const dumpFamily: Family = {
  name: "dump",
  commands: [
    ...Array.from({ length: 4 }, () => (draw: Draw) => ["DUMP", draw.key()]),
    ...Array.from({ length: 4 }, () => (draw: Draw) => restore(draw, true)),
    (draw) => restore(draw, false),
    (draw) => restore(draw, false),
    (draw) => ["SET", draw.key(), draw.value()],
    (draw) => ["SET", draw.key(), draw.pick(NEARLY_INTEGERS)],
    (draw) => ["INCRBY", draw.key(), draw.pick(["1", "-1", "100"])],
    (draw) => ["APPEND", draw.key(), draw.value()],
    (draw) => ["HSET", draw.key(), ...distinct(draw).flatMap((field) => [field, draw.text()])],
    (draw) => ["HSET", draw.key(), ...distinct(draw).flatMap((field) => [field, draw.text()])],
    (draw) => ["RPUSH", draw.key(), ...distinct(draw)],
    (draw) => [
      "LPUSH",
      draw.key(),
      draw.value(),
      "z".repeat(draw.pick([10, 8_000, 9_000])),
      ...draw.list(3, () => draw.value()),
    ],
    (draw) => ["SADD", draw.key(), ...distinct(draw)],
    (draw) => ["ZADD", draw.key(), ...distinct(draw).flatMap((member) => [score(draw), member])],
    (draw) => [
      "ZADD",
      draw.key(),
      "inf",
      "endless",
      "-inf",
      "bottomless",
      ...distinct(draw).flatMap((member) => ["1", member]),
    ],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
    (draw) => ["DEL", ...draw.keys()],
  ],
  comparisons: new Map<string, Comparison>([
    ["DUMP", asDump],
    ["RESTORE", asRestored],
  ]),
};
