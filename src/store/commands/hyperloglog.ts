/**
 * HyperLogLog commands. A HyperLogLog is a string with the bytes of Redis, so
 * GET and SET move it from one server to another.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { allKeys, type Call, family, firstKey } from "../command.ts";
import { raiseRegisters } from "../mutations/hyperloglog.ts";
import { findString, replaceString, setStringRange } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { integer, ok, one, type Reply, zero } from "../reply/reply.ts";
import {
  CARDINALITY_AT,
  cardinalityBytes,
  HyperLogLog,
  type Raise,
  REGISTER_COUNT,
  raiseOf,
} from "../structures/hyperloglog.ts";
import { estimate } from "../structures/hyperloglog-estimate.ts";
import { LargeString } from "../structures/large-string.ts";
import { inserted, read, readAndInserted, readAndStored } from "./command-keys.ts";

export const hyperLogLogCommands = family("hyperloglog", [
  {
    name: "PFADD",
    summary: "Adds elements to a HyperLogLog and returns whether its count may have changed",
    arity: -2,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: add,
  },
  {
    name: "PFCOUNT",
    summary: "Returns the approximate number of distinct elements in the union of HyperLogLogs",
    arity: -2,
    flags: ["readonly", "may-replicate"],
    keys: allKeys,
    keyUses: [readAndStored],
    run: count,
  },
  {
    name: "PFMERGE",
    summary: "Merges HyperLogLogs into the first one",
    arity: -2,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: allKeys,
    keyUses: [readAndInserted, read],
    run: merge,
  },
]);

function add({ keyspace, arg, argCount }: Call): Reply {
  const key = arg(1);
  // Tried on a copy, to detect corruption before anything changes.
  const known = findSketch({ keyspace, key });
  const tried = known === undefined ? HyperLogLog.empty() : HyperLogLog.from(Buffer.from(known.bytes));
  const raises: Raise[] = [];
  for (let i = 2; i < argCount; i += 1) {
    const raise = raiseOf(arg(i));
    if (tried.raise(raise)) raises.push(raise);
  }
  if (known !== undefined && raises.length === 0) return zero;
  raiseRegisters(keyspace, key, raises);
  keyspace.notify(events.pfadd, key);
  return one;
}

function count(call: Call): Reply {
  const { keyspace, arg, argCount } = call;
  if (argCount > 2) {
    const ranks = new Uint8Array(REGISTER_COUNT);
    for (let i = 1; i < argCount; i += 1) findSketch({ keyspace, key: arg(i) })?.raiseInto(ranks);
    return integer(estimate(ranks));
  }
  const key = arg(1);
  const sketch = findSketch({ keyspace, key });
  if (sketch === undefined) return zero;
  const cached = sketch.cachedCardinality;
  if (cached !== undefined) return integer(cached);
  const cardinality = sketch.count();
  // Although a read, it caches the count if the caller may write.
  if (call.mayWrite) {
    const old = findString(keyspace, key);
    setStringRange(keyspace, key, { offset: CARDINALITY_AT, bytes: cardinalityBytes(cardinality), old });
  }
  return integer(cardinality);
}

function merge({ keyspace, arg, argCount }: Call): Reply {
  const ranks = new Uint8Array(REGISTER_COUNT);
  let isDense = false;
  const target = arg(1);
  const known = findSketch({ keyspace, key: target });
  for (let i = 1; i < argCount; i += 1) {
    const sketch = i === 1 ? known : findSketch({ keyspace, key: arg(i) });
    if (sketch === undefined) continue;
    if (sketch.isDense) isDense = true;
    sketch.raiseInto(ranks);
  }
  // Redis looks the target up twice, to read and to write it, and counts both as uses.
  keyspace.use(target);
  const merged = known === undefined ? HyperLogLog.empty() : HyperLogLog.from(Buffer.from(known.bytes));
  if (isDense) merged.makeDense();
  for (let register = 0; register < REGISTER_COUNT; register += 1) {
    const rank = ranks[register] as number;
    if (rank > 0) merged.raise({ register, rank });
  }
  merged.markStale();
  replaceString(keyspace, target, LargeString.fromBuffer(merged.bytes));
  keyspace.notify(events.pfadd, target);
  return ok;
}

/** The HyperLogLog at a key as a view of its string, or undefined. Throws `wrongType`, `notHyperLogLog`. */
function findSketch({ keyspace, key }: { keyspace: Call["keyspace"]; key: Bytes }): HyperLogLog | undefined {
  const value = keyspace.readString(key);
  if (value === undefined) return undefined;
  return HyperLogLog.from(typeof value === "string" ? Buffer.from(value, "latin1") : value.view);
}
