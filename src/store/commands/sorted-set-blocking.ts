/**
 * Blocking sorted-set commands: like their namesakes without B if a sorted set
 * has a member, otherwise they wait for one. All clients that wait for a sorted
 * set form one queue: each is served while members remain.
 */
import { type Call, family } from "../command.ts";
import type { Reply } from "../reply/reply.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { taken } from "./command-keys.ts";
import { readPopWords } from "./pop-words.ts";
import { type End, flatReply, nestedReply, popPairs, readEnd } from "./sorted-set.ts";
import { type Awaited, keysAfterTimeout, keysThenTimeout, popFromKeysOrWait, popOrWait } from "./waiting.ts";

const sortedSets: Awaited<SortedSetValue> = {
  type: "zset",
  read: (keyspace, key) => keyspace.readSortedSet(key),
  holds: (value): value is SortedSetValue => value instanceof SortedSetValue,
};

export const sortedSetBlockingCommands = family("sorted-set", [
  {
    name: "BZMPOP",
    summary: "Like ZMPOP, but blocks until one of the sorted sets has a member",
    arity: -5,
    flags: ["write", "blocking", "movablekeys", "tcp-only"],
    keys: keysAfterTimeout,
    keyUses: [taken],
    run: (call) => {
      const { keys, end, count } = readPopWords(call, 2, readEnd);
      return popOrWait(call, sortedSets, {
        keys,
        timeoutAt: 1,
        pop: (keyspace, key, sortedSet) => nestedReply(key, popPairs(keyspace, { key, sortedSet, end, count })),
      });
    },
  },
  {
    name: "BZPOPMAX",
    summary: "Removes and returns the member with the highest score; blocks until one of the sorted sets has any",
    arity: -3,
    flags: ["write", "blocking", "fast", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "MAX"),
  },
  {
    name: "BZPOPMIN",
    summary: "Removes and returns the member with the lowest score; blocks until one of the sorted sets has any",
    arity: -3,
    flags: ["write", "blocking", "fast", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "MIN"),
  },
]);

function popOneOrWait(call: Call, end: End): Reply {
  return popFromKeysOrWait(call, sortedSets, (keyspace, key, sortedSet) => [
    key,
    ...flatReply(popPairs(keyspace, { key, sortedSet, end, count: 1 })),
  ]);
}
