/** SLOWLOG: which commands of this database took long lately. What is slow is set by CONFIG SET. */
import { type Call, noKeys, type Row } from "../command.ts";
import { slowLogCountInvalid, subcommandSyntax } from "../errors.ts";
import { nil, ok, type Reply } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "GET [<count>]",
  "    The newest entries, 10 of them unless a count is given; -1 stands for all. Each is an array of",
  "    id, time in seconds, microseconds that it took, words, address and name of the client.",
  "LEN",
  "    How many entries there are.",
  "RESET",
  "    Forgets all entries.",
];

const facts = { flags: ["admin", "loading", "stale"], categories: [], keys: noKeys } as const;

const SHOWN_COUNT = 10;

export const slowlogRow: Row = {
  name: "SLOWLOG",
  summary: "Commands that took long lately",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    { ...facts, name: "GET", summary: "The newest of the commands that took long", arity: -2, run: get },
    helpRow(helpLines, { categories: [] }),
    {
      ...facts,
      name: "LEN",
      summary: "How many commands the slow log has",
      arity: 2,
      run: ({ database }) => database.slowRuns.log.length,
    },
    {
      ...facts,
      name: "RESET",
      summary: "Empties the slow log",
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
