/**
 * Sorted-set commands that wait until a sorted set has a member: as their
 * namesakes without B where there is one. All who wait for a sorted set stand
 * in one line: each takes something if there is anything.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family } from "../command.ts";
import type { Scored } from "../mutations/sorted-set.ts";
import { nilArray, type Reply } from "../reply/reply.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { taken } from "./command-keys.ts";
import { type End, flatReply, nestedReply, type PairsAtEnd, popPairs, readPairsAtEnd } from "./sorted-set.ts";
import { keysAfterTimeout, keysThenTimeout, readTimeoutMs } from "./waiting.ts";

const LINE = "sorted-set";

export const sortedSetBlockingCommands = family("sorted-set", [
  {
    name: "BZMPOP",
    summary: "As ZMPOP, and waits until one of the sorted sets has a member",
    arity: -5,
    flags: ["write", "blocking", "movablekeys", "tcp-only"],
    keys: keysAfterTimeout,
    keyUses: [taken],
    run: (call) => popOrWait(call, { ...readPairsAtEnd(call, 2), timeoutAt: 1, answer: nestedReply }),
  },
  {
    name: "BZPOPMAX",
    summary: "Removes the member with the highest score, and waits until one of the sorted sets has any",
    arity: -3,
    flags: ["write", "noscript", "blocking", "fast", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "MAX"),
  },
  {
    name: "BZPOPMIN",
    summary: "Removes the member with the lowest score, and waits until one of the sorted sets has any",
    arity: -3,
    flags: ["write", "noscript", "blocking", "fast", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "MIN"),
  },
]);

function popOneOrWait(call: Call, end: End): Reply {
  const timeoutAt = call.argCount - 1;
  const keys = call.argsFrom(1).slice(0, timeoutAt - 1);
  return popOrWait(call, { keys, end, count: 1, timeoutAt, answer: (key, pairs) => [key, ...flatReply(pairs)] });
}

interface Pop extends PairsAtEnd {
  /** Where the time stands. */
  readonly timeoutAt: number;
  readonly answer: (key: Bytes, pairs: readonly Scored[]) => Reply;
}

function popOrWait(call: Call, { keys, end, count, timeoutAt, answer }: Pop): Reply {
  const { keyspace } = call;
  const timeoutMs = readTimeoutMs(call.arg(timeoutAt));
  const pop = (key: Bytes, sortedSet: SortedSetValue): Reply =>
    answer(key, popPairs(keyspace, { key, sortedSet, end, count }));
  for (const key of keys) {
    const sortedSet = keyspace.readSortedSet(key);
    if (sortedSet !== undefined) return pop(key, sortedSet);
  }
  return call.wait({
    keys: [...new Set(keys)],
    timeoutMs,
    timedOut: nilArray,
    line: LINE,
    serve: (key) => {
      const sortedSet = keyspace.peek(key);
      return sortedSet instanceof SortedSetValue ? pop(key, sortedSet) : undefined;
    },
  });
}
