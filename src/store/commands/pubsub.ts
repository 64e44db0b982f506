/**
 * Publish and subscribe: publishing, subscribing, and PUBSUB. Over HTTP clients
 * subscribe with an event stream, which is not a command.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, noKeys, type Row } from "../command.ts";
import { malformedSubcommand } from "../errors.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, nil, type Reply } from "../reply/reply.ts";
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
  "    Return an empty list: sharded channels do not exist.",
  "SHARDNUMSUB [<channel> ...]",
  "    Return these channels, each with 0: sharded channels do not exist.",
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
      run: channels,
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
      summary: "Returns an empty list: sharded channels do not exist",
      arity: -2,
      flags: FLAGS,
      keys: noKeys,
      run: ({ arg, argCount }) => {
        if (argCount > 3) throw malformedSubcommand("PUBSUB", arg(1));
        return emptyArray;
      },
    },
    {
      name: "SHARDNUMSUB",
      summary: "Returns 0 for each channel: sharded channels do not exist",
      arity: -2,
      flags: FLAGS,
      keys: noKeys,
      run: (call) => counted(call, () => 0),
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
    runInSession: (session, words) => subscribe(session, words, { name: "psubscribe", isPattern: true }),
  },
  {
    ...listenerFacts,
    name: "PUNSUBSCRIBE",
    summary: "Unsubscribes from patterns, by default from all",
    arity: -1,
    runInSession: (session, words) => unsubscribe(session, words, { name: "punsubscribe", isPattern: true }),
  },
  {
    ...listenerFacts,
    name: "SUBSCRIBE",
    summary: "Subscribes to channels",
    arity: -2,
    channels: { first: 1, last: -1, arePatterns: false },
    runInSession: (session, words) => subscribe(session, words, { name: "subscribe", isPattern: false }),
  },
  {
    ...listenerFacts,
    name: "UNSUBSCRIBE",
    summary: "Unsubscribes from channels, by default from all",
    arity: -1,
    runInSession: (session, words) => unsubscribe(session, words, { name: "unsubscribe", isPattern: false }),
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
  const named = words.length > 1 ? words.slice(1) : session.listening.names(turn.isPattern);
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

function channels({ database, arg, argCount }: Call): Reply {
  if (argCount > 3) throw malformedSubcommand("PUBSUB", arg(1));
  const budget = new ReplyBudget();
  const found: Bytes[] = [];
  for (const channel of database.pubsub.channels()) {
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
