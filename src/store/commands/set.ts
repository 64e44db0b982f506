/**
 * Set commands. A set contains distinct members and exists while it has one.
 * Unions, intersections and differences are in `set-operations.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey, firstTwoKeys } from "../command.ts";
import { notBetween, syntaxError, wrongType } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { addMembers, removeMembers } from "../mutations/set.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, emptyArray, integer, nil, one, type Reply, set, zero } from "../reply/reply.ts";
import { INTEGER_MAX } from "../structures/numbers/number-text.ts";
import { samplePlaces } from "../structures/sample.ts";
import { SetValue } from "../values/set.ts";
import { inserted, looked, reduced, taken } from "./command-keys.ts";
import { readCursor, readScanOptions, scanSome } from "./scan.ts";
import { membersOf, setOperationRows } from "./set-operations.ts";

export const setCommands = family("set", [
  {
    name: "SADD",
    summary: "Adds members and returns how many are new",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: ({ keyspace, arg, argsFrom }) => {
      const key = arg(1);
      // Refuses other types.
      keyspace.readSet(key);
      const count = addMembers(keyspace, key, argsFrom(2));
      if (count > 0) keyspace.notify(events.sadd, key);
      return count;
    },
  },
  {
    name: "SCARD",
    summary: "Returns the number of members",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => integer(keyspace.readSet(arg(1))?.size ?? 0),
  },
  {
    name: "SISMEMBER",
    summary: "Returns whether a set has a member",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => (keyspace.readSet(arg(1))?.has(arg(2)) === true ? one : zero),
  },
  {
    name: "SMEMBERS",
    summary: "Returns all members",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg }) => {
      const value = keyspace.readSet(arg(1));
      return value === undefined ? set([]) : membersOf(value);
    },
  },
  {
    name: "SMISMEMBER",
    summary: "Returns which of several members a set has",
    arity: -3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: ({ keyspace, arg, argsFrom }) => {
      const value = keyspace.readSet(arg(1));
      return argsFrom(2).map((member) => (value?.has(member) === true ? one : zero));
    },
  },
  {
    name: "SMOVE",
    summary: "Moves a member from one set to another",
    arity: 4,
    flags: ["write", "fast"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: smove,
  },
  {
    name: "SPOP",
    summary: "Removes random members and returns them",
    arity: -2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: spop,
  },
  {
    name: "SRANDMEMBER",
    summary: "Returns random members",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: srandmember,
  },
  {
    name: "SREM",
    summary: "Removes members and returns the number removed",
    arity: -3,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [reduced],
    run: ({ keyspace, arg, argsFrom }) => {
      const key = arg(1);
      if (keyspace.readSet(key) === undefined) return zero;
      const count = removeMembers(keyspace, key, argsFrom(2));
      if (count > 0) keyspace.notifyTaken(events.srem, key);
      return count;
    },
  },
  {
    name: "SSCAN",
    summary: "Iterates over the members",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    run: sscan,
  },
  ...setOperationRows,
]);

function smove({ keyspace, arg }: Call): Reply {
  const from = arg(1);
  const to = arg(2);
  const member = arg(3);
  const source = keyspace.find(from);
  const target = keyspace.find(to);
  // As Redis: if the source does not exist, the type of the target is not checked.
  if (source === undefined) return zero;
  if (!(source instanceof SetValue) || (target !== undefined && !(target instanceof SetValue))) throw wrongType;
  if (!source.has(member)) return zero;
  if (from === to) return one;
  removeMembers(keyspace, from, [member]);
  keyspace.notifyTaken(events.srem, from);
  if (addMembers(keyspace, to, [member]) > 0) keyspace.notify(events.sadd, to);
  return one;
}

function spop(call: Call): Reply {
  const { keyspace, arg, argCount, random } = call;
  if (argCount > 3) throw syntaxError;
  const key = arg(1);
  if (argCount === 2) {
    const value = keyspace.readSet(key);
    if (value === undefined) return nil;
    const member = value.memberAt(random.below(value.size));
    removeMembers(keyspace, key, [member]);
    keyspace.notifyTaken(events.spop, key);
    return bulk(member);
  }
  const count = call.countFromZero(2);
  const value = keyspace.readSet(key);
  if (value === undefined || count === 0) return set([]);
  if (count >= value.size) {
    const all = membersOf(value);
    removeKey(keyspace, key);
    keyspace.notifyTaken(events.spop, key);
    return all;
  }
  const members = drawDifferent(value, call, count);
  removeMembers(keyspace, key, members);
  keyspace.notifyTaken(events.spop, key);
  return set(members);
}

function srandmember(call: Call): Reply {
  const { keyspace, arg, argCount, random } = call;
  if (argCount > 3) throw syntaxError;
  if (argCount === 2) {
    const value = keyspace.readSet(arg(1));
    return value === undefined ? nil : value.memberAt(random.below(value.size));
  }
  if (call.integer(2) < -INTEGER_MAX) throw notBetween(String(-INTEGER_MAX), String(INTEGER_MAX));
  const count = call.count(2);
  const value = keyspace.readSet(arg(1));
  if (value === undefined || count === 0) return emptyArray;
  if (count > 0) return drawDifferent(value, call, count);
  // A negative count draws each member again, so one may repeat.
  const budget = new ReplyBudget();
  budget.expect(-count);
  const members: Bytes[] = [];
  for (let draws = count; draws < 0; draws += 1) {
    const member = value.memberAt(random.below(value.size));
    budget.take(member.length);
    members.push(member);
  }
  return members;
}

/** Up to `count` distinct members. Throws `replyTooLarge`. */
function drawDifferent(value: SetValue, { random }: Call, count: number): Bytes[] {
  const budget = new ReplyBudget();
  budget.expect(Math.min(count, value.size));
  return samplePlaces(value.size, count, random).map((place) => {
    const member = value.memberAt(place);
    budget.take(member.length);
    return member;
  });
}

function sscan(call: Call): Reply {
  const { keyspace, arg } = call;
  const cursor = readCursor(arg(2));
  const value = keyspace.readSet(arg(1));
  // As Redis: if the key does not exist, the options are not checked.
  if (value === undefined) return ["0", emptyArray];
  const { count, matches } = readScanOptions(call, 3, []);
  const budget = new ReplyBudget();
  const members: Bytes[] = [];
  const next = scanSome(cursor, count, {
    step: (at, visit) => value.scan(at, visit),
    visit: (place) => {
      const member = value.memberAt(place);
      if (!matches(member)) return;
      budget.take(member.length);
      members.push(member);
    },
  });
  return [String(next), members];
}
