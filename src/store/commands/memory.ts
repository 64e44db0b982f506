/**
 * MEMORY: what a key takes. The subcommands of Redis that tell of its
 * allocator do not exist, since there is nothing true to tell.
 */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { looked } from "../command-keys.ts";
import { syntaxError } from "../errors.ts";
import { integer, nil, type Reply } from "../reply.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "USAGE <key> [SAMPLES <count>]",
  "    About how many bytes the key and its value take. All elements are always counted, so SAMPLES changes nothing.",
];

export const memoryRow: Row = {
  name: "MEMORY",
  summary: "Commands that tell how much memory is used",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    helpRow(helpLines),
    {
      name: "USAGE",
      summary: "About how many bytes a key and its value take",
      arity: -3,
      flags: ["readonly", "powerful"],
      categories: [],
      keys: secondKey,
      keyUses: [looked],
      run: usage,
    },
  ],
  run: () => nil,
};

function usage({ keyspace, arg, word, integer: integerAt, argCount }: Call): Reply {
  for (let i = 3; i < argCount; i += 2) {
    if (word(i) !== "SAMPLES" || i + 1 >= argCount) throw syntaxError;
    if (integerAt(i + 1) < 0) throw syntaxError;
  }
  const key = arg(2);
  return keyspace.has(key) ? integer(keyspace.usedBytesOf(key)) : nil;
}
