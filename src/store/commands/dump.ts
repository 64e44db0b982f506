/** DUMP and RESTORE: a value in Redis' own format, to move it from one server to another. */
import { bufferFrom } from "../../kernel/bytes.ts";
import { TIME_MS_MAX } from "../../kernel/frame.ts";
import { type Call, firstKey, type Row } from "../command.ts";
import { busyKey, frequencyOutOfRange, negativeIdleTime, negativeTimeToLive, syntaxError } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { putWhole } from "../mutations/whole-value.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, ok, type Reply } from "../reply/reply.ts";
import { readPayload, writePayload } from "../structures/rdb/payload.ts";
import { dumpedOf, valueFrom } from "../values/dumped-values.ts";
import { overwritten } from "./command-keys.ts";

export const dumpRow: Row = {
  name: "DUMP",
  summary: "Returns the value at a key in the format of Redis, for RESTORE",
  arity: 2,
  flags: ["readonly", "powerful"],
  keys: firstKey,
  run: ({ keyspace, arg }) => {
    const value = keyspace.readWhole(arg(1));
    return value === undefined ? nil : writePayload(dumpedOf(value));
  },
};

export const restoreRow: Row = {
  name: "RESTORE",
  summary: "Stores a value that DUMP returned, here or in Redis",
  arity: -4,
  flags: ["write", "denyoom"],
  categories: ["keyspace", "dangerous"],
  keys: firstKey,
  keyUses: [overwritten],
  run: restore,
};

const FREQUENCY_MAX = 255;

function restore(call: Call): Reply {
  const { keyspace, arg, integer } = call;
  const { replaces, isMoment, idleSeconds, frequency } = readOptions(call);
  const key = arg(1);
  if (!replaces && keyspace.use(key)) throw busyKey;
  const timeToLive = integer(2);
  if (timeToLive < 0) throw negativeTimeToLive;
  const value = valueFrom(readPayload(bufferFrom(arg(3))), keyspace.hashSeed);

  const atMs = timeToLive === 0 ? undefined : momentOf(timeToLive, isMoment ? 0 : keyspace.nowMs);
  if (atMs !== undefined && atMs <= keyspace.nowMs) {
    // Already expired: nothing is stored, but the old value is removed.
    if (keyspace.has(key)) {
      removeKey(keyspace, key);
      keyspace.notify(events.del, key);
    }
    return ok;
  }
  putWhole(keyspace, key, { value, atMs });
  keyspace.notify(events.restore, key);
  if (idleSeconds !== undefined) keyspace.setIdleSeconds(key, idleSeconds);
  if (frequency !== undefined) keyspace.setFrequency(key, frequency);
  return ok;
}

function momentOf(time: number | bigint, fromMs: number): number {
  return Math.min(Number(time) + fromMs, TIME_MS_MAX);
}

interface Options {
  readonly replaces: boolean;
  readonly isMoment: boolean;
  readonly idleSeconds: number | undefined;
  readonly frequency: number | undefined;
}

function readOptions({ word, count, integer, argCount }: Call): Options {
  let replaces = false;
  let isMoment = false;
  let idleSeconds: number | undefined;
  let frequency: number | undefined;
  for (let i = 4; i < argCount; i += 1) {
    const option = word(i);
    const hasArgument = i + 1 < argCount;
    if (option === "REPLACE") {
      replaces = true;
    } else if (option === "ABSTTL") {
      isMoment = true;
    } else if (option === "IDLETIME" && hasArgument && frequency === undefined) {
      i += 1;
      idleSeconds = count(i);
      if (idleSeconds < 0) throw negativeIdleTime;
    } else if (option === "FREQ" && hasArgument && idleSeconds === undefined) {
      i += 1;
      frequency = Number(integer(i));
      if (frequency < 0 || frequency > FREQUENCY_MAX) throw frequencyOutOfRange;
    } else {
      throw syntaxError;
    }
  }
  return { replaces, isMoment, idleSeconds, frequency };
}
