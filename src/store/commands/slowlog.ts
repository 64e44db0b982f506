/** SLOWLOG: the latest slow commands of this database. CONFIG SET sets the threshold. */
import { type Call, noKeys, type Row } from "../command.ts";
import { slowLogCountInvalid, subcommandSyntax } from "../errors.ts";
import { nil, ok, type Reply } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "GET [<count>]",
  "    Return the latest <count> entries (default: 10, -1 means all). Each is an array of",
  "    id, time in seconds, duration in microseconds, words, address and name of the client.",
  "LEN",
  "    Return the number of entries.",
  "RESET",
  "    Remove all entries.",
];

const facts = { flags: ["admin", "loading", "stale"], categories: [], keys: noKeys } as const;

const SHOWN_COUNT = 10;

export const slowlogRow: Row = {
  name: "SLOWLOG",
  summary: "Commands for the slow log",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    { ...facts, name: "GET", summary: "Returns the latest entries of the slow log", arity: -2, run: get },
    helpRow(helpLines, { categories: [] }),
    {
      ...facts,
      name: "LEN",
      summary: "Returns the number of entries of the slow log",
      arity: 2,
      run: ({ database }) => database.slowRuns.log.length,
    },
    {
      ...facts,
      name: "RESET",
      summary: "Removes all entries of the slow log",
      arity: 2,
      run: ({ database }) => {
        database.slowRuns.log.clear();
        return ok;
      },
    },
  ],
  run: () => nil,
};

function get({ database, arg, argCount }: Call): Reply {
  if (argCount > 3) throw subcommandSyntax("SLOWLOG", arg(1));
  return database.slowRuns.log
    .newest(argCount === 2 ? SHOWN_COUNT : readCount(arg(2)))
    .map(({ id, atMs, tookUs, words, address, clientName }) => [
      id,
      Math.floor(atMs / 1_000),
      tookUs,
      words,
      address,
      clientName,
    ]);
}

function readCount(word: string): number {
  const count = parseInteger(word);
  if (count === undefined || count < -1) throw slowLogCountInvalid;
  return count === -1 ? Number.POSITIVE_INFINITY : Number(count);
}
