/** XINFO: information about a stream, its groups and their consumers. */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { noSuchGroup, noSuchKey, subcommandSyntax } from "../errors.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, map, nil, type Reply } from "../reply/reply.ts";
import { formatId, ID_MAX, ID_MIN } from "../structures/stream-id.ts";
import type { StreamValue } from "../values/stream.ts";
import type { Pending, StreamGroup } from "../values/stream-group.ts";
import { helpRow } from "./help.ts";
import { entryReply, rangeReply } from "./stream-reply.ts";

const helpLines: readonly string[] = [
  "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "CONSUMERS <key> <groupname>",
  "    List the consumers of a group.",
  "GROUPS <key>",
  "    List the groups of a stream.",
  "STREAM <key> [FULL [COUNT <count>]]",
  "    Return information about a stream.",
];

/** The time of a consumer that never got entries. */
const NEVER = -1;

export const xinfoRow: Row = {
  name: "XINFO",
  summary: "Commands for information about a stream",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "CONSUMERS",
      summary: "Lists the consumers of a group",
      arity: 4,
      flags: ["readonly"],
      keys: secondKey,
      run: (call) => {
        const { arg, nowMs, caller } = call;
        const group = existingStream(call).group(arg(3));
        if (group === undefined) {
          // As the hosted service.
          if (caller.transport === "http") return emptyArray;
          throw noSuchGroup(arg(2), arg(3));
        }
        return group.sortedConsumers().map(({ name, pending, seenMs, activeMs }) =>
          map([
            ["name", name],
            ["pending", pending.size],
            ["idle", Math.max(0, nowMs - seenMs)],
            ["inactive", activeMs === undefined ? NEVER : Math.max(0, nowMs - activeMs)],
          ]),
        );
      },
    },
    {
      name: "GROUPS",
      summary: "Lists the groups of a stream",
      arity: 3,
      flags: ["readonly"],
      keys: secondKey,
      run: (call) => {
        const stream = existingStream(call);
        return stream
          .sortedGroups()
          .map((group) =>
            map([
              ["name", group.name],
              ["consumers", group.consumers.size],
              ["pending", group.pending.size],
              ...progressOf(stream, group),
            ]),
          );
      },
    },
    helpRow(helpLines, { categories: ["stream"] }),
    {
      name: "STREAM",
      summary: "Returns information about a stream",
      arity: -3,
      flags: ["readonly"],
      keys: secondKey,
      run: reportStream,
    },
  ],
  run: () => nil,
};

function existingStream({ keyspace, arg }: Call): StreamValue {
  const stream = keyspace.readStream(arg(2));
  if (stream === undefined) throw noSuchKey;
  return stream;
}

type Pairs = readonly (readonly [Reply, Reply])[];

function progressOf(stream: StreamValue, group: StreamGroup): Pairs {
  return [
    ["last-delivered-id", formatId(group.lastId)],
    ["entries-read", group.readCount ?? nil],
    ["lag", stream.lagOf(group) ?? nil],
  ];
}

/** The entries and pending entries that FULL returns without COUNT. */
const FULL_COUNT_DEFAULT = 10;

function reportStream(call: Call): Reply {
  const { arg, word, argCount } = call;
  const stream = existingStream(call);
  let count: number | undefined;
  if (argCount > 3) {
    const isWellFormed = word(3) === "FULL" && (argCount === 4 || (argCount === 6 && word(4) === "COUNT"));
    if (!isWellFormed) throw subcommandSyntax("XINFO", arg(1));
    count = argCount === 4 ? FULL_COUNT_DEFAULT : call.count(5);
    if (count < 0) count = FULL_COUNT_DEFAULT;
  }
  const { entries, length, lastId, maxDeletedId, addedCount, firstId } = stream;
  const known: Pairs = [
    ["length", length],
    // Redis stores its chunks in a radix tree; here they are in an order of two levels.
    ["radix-tree-keys", entries.chunkCount],
    ["radix-tree-nodes", entries.chunkCount + 1],
    ["last-generated-id", formatId(lastId)],
    ["max-deleted-entry-id", formatId(maxDeletedId)],
    ["entries-added", addedCount],
    ["recorded-first-entry-id", formatId(firstId)],
  ];
  if (count === undefined) {
    const { first, last } = entries;
    return map([
      ...known,
      ["groups", stream.groupCount],
      ["first-entry", first === undefined ? nil : entryReply(first)],
      ["last-entry", last === undefined ? nil : entryReply(last)],
    ]);
  }
  const budget = new ReplyBudget();
  const countMax = count === 0 ? Number.POSITIVE_INFINITY : count;
  return map([
    ...known,
    ["entries", rangeReply(stream, { from: ID_MIN, to: ID_MAX, countMax }, budget)],
    ["groups", stream.sortedGroups().map((group) => reportGroup(stream, group, { countMax, budget }))],
  ]);
}

interface Bounds {
  readonly countMax: number;
  readonly budget: ReplyBudget;
}

function reportGroup(stream: StreamValue, group: StreamGroup, bounds: Bounds): Reply {
  return map([
    ["name", group.name],
    ...progressOf(stream, group),
    ["pel-count", group.pending.size],
    [
      "pending",
      somePending(group, bounds, (pending) => [
        formatId(pending),
        pending.consumer.name,
        pending.deliveredAtMs,
        pending.deliveryCount,
      ]),
    ],
    [
      "consumers",
      group.sortedConsumers().map((consumer) =>
        map([
          ["name", consumer.name],
          ["seen-time", consumer.seenMs],
          ["active-time", consumer.activeMs ?? NEVER],
          ["pel-count", consumer.pending.size],
          [
            "pending",
            somePending(consumer, bounds, (pending) => [
              formatId(pending),
              pending.deliveredAtMs,
              pending.deliveryCount,
            ]),
          ],
        ]),
      ),
    ],
  ]);
}

function somePending(
  of: Pick<StreamGroup, "pending">,
  { countMax, budget }: Bounds,
  replyOf: (pending: Pending) => Reply,
): Reply {
  const found: Reply[] = [];
  of.pending.visit(ID_MIN, ID_MAX, (pending) => {
    budget.take(pending.consumer.name.length);
    return found.push(replyOf(pending)) < countMax;
  });
  return found;
}
