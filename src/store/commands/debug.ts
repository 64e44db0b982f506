/**
 * DEBUG: what the tests of Redis inspect and change. It is available only over
 * TCP, in a store that was started for them (`redis-compat.ts`).
 *
 * Other subcommands of Redis (crashes, leaks, statistics of its allocator and of
 * its encodings) do not apply here and do not exist.
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

/** Less than the time after which an unresponsive thread makes the server not ready. */
const PAUSE_SECONDS_MAX = 3;
const POPULATE_COUNT_MAX = 1_000_000;
const POPULATED_BYTES_MAX = 1024 * 1024;
/** Redis' limit for the longest element of a packed node. */
const PACKED_THRESHOLD_MAX = 2 ** 32 - 2 ** 20;
/** The bytes around the value in a dump: its type, the version and the checksum. */
const PAYLOAD_FRAME_BYTES = 11;

const facts: Pick<Row, "flags" | "keys"> = {
  flags: ["admin", "noscript", "loading", "stale", "tcp-only", "compat-only"],
  keys: noKeys,
};

const helpLines: readonly string[] = [
  "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DIGEST",
  "    Return a digest of all keys. Equal data have equal digests.",
  "DIGEST-VALUE <key> [<key> ...]",
  "    Return digests of the values at keys.",
  "ERROR <text>",
  "    Return the text as an error.",
  "OBJECT <key>",
  "    Describe how the value at a key is stored.",
  "POPULATE <count> [<prefix>] [<size>]",
  "    Create <count> string keys of <size> bytes, named key:<number> or <prefix>:<number>.",
  "QUICKLIST-PACKED-THRESHOLD <size>",
  "    Changes nothing: lists choose their own encoding.",
  "RELOAD",
  "    Rebuild all keys, as a restart would.",
  "SET-ACTIVE-EXPIRE <0|1>",
  "    Stop the active expiry cycle with 0, start it again with 1.",
  "SLEEP <seconds>",
  `    Block the store for some seconds, ${PAUSE_SECONDS_MAX} at most.`,
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
        summary: "Returns a digest of all keys; equal data have equal digests",
        arity: 2,
        run: ({ keyspace }) => simple(digestOfKeys(keyspace)),
      },
      {
        ...facts,
        name: "DIGEST-VALUE",
        summary: "Returns digests of the values at keys",
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
        summary: "Returns the text as an error",
        arity: 3,
        run: ({ arg }) => {
          throw new CommandError(arg(2));
        },
      },
      helpRow(helpLines, facts),
      {
        ...facts,
        name: "OBJECT",
        summary: "Describes how the value at a key is stored, in the terms of Redis",
        arity: 3,
        keys: secondKey,
        run: object,
      },
      {
        ...facts,
        name: "POPULATE",
        summary: "Creates string keys",
        arity: -3,
        flags: [...facts.flags, "write", "denyoom"],
        run: populate,
      },
      {
        ...facts,
        name: "QUICKLIST-PACKED-THRESHOLD",
        summary: "Changes nothing: lists choose their own encoding",
        arity: 3,
        run: ({ arg }) => {
          if ((parseMemorySize(arg(2)) ?? Number.POSITIVE_INFINITY) > PACKED_THRESHOLD_MAX) throw thresholdInvalid;
          return ok;
        },
      },
      {
        ...facts,
        name: "RELOAD",
        summary: "Rebuilds all keys, as a restart would",
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
        summary: "Blocks the store for some seconds",
        arity: 3,
        run: (call) => {
          // As Redis: an invalid number counts as 0.
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
  assert(compat !== undefined, "DEBUG runs only in a store for the tests of Redis");
  return compat;
}

function object({ keyspace, arg }: Call): Reply {
  const key = arg(2);
  const value = keyspace.peek(key);
  if (value === undefined) throw noSuchKey;
  // A policy that counts uses does not store their times.
  const idleSeconds = keyspace.countsUses ? 0 : keyspace.idleSecondsOf(key);
  const lastUsed = Math.floor(keyspace.nowMs / 1_000) - idleSeconds;
  return simple(
    [
      "Value at:0x0",
      "refcount:1",
      `encoding:${typeOf(value).encoding(value)}`,
      `serializedlength:${writePayload(dumpedOf(value)).length - PAYLOAD_FRAME_BYTES}`,
      // Redis stores 24 bits of it.
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
