/**
 * Random stream commands. Ids come from a small pool, so that commands share them, and from the range limits of ids. No
 * `*`: it reads the clock, which is stopped on one side; the stream also completes ids like `9-*`.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { type Dumped, writePayload } from "../../../src/store/structures/rdb/payload.ts";
import type { DumpedStream } from "../../../src/store/structures/rdb/stream-payload.ts";
import { asMilliseconds, type Comparison, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";
import { asDump } from "./dump.ts";

const LAST = "18446744073709551615";
const EDGE_IDS: readonly Bytes[] = [
  ...[
    "0",
    "0-0",
    "0-1",
    "-",
    "+",
    "$",
    ">",
    "*",
    "",
    "-1",
    "1-",
    "-1-1",
    "1-1-1",
    "x",
    "1-x",
    "1-*",
    "(1",
    "(",
    "(-",
    "(+",
  ],
  ...[
    "007-1",
    "+3-2",
    " 4-1",
    "1--0",
    "1--007",
    "1- 2",
    "1-1 ",
    "0x1-1",
    "1\x00-1",
    "9007199254740993-9007199254740992",
  ],
  ...[
    LAST,
    `${LAST}-0`,
    `${LAST}-${LAST}`,
    `5-${LAST}`,
    `0-${LAST}`,
    `${LAST}0-1`,
    `(5-${LAST}`,
    `(${LAST}-${LAST}`,
    "(0-0",
  ],
];

function key(draw: Draw): Bytes {
  return draw.oneIn(4) ? draw.key() : draw.pick(["a", "b"]);
}

function id(draw: Draw): Bytes {
  if (draw.oneIn(25)) return draw.pick(EDGE_IDS);
  return draw.oneIn(6) ? `${draw.below(9)}` : `${draw.below(9)}-${draw.below(6)}`;
}

/** Mostly one that the stream accepts. The greatest ids end a stream, so they are rare. */
function addedId(draw: Draw): Bytes {
  if (draw.oneIn(40)) return draw.pick(EDGE_IDS.filter((edge) => edge !== "*" && !edge.startsWith(LAST)));
  if (draw.oneIn(300)) return draw.pick([`${LAST}-*`, `${LAST}-${LAST}`]);
  return draw.oneIn(3) ? `${draw.below(9)}-${draw.below(6)}` : `${draw.pick([3, 5, 8, 8, 8])}-*`;
}

function ids(draw: Draw): Bytes[] {
  return draw.list(4, () => id(draw));
}

function rangeId(draw: Draw): Bytes {
  const one = draw.oneIn(3) ? draw.pick(["-", "+"]) : id(draw);
  return draw.oneIn(5) ? `(${one}` : one;
}

function pairs(draw: Draw): Bytes[] {
  if (draw.oneIn(30)) return draw.list(4, () => draw.text());
  if (draw.oneIn(2)) return ["name", draw.value(), "other", draw.text()];
  return draw.list(3, () => [draw.pick(["name", "other", draw.text()]), draw.value()]).flat();
}

/** Only exact trimming: with `~` each server trims differently. */
function trimming(draw: Draw): Bytes[] {
  const sign = draw.options([() => ["="]], 1);
  return draw.pick([
    () => ["MAXLEN", ...sign, draw.count()],
    () => ["MINID", ...sign, id(draw)],
    () => ["LIMIT", draw.count()],
    () => ["MAXLEN", "3", "LIMIT", draw.count()],
    // Approximate, and no entry to remove.
    () => ["MAXLEN", "~", "100000", "LIMIT", draw.count()],
  ])();
}

function group(draw: Draw): Bytes {
  return draw.oneIn(12) ? draw.text() : draw.pick(["g", "g", "h"]);
}

function consumer(draw: Draw): Bytes {
  return draw.oneIn(12) ? draw.text() : draw.pick(["alice", "bob"]);
}

/** Idle times for which some seconds make no difference; with short ones, only one server may have waited enough. */
function idleMs(draw: Draw): Bytes {
  const ms = draw.oneIn(12) ? draw.integer() : draw.pick(["0", "0", "0", "-5", "100000000"]);
  return Number(ms) > 0 && Number(ms) < IDLE_MS_MIN ? "0" : ms;
}

function readOptions(draw: Draw): Bytes[] {
  return draw.options([() => ["COUNT", draw.count()], () => ["COUNT", "2"], () => ["NOACK"]], 2);
}

function streams(draw: Draw, special: Bytes): Bytes[] {
  const keys = draw.list(3, () => key(draw));
  return ["STREAMS", ...keys, ...keys.map(() => (draw.oneIn(2) ? special : draw.oneIn(2) ? "0" : readId(draw)))];
}

/** Not `+`, which Redis has since 7.4. */
function readId(draw: Draw): Bytes {
  const one = id(draw);
  return one === "+" ? "0" : one;
}

/** Greater than all ids that are deleted: Redis refuses smaller ones since 7.2. */
const SET_IDS: readonly Bytes[] = ["8-6", "8-9", "8-9", "8-100", "9", "x", "-", "9007199254740993-1"];

/** Mostly small, so that a stream can have a greater last id. */
function deletedIds(draw: Draw): Bytes[] {
  return draw.list(4, () => (draw.oneIn(25) ? draw.pick(["-", "+", "x", "", "1--0"]) : smallId(draw)));
}

function smallId(draw: Draw): Bytes {
  return draw.oneIn(6) ? `${draw.below(8)}` : `${draw.below(9)}-${draw.below(6)}`;
}

function groupOptions(draw: Draw): Bytes[] {
  return draw.options(
    [
      () => ["MKSTREAM"],
      () => ["MKSTREAM"],
      () => ["ENTRIESREAD", draw.oneIn(3) ? smallInteger(draw) : `${draw.below(9)}`],
    ],
    2,
  );
}

/** Counts beyond 2^53 are stored as that (skip list). */
function smallInteger(draw: Draw): Bytes {
  const text = draw.count();
  return text.length > 15 && !/[^\d-]/.test(text) ? "-1" : text;
}

function claimOptions(draw: Draw): Bytes[] {
  return draw.options([
    () => ["JUSTID"],
    () => ["FORCE"],
    () => ["IDLE", draw.pick(["0", "50000000", "-1", "x"])],
    () => ["TIME", draw.pick(["0", "1000", "1700000000000", "-1", "9223372036854775807"])],
    () => ["RETRYCOUNT", draw.pick(["0", "7", "-1", "x"])],
    () => ["LASTID", id(draw)],
  ]);
}

/** Numbers of entries around those at which the servers begin another chunk. */
const DUMPED_COUNTS: readonly number[] = [0, 1, 5, 99, 100, 101, 250];

function dumpedStream(draw: Draw): Dumped {
  const count = draw.pick(DUMPED_COUNTS);
  const isLong = draw.oneIn(4);
  const entries = Array.from({ length: count }, (_, i) => ({
    ms: 1 + (i >> 5),
    seq: draw.oneIn(3) ? (i % 32) * 1_000 : (i % 32) * 1_000 + draw.below(900),
    names: draw.oneIn(8) ? ["one", draw.text()] : ["name"],
    values: [] as Bytes[],
  })).map((entry) => ({
    ...entry,
    values: entry.names.map(() => (isLong ? "x".repeat(draw.below(300)) : draw.value())),
  }));
  const last = entries.at(-1) ?? { ms: 0, seq: 0 };
  const lastId = draw.oneIn(2) ? { ms: last.ms, seq: last.seq } : { ms: last.ms + 1, seq: 0 };
  const some = entries.filter(() => draw.oneIn(4)).map(({ ms, seq }) => ({ ms, seq }));
  const stream: DumpedStream = {
    kind: "stream",
    entries,
    lastId,
    maxDeletedId: draw.oneIn(2) ? { ms: 0, seq: 0 } : { ms: 0, seq: 1 + draw.below(3) },
    addedCount: count + draw.below(4),
    groups: draw.pick([
      [],
      [
        {
          name: "g",
          lastId: some.at(-1) ?? { ms: 0, seq: 0 },
          readCount: draw.oneIn(2) ? undefined : some.length,
          consumers: ["alice", "bob"].map((name, index) => ({
            name,
            seenMs: 1_700_000_000_000,
            pending: some
              .filter((_, place) => place % 2 === index)
              .map((one) => ({ ...one, deliveredAtMs: 1_700_000_000_000, deliveryCount: 1 + draw.below(3) })),
          })),
        },
      ],
    ]),
  };
  return stream;
}

/** No program runs that long. */
const IDLE_MS_MIN = 10_000_000;

/** Times since the epoch; smaller numbers are counts. */
const MOMENT_MS_MIN = 1_500_000_000_000;

/**
 * Replies of XINFO, without what newer versions of Redis, or the hosted service, count differently (skip list): consumers
 * without pending entries, and the progress of groups. Chunks depend on the server, and time advances for one.
 */
export const asStreamInfo: Comparison = ({ command, ours, theirs }) => {
  const subcommand = (command[1] ?? "").toUpperCase();
  if (subcommand === "HELP" && isList(ours)) return isList(theirs);
  if (subcommand === "CREATECONSUMER" && typeof ours === "number") return typeof theirs === "number";
  // Over HTTP, as here, an unknown group has no consumers.
  if (subcommand === "CONSUMERS" && isList(ours) && ours.length === 0 && isNoGroup(theirs)) return true;
  return isSameInfo(comparablePart(ours), comparablePart(theirs), "");
};

/** All that XINFO tells of a stream, beside the same after a restart, which makes new chunks. */
export const asRebuiltStream: Comparison = ({ ours, theirs }) => isSameInfo(ours, theirs, "");

function isNoGroup(reply: RawReply): boolean {
  return (
    typeof reply === "object" && reply !== null && "error" in reply && reply.error.text.startsWith("NOGROUP No such")
  );
}

const UNCOMPARED_FIELDS: ReadonlySet<RawReply> = new Set([
  ...["entries-read", "lag"],
  ...["idle", "inactive", "seen-time", "active-time"],
]);

/** Removes these fields, the number of consumers, and consumers without pending entries, at any depth. */
function comparablePart(reply: RawReply): RawReply {
  if (!isList(reply)) return reply;
  const [first] = reply;
  if (first !== "name") return reply.filter((one) => !isIdleConsumer(one)).map(comparablePart);
  const kept: RawReply[] = [];
  for (let i = 0; i < reply.length; i += 2) {
    const [name = null, value = null] = reply.slice(i, i + 2);
    if (UNCOMPARED_FIELDS.has(name) || (name === "consumers" && typeof value === "number")) continue;
    kept.push(name, comparablePart(value));
  }
  return kept;
}

/** A consumer without pending entries, as XINFO CONSUMERS or XINFO STREAM FULL has it. */
function isIdleConsumer(reply: RawReply): boolean {
  if (!isList(reply) || reply[0] !== "name") return false;
  const hasTime = reply.includes("idle") || reply.includes("seen-time");
  const at = reply.findIndex((part) => part === "pel-count" || part === "pending");
  return hasTime && reply[at + 1] === 0;
}

function isSameInfo(ours: RawReply, theirs: RawReply, name: RawReply): boolean {
  if (isList(ours) && isList(theirs)) {
    return (
      ours.length === theirs.length &&
      ours.every((one, i) => isSameInfo(one, theirs[i] ?? null, i % 2 === 1 ? (ours[i - 1] ?? null) : ""))
    );
  }
  if (name === "radix-tree-keys" || name === "radix-tree-nodes") return typeof theirs === "number";
  const isTime = name === "idle" || (typeof ours === "number" && ours > MOMENT_MS_MIN);
  return isTime ? asMilliseconds({ command: [], ours, theirs }) : isSame(ours, theirs);
}

/** How long entries have been pending. */
const asPending: Comparison = ({ command, ours, theirs }) => {
  if (command.length === 3 || !isList(ours) || !isList(theirs)) return isSame(ours, theirs);
  return (
    ours.length === theirs.length &&
    ours.every((one, i) => {
      const other = theirs[i] ?? null;
      if (!isList(one) || !isList(other)) return false;
      return one.every((part, place) => {
        const exchange = { command, ours: part, theirs: other[place] ?? null };
        return place === 2 ? asMilliseconds(exchange) : isSame(part, exchange.theirs);
      });
    })
  );
};

const NOT_GREATER = "ERR The ID specified in XADD is equal or smaller than the target stream top item";
const TOO_LARGE = "ERR Elements are too large to be stored";

/** Where `ms-*` finds no sequence number left, Redis 7.0 reports the error that was set before. */
const asAdded: Comparison = ({ ours, theirs }) =>
  isSame(ours, theirs) || (hasText(ours, NOT_GREATER) && hasText(theirs, TOO_LARGE));

function hasText(reply: RawReply, text: string): boolean {
  return isSame(reply, { kind: "error", error: { text } });
}

const add = (draw: Draw): Bytes[] => {
  const options = draw.oneIn(5) ? trimming(draw) : draw.oneIn(12) ? ["NOMKSTREAM"] : [];
  return ["XADD", key(draw), ...options, addedId(draw), ...pairs(draw)];
};

const readGroup = (draw: Draw): Bytes[] => [
  ...["XREADGROUP", "GROUP", group(draw), consumer(draw)],
  ...readOptions(draw),
  ...streams(draw, ">"),
];

const claim = (draw: Draw): Bytes[] => [
  ...["XCLAIM", key(draw), group(draw), consumer(draw), idleMs(draw)],
  ...ids(draw),
  ...claimOptions(draw),
];

const REFERENCES: readonly Bytes[] = ["KEEPREF", "DELREF", "ACKED"];

export const streamFamily: Family = {
  name: "stream",
  // A wrong word could delete an id above those of XSETID.
  undamaged: new Set(["XDEL"]),
  commands: [
    ...Array.from({ length: 10 }, () => add),
    ...Array.from({ length: 4 }, () => readGroup),
    ...Array.from({ length: 2 }, () => claim),
    (draw) => ["RESTORE", key(draw), "0", writePayload(dumpedStream(draw)).latin1Slice(), "REPLACE"],
    (draw) => ["DUMP", key(draw)],
    (draw) => ["XACK", key(draw), group(draw), ...ids(draw)],
    (draw) => ["XACK", key(draw), group(draw), ...ids(draw)],
    (draw) => [
      ...["XAUTOCLAIM", key(draw), group(draw), consumer(draw), idleMs(draw), draw.oneIn(2) ? "-" : rangeId(draw)],
      ...draw.options([() => ["COUNT", smallInteger(draw)], () => ["COUNT", "1"], () => ["JUSTID"]], 2),
    ],
    (draw) => ["XDEL", key(draw), ...deletedIds(draw)],
    (draw) => ["XDEL", key(draw), ...deletedIds(draw)],
    (draw) => ["XGROUP", "CREATE", key(draw), group(draw), draw.oneIn(2) ? "0" : id(draw), ...groupOptions(draw)],
    (draw) => ["XGROUP", "CREATE", key(draw), group(draw), draw.oneIn(3) ? "$" : "0", ...groupOptions(draw)],
    (draw) => ["XGROUP", "SETID", key(draw), group(draw), draw.oneIn(3) ? "$" : id(draw), ...groupOptions(draw)],
    (draw) => ["XGROUP", "CREATECONSUMER", key(draw), group(draw), consumer(draw)],
    (draw) => ["XGROUP", "DELCONSUMER", key(draw), group(draw), consumer(draw)],
    (draw) => (draw.oneIn(3) ? ["XGROUP", "DESTROY", key(draw), group(draw)] : ["XLEN", key(draw)]),
    (draw) => (draw.oneIn(3) ? ["XGROUP", "HELP"] : ["XINFO", "HELP"]),
    (draw) => ["XINFO", "CONSUMERS", key(draw), group(draw)],
    (draw) => ["XINFO", "GROUPS", key(draw)],
    (draw) => ["XINFO", "GROUPS", key(draw)],
    (draw) => ["XINFO", "STREAM", key(draw)],
    (draw) => ["XINFO", "STREAM", key(draw), "FULL", ...draw.options([() => ["COUNT", draw.count()]], 1)],
    (draw) => ["XPENDING", key(draw), group(draw)],
    (draw) => [
      ...["XPENDING", key(draw), group(draw), ...(draw.oneIn(2) ? ["IDLE", idleMs(draw)] : [])],
      ...[rangeId(draw), rangeId(draw), draw.oneIn(2) ? "10" : draw.count()],
      ...(draw.oneIn(2) ? [consumer(draw)] : []),
    ],
    (draw) => ["XRANGE", key(draw), rangeId(draw), rangeId(draw), ...draw.options([() => ["COUNT", draw.count()]], 1)],
    (draw) => ["XRANGE", key(draw), "-", rangeId(draw), ...draw.options([() => ["COUNT", draw.count()]], 1)],
    (draw) => [
      "XREVRANGE",
      key(draw),
      rangeId(draw),
      rangeId(draw),
      ...draw.options([() => ["COUNT", draw.count()]], 1),
    ],
    (draw) => ["XREVRANGE", key(draw), "+", rangeId(draw), ...draw.options([() => ["COUNT", draw.count()]], 1)],
    (draw) => ["XREAD", ...readOptions(draw).filter((word) => word !== "NOACK"), ...streams(draw, "0")],
    (draw) => [
      "XREAD",
      ...draw.options([() => ["COUNT", "2"], () => ["NOACK"], () => ["GROUP", "g", "c"]], 1),
      ...streams(draw, "$"),
    ],
    (draw) => [
      ...["XSETID", key(draw), draw.pick(SET_IDS)],
      ...draw.options([() => ["ENTRIESADDED", smallInteger(draw)], () => ["MAXDELETEDID", smallId(draw)]], 2),
    ],
    (draw) => ["XTRIM", key(draw), ...trimming(draw)],
    (draw) => ["XTRIM", key(draw), draw.pick(["MAXLEN", "MINID"]), `${draw.below(9)}`],
  ],
  extensions: [
    (draw) => ["XADD", key(draw), "*", ...pairs(draw)],
    (draw) => ["XADD", key(draw), draw.pick(REFERENCES), "MAXLEN", "~", draw.count(), addedId(draw), ...pairs(draw)],
    (draw) => ["XTRIM", key(draw), draw.pick(["MAXLEN", "MINID"]), "~", `${draw.below(9)}`, draw.pick(REFERENCES)],
    (draw) => ["XTRIM", key(draw), "MAXLEN", "~", "1", "LIMIT", draw.count()],
    (draw) => [
      ...["XREADGROUP", "GROUP", group(draw), consumer(draw), "CLAIM", draw.pick(["0", "0", "5000", "x"])],
      ...readOptions(draw),
      ...streams(draw, ">"),
    ],
    (draw) => ["XDELEX", key(draw), draw.pick(REFERENCES), "IDS", "2", id(draw), id(draw)],
    (draw) => ["XACKDEL", key(draw), group(draw), draw.pick(REFERENCES), "IDS", "2", id(draw), id(draw)],
  ],
  comparisons: new Map<string, Comparison>([
    ["XADD", asAdded],
    ["XGROUP", asStreamInfo],
    ["XINFO", asStreamInfo],
    ["XPENDING", asPending],
    ["DUMP", asDump],
  ]),
};
