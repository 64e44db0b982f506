/**
 * DEBUG: what the tests of Redis look at and turn. It is there in a store that
 * was started for them only (`redis-compat.ts`), and over TCP only; everywhere
 * else it is not available.
 *
 * What Redis has besides (crashes, leaks, statistics of its allocator and of
 * its encodings) has nothing to tell here and does not exist.
 */
import { assert } from "../../kernel/assert.ts";
import { type Call, family, noKeys, type Row, secondKey } from "../command.ts";
import {
  CommandError,
  noReloadOptions,
  noSuchKey,
  outOfRange,
  pauseTooLong,
  thresholdInvalid,
  tooManyToPopulate,
} from "../errors.ts";
import { parseMemorySize } from "../memory/memory-settings.ts";
import { putString } from "../mutations/string.ts";
import { nil, ok, type Reply, simple } from "../reply/reply.ts";
import { parseFloat64 } from "../structures/numbers/number-text.ts";
import { writePayload } from "../structures/rdb/payload.ts";
import { dumpedOf } from "../values/dumped-values.ts";
import { digestOfKeys, digestOfValue } from "../values/state-digest.ts";
import { typeOf } from "../values/table.ts";
import { helpRow } from "./help.ts";
import type { RedisCompat } from "./redis-compat.ts";

/** Below the time after which a silent thread makes the server not ready. */
const PAUSE_SECONDS_MAX = 3;
const POPULATE_COUNT_MAX = 1_000_000;
const POPULATED_BYTES_MAX = 1024 * 1024;
/** What Redis takes for the longest element of a packed node. */
const PACKED_THRESHOLD_MAX = 2 ** 32 - 2 ** 20;
/** In front of and behind the value in a dump: its type, the version and the checksum. */
const PAYLOAD_FRAME_BYTES = 11;

const facts: Pick<Row, "flags" | "keys"> = {
  flags: ["admin", "noscript", "loading", "stale", "tcp-only", "compat-only"],
  keys: noKeys,
};

const helpLines: readonly string[] = [
  "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DIGEST",
  "    A digest of all keys, equal where the data are equal.",
  "DIGEST-VALUE <key> [<key> ...]",
  "    Digests of the values at keys.",
  "ERROR <text>",
  "    Answers the text as an error.",
  "OBJECT <key>",
  "    How the value at a key is kept.",
  "POPULATE <count> [<prefix>] [<size>]",
  "    Makes so many string keys, named key:<number> or by the prefix, of so many bytes.",
  "QUICKLIST-PACKED-THRESHOLD <size>",
  "    Changes nothing: lists choose their form by themselves.",
  "RELOAD",
  "    Rebuilds all keys as a restart would.",
  "SET-ACTIVE-EXPIRE <0|1>",
  "    Stops the active expiry cycle with 0, starts it again with 1.",
  "SLEEP <seconds>",
  `    Stops the store, and so everybody, for some seconds, ${PAUSE_SECONDS_MAX} at the most.`,
];

export const debugCommands = family("debug", [
  {
    ...facts,
    name: "DEBUG",
    summary: "Commands for the tests of Redis",
    arity: -2,
    subcommands: [
      {
        ...facts,
        name: "DIGEST",
        summary: "A digest of all keys, equal where the data are equal",
        arity: 2,
        run: ({ keyspace }) => simple(digestOfKeys(keyspace)),
      },
      {
        ...facts,
        name: "DIGEST-VALUE",
        summary: "Digests of the values at keys",
        arity: -2,
        keys: { first: 2, last: -1, step: 1 },
        run: ({ keyspace, argsFrom }) =>
          argsFrom(2).map((key) =>
            simple(digestOfValue(keyspace.peek(key), { expires: keyspace.expiryOf(key) !== undefined })),
          ),
      },
      {
        ...facts,
        name: "ERROR",
        summary: "Answers the text as an error",
        arity: 3,
        run: ({ arg }) => {
          throw new CommandError(arg(2));
        },
      },
      helpRow(helpLines, facts),
      {
        ...facts,
        name: "OBJECT",
        summary: "How the value at a key is kept, in the words of Redis",
        arity: 3,
        keys: secondKey,
        run: object,
      },
      {
        ...facts,
        name: "POPULATE",
        summary: "Makes so many string keys",
        arity: -3,
        flags: [...facts.flags, "write", "denyoom"],
        run: populate,
      },
      {
        ...facts,
        name: "QUICKLIST-PACKED-THRESHOLD",
        summary: "Changes nothing: lists choose their form by themselves",
        arity: 3,
        run: ({ arg }) => {
          if ((parseMemorySize(arg(2)) ?? Number.POSITIVE_INFINITY) > PACKED_THRESHOLD_MAX) throw thresholdInvalid;
          return ok;
        },
      },
      {
        ...facts,
        name: "RELOAD",
        summary: "Rebuilds all keys as a restart would",
        arity: -2,
        run: ({ database, argCount }) => {
          if (argCount > 2) throw noReloadOptions;
          database.reload();
          return ok;
        },
      },
      {
        ...facts,
        name: "SET-ACTIVE-EXPIRE",
        summary: "Stops the active expiry cycle with 0, starts it again with 1",
        arity: 3,
        run: (call) => {
          compatOf(call).isSweeping = (parseFloat64(call.arg(2)) ?? 0) !== 0;
          return ok;
        },
      },
      {
        ...facts,
        name: "SLEEP",
        summary: "Stops the store, and so everybody, for some seconds",
        arity: 3,
        run: (call) => {
          // As Redis, what is no number is no time.
          const seconds = Math.max(0, parseFloat64(call.arg(2)) ?? 0);
          if (seconds > PAUSE_SECONDS_MAX) throw pauseTooLong(PAUSE_SECONDS_MAX);
          compatOf(call).pause(seconds * 1_000);
          return ok;
        },
      },
    ],
    run: () => nil,
  },
]);

function compatOf({ compat }: Call): RedisCompat {
  assert(compat !== undefined, "DEBUG runs only in a store that has what it turns");
  return compat;
}

function object({ keyspace, arg }: Call): Reply {
  const key = arg(2);
  const value = keyspace.peek(key);
  if (value === undefined) throw noSuchKey;
  // A policy that counts uses keeps no times of them.
  const idleSeconds = keyspace.countsUses ? 0 : keyspace.idleSecondsOf(key);
  const lastUsed = Math.floor(keyspace.nowMs / 1_000) - idleSeconds;
  return simple(
    [
      "Value at:0x0",
      "refcount:1",
      `encoding:${typeOf(value).encoding(value)}`,
      `serializedlength:${writePayload(dumpedOf(value)).length - PAYLOAD_FRAME_BYTES}`,
      // Redis keeps 24 bits of it.
      `lru:${lastUsed % 2 ** 24}`,
      `lru_seconds_idle:${idleSeconds}`,
    ].join(" "),
  );
}

function populate({ keyspace, arg, argCount, countFromZero }: Call): Reply {
  const count = countFromZero(2);
  const prefix = argCount > 3 ? arg(3) : "key";
  const length = argCount > 4 ? countFromZero(4) : 0;
  if (count > POPULATE_COUNT_MAX) throw tooManyToPopulate(POPULATE_COUNT_MAX);
  if (length > POPULATED_BYTES_MAX) throw outOfRange;
  for (let number = 0; number < count; number += 1) {
    const key = `${prefix}:${number}`;
    if (keyspace.has(key)) continue;
    const text = `value:${number}`;
    putString(keyspace, key, length === 0 ? text : text.slice(0, length).padEnd(length, "\0"));
  }
  return ok;
}
