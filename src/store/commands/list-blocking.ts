/**
 * Blocking list commands: like their namesakes without B if a list has an
 * element, otherwise they wait for one. All clients that wait for a list form one
 * queue: each is served while elements remain.
 */
import { type Call, family, firstTwoKeys } from "../command.ts";
import { nil, nilArray, type Reply } from "../reply/reply.ts";
import { ListValue } from "../values/list.ts";
import { inserted, taken } from "./command-keys.ts";
import { type Ends, moveOne, popOne, popSome, readEnd } from "./list.ts";
import { readPopWords } from "./pop-words.ts";
import {
  type Awaited,
  keysAfterTimeout,
  keysThenTimeout,
  popFromKeysOrWait,
  popOrWait,
  readTimeoutMs,
} from "./waiting.ts";

const lists: Awaited<ListValue> = {
  type: "list",
  read: (keyspace, key) => keyspace.readList(key),
  holds: (value): value is ListValue => value instanceof ListValue,
};

export const listBlockingCommands = family("list", [
  {
    name: "BLMOVE",
    summary: "Like LMOVE, but blocks until an element is available",
    arity: 6,
    flags: ["write", "denyoom", "blocking", "tcp-only"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: (call) => {
      const fromEnd = readEnd(call, 3);
      const toEnd = readEnd(call, 4);
      return moveOrWait(call, { fromEnd, toEnd, timeoutAt: 5 });
    },
  },
  {
    name: "BLMPOP",
    summary: "Like LMPOP, but blocks until one of the lists has an element",
    arity: -5,
    flags: ["write", "blocking", "movablekeys", "tcp-only"],
    keys: keysAfterTimeout,
    keyUses: [taken],
    run: (call) => {
      const { keys, end, count } = readPopWords(call, 2, readEnd);
      return popOrWait(call, lists, {
        keys,
        timeoutAt: 1,
        pop: (keyspace, key, list) => [key, popSome(keyspace, key, { list, end, count })],
      });
    },
  },
  {
    name: "BLPOP",
    summary: "Removes and returns the first element of a list; blocks until one of the lists has any",
    arity: -3,
    flags: ["write", "blocking", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popFromKeysOrWait(call, lists, (keyspace, key) => [key, popOne(keyspace, key, "left")]),
  },
  {
    name: "BRPOP",
    summary: "Removes and returns the last element of a list; blocks until one of the lists has any",
    arity: -3,
    flags: ["write", "blocking", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popFromKeysOrWait(call, lists, (keyspace, key) => [key, popOne(keyspace, key, "right")]),
  },
  {
    name: "BRPOPLPUSH",
    summary: "Like RPOPLPUSH, but blocks until an element is available",
    arity: 4,
    flags: ["write", "denyoom", "blocking", "tcp-only"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: (call) => moveOrWait(call, { fromEnd: "right", toEnd: "left", timeoutAt: 3 }),
  },
]);

function moveOrWait(call: Call, { timeoutAt, ...ends }: Ends & { readonly timeoutAt: number }): Reply {
  const { keyspace, arg } = call;
  const timeoutMs = readTimeoutMs(arg(timeoutAt), call.nowMs);
  const move = { from: arg(1), to: arg(2), ...ends };
  if (keyspace.readList(move.from) !== undefined) return moveOne(keyspace, move);
  return call.wait({
    type: lists.type,
    keys: [move.from],
    timeoutMs,
    timedOut: nilArray,
    cannotWait: nil,
    line: lists.type,
    serve: (key) => (keyspace.peek(key) instanceof ListValue ? moveOne(keyspace, move) : undefined),
  });
}
