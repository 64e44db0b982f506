/**
 * List commands that wait until a list has an element: as their namesakes
 * without B where there is one. All who wait for a list stand in one line: each
 * takes something if there is anything.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstTwoKeys } from "../command.ts";
import type { Keyspace } from "../keyspace.ts";
import type { End } from "../mutations/list.ts";
import { nil, nilArray, type Reply } from "../reply/reply.ts";
import { ListValue } from "../values/list.ts";
import { inserted, taken } from "./command-keys.ts";
import { type Ends, moveOne, popOne, popSome, readEnd, readSomeAtEnd } from "./list.ts";
import { keysAfterTimeout, keysThenTimeout, readTimeoutMs } from "./waiting.ts";

const LINE = "list";

export const listBlockingCommands = family("list", [
  {
    name: "BLMOVE",
    summary: "As LMOVE, and waits until there is an element",
    arity: 6,
    flags: ["write", "denyoom", "noscript", "blocking", "tcp-only"],
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
    summary: "As LMPOP, and waits until one of the lists has an element",
    arity: -5,
    flags: ["write", "blocking", "movablekeys", "tcp-only"],
    keys: keysAfterTimeout,
    keyUses: [taken],
    run: (call) => {
      const { keys, end, count } = readSomeAtEnd(call, 2);
      return popOrWait(call, {
        keys,
        timeoutAt: 1,
        pop: (keyspace, key, list) => [key, popSome(keyspace, key, { list, end, count })],
      });
    },
  },
  {
    name: "BLPOP",
    summary: "Takes the first element of a list, and waits until one of the lists has any",
    arity: -3,
    flags: ["write", "noscript", "blocking", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "left"),
  },
  {
    name: "BRPOP",
    summary: "Takes the last element of a list, and waits until one of the lists has any",
    arity: -3,
    flags: ["write", "noscript", "blocking", "tcp-only"],
    keys: keysThenTimeout,
    keyUses: [taken],
    run: (call) => popOneOrWait(call, "right"),
  },
  {
    name: "BRPOPLPUSH",
    summary: "As RPOPLPUSH, and waits until there is an element",
    arity: 4,
    flags: ["write", "denyoom", "noscript", "blocking", "tcp-only"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: (call) => moveOrWait(call, { fromEnd: "right", toEnd: "left", timeoutAt: 3 }),
  },
]);

function popOneOrWait(call: Call, end: End): Reply {
  const timeoutAt = call.argCount - 1;
  return popOrWait(call, {
    keys: call.argsFrom(1).slice(0, timeoutAt - 1),
    timeoutAt,
    pop: (keyspace, key) => [key, popOne(keyspace, key, end)],
  });
}

interface Pop {
  readonly keys: readonly Bytes[];
  /** Where the time stands. */
  readonly timeoutAt: number;
  /** Takes from a list that there is. */
  readonly pop: (keyspace: Keyspace, key: Bytes, list: ListValue) => Reply;
}

function popOrWait(call: Call, { keys, timeoutAt, pop }: Pop): Reply {
  const { keyspace } = call;
  const timeoutMs = readTimeoutMs(call.arg(timeoutAt));
  for (const key of keys) {
    const list = keyspace.readList(key);
    if (list !== undefined) return pop(keyspace, key, list);
  }
  return call.wait({
    keys: [...new Set(keys)],
    timeoutMs,
    timedOut: nilArray,
    line: LINE,
    serve: (key) => {
      const list = keyspace.peek(key);
      return list instanceof ListValue ? pop(keyspace, key, list) : undefined;
    },
  });
}

function moveOrWait(call: Call, { timeoutAt, ...ends }: Ends & { readonly timeoutAt: number }): Reply {
  const { keyspace, arg } = call;
  const timeoutMs = readTimeoutMs(arg(timeoutAt));
  const move = { from: arg(1), to: arg(2), ...ends };
  if (keyspace.readList(move.from) !== undefined) return moveOne(keyspace, move);
  return call.wait({
    keys: [move.from],
    timeoutMs,
    timedOut: nilArray,
    cannotWait: nil,
    line: LINE,
    serve: (key) => (keyspace.peek(key) instanceof ListValue ? moveOne(keyspace, move) : undefined),
  });
}
