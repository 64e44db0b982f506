/**
 * MEMORY: what a key takes. The subcommands of Redis that tell of its
 * allocator do not exist, since there is nothing true to tell.
 */
import { memoryBytesOf } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { syntaxError } from "../errors.ts";
import { integer, nil, type Reply, simple } from "../reply.ts";
import { valueBytesOf } from "../values.ts";

export const memoryRow: Row = {
  name: "MEMORY",
  summary: "Commands that tell how much memory is used",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "HELP",
      summary: "What the subcommands do",
      arity: 2,
      flags: ["loading", "stale"],
      keys: noKeys,
      run: () => helpLines.map(simple),
    },
    {
      name: "USAGE",
      summary: "About how many bytes a key and its value take",
      arity: -3,
      flags: ["readonly", "powerful"],
      categories: [],
      keys: secondKey,
      run: usage,
    },
  ],
  run: () => nil,
};

const helpLines: readonly string[] = [
  "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "USAGE <key> [SAMPLES <count>]",
  "    About how many bytes the key and its value take. All elements are always counted, so SAMPLES changes nothing.",
  "HELP",
  "    Prints this help.",
];

/** An entry of the table of keys: two pointers, hash, next, stamp, and its share of the buckets. */
const ENTRY_BYTES = 36;
/** An entry of the table of expiries: the same without a stamp, and the moment, a number of its own. */
const EXPIRY_BYTES = 44;

function usage({ keyspace, arg, word, integer: integerAt, argCount }: Call): Reply {
  for (let i = 3; i < argCount; i += 2) {
    if (word(i) !== "SAMPLES" || i + 1 >= argCount) throw syntaxError;
    if (integerAt(i + 1) < 0) throw syntaxError;
  }
  const key = arg(2);
  const value = keyspace.peek(key);
  if (value === undefined) return nil;
  const expiryBytes = keyspace.expiryOf(key) === undefined ? 0 : EXPIRY_BYTES;
  return integer(ENTRY_BYTES + memoryBytesOf(key) + expiryBytes + valueBytesOf(value));
}
