/**
 * Publish and subscribe: publishing, subscribing, and PUBSUB. Over HTTP clients
 * subscribe with an event stream, which is not a command.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { allKeys, type Call, family, firstKey, noKeys, type Row } from "../command.ts";
import { malformedSubcommand, shardInTransaction } from "../errors.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { nil, type Reply } from "../reply/reply.ts";
import type { Turn } from "../session/listening.ts";
import type { Session } from "../session/session.ts";
import { matchesGlob } from "../structures/glob.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "CHANNELS [<pattern>]",
  "    List the channels with subscribers by name, or those that match the pattern.",
  "NUMPAT",
  "    Return the number of patterns with subscribers.",
  "NUMSUB [<channel> ...]",
  "    Return these channels, each with its number of subscribers by name.",
  "SHARDCHANNELS [<pattern>]",
  "    List the shard channels with subscribers, or those that match the pattern.",
  "SHARDNUMSUB [<channel> ...]",
  "    Return these shard channels, each with its number of subscribers.",
];

const listenerFacts: Pick<Row, "flags" | "keys" | "run"> = {
  flags: ["pubsub", "noscript", "loading", "stale", "tcp-only", "while-listening"],
  keys: noKeys,
  run: () => nil,
};

const FLAGS = ["pubsub", "loading", "stale"] as const;

const pubsubRow: Row = {
  name: "PUBSUB",
  summary: "Commands for channels and subscribers",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "CHANNELS",
      summary: "Lists the channels with subscribers by name",
      arity: -2,
      flags: FLAGS,
      keys: noKeys,
      run: (call) => matching(call, call.database.pubsub.channels()),
    },
    helpRow(helpLines, { categories: [] }),
    {
      name: "NUMPAT",
      summary: "Returns the number of patterns with subscribers",
      arity: 2,
      flags: FLAGS,
      keys: noKeys,
      run: ({ database }) => database.pubsub.patternCount,
    },
    {
      name: "NUMSUB",
      summary: "Returns the numbers of subscribers of channels by name",
      arity: -2,
      flags: [...FLAGS, "public"],
      keys: noKeys,
      run: (call) => counted(call, (channel) => call.database.pubsub.subscriberCountOf(channel)),
    },
    {
      name: "SHARDCHANNELS",
      summary: "Lists the shard channels with subscribers",
      arity: -2,
      flags: FLAGS,
      keys: noKeys,
      run: (call) => matching(call, call.database.pubsub.shardChannels()),
    },
    {
      name: "SHARDNUMSUB",
      summary: "Returns the numbers of subscribers of shard channels",
      arity: -2,
      flags: FLAGS,
      keys: noKeys,
      run: (call) => counted(call, (channel) => call.database.pubsub.shardSubscriberCountOf(channel)),
    },
  ],
  run: () => nil,
};

export const pubsubCommands = family("pubsub", [
  {
    name: "PUBLISH",
    summary: "Sends a message to the subscribers of a channel and returns their number",
    arity: 3,
    flags: ["may-replicate", "pubsub", "loading", "stale", "fast"],
    // A channel may have many subscribers.
    isQuick: false,
    keys: noKeys,
    channels: { first: 1, last: 1, arePatterns: false },
    run: ({ database, arg }) => database.pubsub.publish(arg(1), arg(2)),
  },
  pubsubRow,
  {
    ...listenerFacts,
    name: "PSUBSCRIBE",
    summary: "Subscribes to channels that match patterns",
    arity: -2,
    channels: { first: 1, last: -1, arePatterns: true },
    runInSession: (session, words) => subscribe(session, words, { name: "psubscribe", kind: "pattern" }),
  },
  {
    ...listenerFacts,
    name: "PUNSUBSCRIBE",
    summary: "Unsubscribes from patterns, by default from all",
    arity: -1,
    runInSession: (session, words) => unsubscribe(session, words, { name: "punsubscribe", kind: "pattern" }),
  },
  {
    name: "SPUBLISH",
    summary: "Sends a message to the subscribers of a shard channel and returns their number",
    arity: 3,
    flags: ["may-replicate", "pubsub", "loading", "stale", "fast", "tcp-only"],
    isQuick: false,
    keys: noKeys,
    slotWords: firstKey,
    channels: { first: 1, last: 1, arePatterns: false },
    run: ({ database, arg }) => database.pubsub.publishShard(arg(1), arg(2)),
  },
  {
    ...listenerFacts,
    name: "SSUBSCRIBE",
    summary: "Subscribes to shard channels",
    arity: -2,
    slotWords: allKeys,
    channels: { first: 1, last: -1, arePatterns: false },
    runInSession: (session, words) => {
      // Redis allows SUBSCRIBE there, but not this.
      if (session.isExecuting) throw shardInTransaction;
      return subscribe(session, words, { name: "ssubscribe", kind: "shard channel" });
    },
  },
  {
    ...listenerFacts,
    name: "SUBSCRIBE",
    summary: "Subscribes to channels",
    arity: -2,
    channels: { first: 1, last: -1, arePatterns: false },
    runInSession: (session, words) => subscribe(session, words, { name: "subscribe", kind: "channel" }),
  },
  {
    ...listenerFacts,
    name: "SUNSUBSCRIBE",
    summary: "Unsubscribes from shard channels, by default from all",
    arity: -1,
    slotWords: allKeys,
    runInSession: (session, words) => unsubscribe(session, words, { name: "sunsubscribe", kind: "shard channel" }),
  },
  {
    ...listenerFacts,
    name: "UNSUBSCRIBE",
    summary: "Unsubscribes from channels, by default from all",
    arity: -1,
    runInSession: (session, words) => unsubscribe(session, words, { name: "unsubscribe", kind: "channel" }),
  },
]);

/** Each channel is confirmed by its own reply; the last one is the reply of the command. */
function subscribe(session: Session, words: readonly Bytes[], turn: Turn): Reply {
  try {
    return confirm(session, words.slice(1), (name) => session.listening.subscribe(name, turn));
  } finally {
    session.modeChanged();
  }
}

function unsubscribe(session: Session, words: readonly Bytes[], turn: Turn): Reply {
  const named = words.length > 1 ? words.slice(1) : session.listening.names(turn.kind);
  try {
    // Unsubscribing from nothing is confirmed too.
    return confirm(session, named.length === 0 ? [null] : named, (name) => session.listening.unsubscribe(name, turn));
  } finally {
    session.modeChanged();
  }
}

function confirm<T>(session: Session, names: readonly T[], turn: (name: T) => Reply): Reply {
  let last: Reply | undefined;
  for (const name of names) {
    if (last !== undefined) session.say(last);
    last = turn(name);
  }
  return last ?? nil;
}

/** Those of the channels that match the pattern of the command, if it has one. */
function matching({ arg, argCount }: Call, channels: Iterable<Bytes>): Reply {
  if (argCount > 3) throw malformedSubcommand("PUBSUB", arg(1));
  const budget = new ReplyBudget();
  const found: Bytes[] = [];
  for (const channel of channels) {
    if (argCount === 3 && !matchesGlob(arg(2), channel)) continue;
    budget.take(channel.length);
    found.push(channel);
  }
  return found;
}

/** Each channel, followed by its count. */
function counted({ argsFrom }: Call, count: (channel: Bytes) => number): Reply {
  return argsFrom(2).flatMap((channel) => [channel, count(channel)]);
}
