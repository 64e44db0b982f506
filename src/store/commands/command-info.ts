/** COMMAND: information about the table of commands, all read from its rows. */
import type { Bytes } from "../../kernel/bytes.ts";
import { categoriesOf } from "../acl/categories.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import type { AclCategory, CommandFacts, Flag, KeyUse } from "../command-facts.ts";
import {
  commandWithoutKeys,
  commandWithWrongArity,
  commandWithWrongKeys,
  noSuchCommand,
  syntaxError,
} from "../errors.ts";
import { map, nil, type Reply, set, simple } from "../reply/reply.ts";
import { matchesGlob } from "../structures/glob.ts";
import { type FoundKey, findKeys, hasKeys, keyUsesOf } from "./command-keys.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "(no subcommand)",
  "    Return information about all commands.",
  "COUNT",
  "    Return the number of commands.",
  "DOCS [<command-name> ...]",
  "    Describe these commands, or all of them.",
  "GETKEYS <full-command>",
  "    Return the keys of a command.",
  "GETKEYSANDFLAGS <full-command>",
  "    Return the keys of a command, and how it uses them.",
  "INFO [<command-name> ...]",
  "    Return information about these commands, or about all of them.",
  "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
  "    List the names of all commands, or of those that match the filter.",
];

export const commandRow: Row = {
  name: "COMMAND",
  summary: "Returns information about all commands",
  arity: -1,
  flags: ["loading", "stale"],
  categories: ["connection"],
  keys: noKeys,
  subcommands: [
    {
      name: "COUNT",
      summary: "Returns the number of commands",
      arity: 2,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: ({ database }) => database.commands.length,
    },
    {
      name: "DOCS",
      summary: "Describes commands in words",
      arity: -2,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: docs,
    },
    {
      name: "GETKEYS",
      summary: "Returns the keys of a command",
      arity: -4,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: (call) => keysOf(call).map(({ key }) => key),
    },
    {
      name: "GETKEYSANDFLAGS",
      summary: "Returns the keys of a command, and how it uses them",
      arity: -4,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: (call) => keysOf(call).map(({ key, use }) => [key, set(use.flags.map(simple))]),
    },
    helpRow(helpLines, { categories: ["connection"] }),
    {
      name: "INFO",
      summary: "Returns information about commands",
      arity: -2,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: ({ database, argCount, argsFrom }) =>
        argCount === 2
          ? database.commands.map(factsOf)
          : argsFrom(2).map((name) => {
              const command = database.findByFullName(name);
              return command === undefined ? nil : factsOf(command);
            }),
    },
    {
      name: "LIST",
      summary: "Lists the names of all commands, or of some",
      arity: -2,
      flags: ["loading", "stale"],
      categories: ["connection"],
      keys: noKeys,
      run: list,
    },
  ],
  run: ({ database }) => database.commands.map(factsOf),
};

/** Our own flags, which Redis' clients do not know. */
const OWN_FLAGS: ReadonlySet<Flag> = new Set<Flag>([
  "powerful",
  "public",
  "tcp-only",
  "may-replicate",
  "before-login",
  "unqueued",
  "no-transaction",
  "while-listening",
  "runs-queue",
  "compat-only",
]);

const noTips = set([]);
const noSubcommands = set([]);

/** Name, arity, flags, first key, last key, step, ACL categories, tips, key positions, subcommands. */
function factsOf(command: CommandFacts): Reply {
  const { first, last, step } = command.slotWords ?? command.keys;
  return [
    command.fullName,
    command.arity,
    set(command.flags.filter((flag) => !OWN_FLAGS.has(flag)).map(simple)),
    first,
    last,
    step,
    set(categoriesOf(command).map((category) => simple(`@${category}`))),
    noTips,
    set(keySpecificationsOf(command)),
    // As in Redis: a set if the command has no subcommands.
    command.subcommandByName === undefined ? noSubcommands : [...command.subcommandByName.values()].map(factsOf),
  ];
}

/** The word before them, a key and an id: the shortest tail of a command whose keys come after a word. */
const KEYS_AND_IDS = 3;

/** `variable_flags`: some words reduce the use of the key. */
function flagsOf(command: CommandFacts, { flags }: KeyUse): readonly string[] {
  return command.keyUsesWith === undefined ? flags : [...flags, "variable_flags"];
}

/** The key specifications of Redis 7. */
function keySpecificationsOf(command: CommandFacts): readonly Reply[] {
  const { first, last, step, countAt, countStep, after } = command.keys;
  const uses = keyUsesOf(command);
  const firstUse = uses[0] as KeyUse;
  const otherUse = uses[1] ?? firstUse;
  const specification = (
    start: { readonly index: number; readonly use: KeyUse; readonly word?: string },
    type: string,
    facts: readonly (readonly [string, number])[],
  ): Reply =>
    map([
      ["flags", set(flagsOf(command, start.use).map(simple))],
      [
        "begin_search",
        start.word === undefined
          ? map([
              ["type", "index"],
              ["spec", map([["index", start.index]])],
            ])
          : map([
              ["type", "keyword"],
              [
                "spec",
                map([
                  ["keyword", start.word],
                  ["startfrom", start.index],
                ]),
              ],
            ]),
      ],
      [
        "find_keys",
        map([
          ["type", type],
          ["spec", map(facts)],
        ]),
      ],
    ]);
  const found: Reply[] = [];
  const range = (from: number, use: KeyUse, end: number): void => {
    found.push(
      specification({ index: from, use }, "range", [
        // Relative to the first key, or to the end when negative.
        ["lastkey", end < 0 ? end : end - from],
        ["keystep", step],
        ["limit", 0],
      ]),
    );
  };
  const isOneUse = firstUse === otherUse || first === last;
  if (first !== 0) range(first, firstUse, isOneUse ? last : first);
  if (first !== 0 && !isOneUse) range(first + step, otherUse, last);
  if (after !== undefined) {
    found.push(
      specification({ index: -command.arity - KEYS_AND_IDS, use: firstUse, word: after.word }, "range", [
        ["lastkey", -1],
        ["keystep", 1],
        // The keys are the first half of the remaining words.
        ["limit", 2],
      ]),
    );
  }
  if (countAt !== undefined) {
    found.push(
      specification({ index: countAt, use: first === 0 ? firstUse : otherUse }, "keynum", [
        ["keynumidx", 0],
        ["firstkey", 1],
        ["keystep", countStep ?? 1],
      ]),
    );
  }
  return found;
}

function docs({ database, argCount, argsFrom }: Call): Reply {
  const wanted =
    argCount === 2
      ? database.commands
      : argsFrom(2).flatMap((name) => {
          const command = database.findByFullName(name);
          return command === undefined ? [] : [command];
        });
  return docsOf(wanted);
}

function docsOf(commands: Iterable<CommandFacts>): Reply {
  const pairs: [Reply, Reply][] = [];
  for (const { fullName, summary, family, subcommandByName } of commands) {
    const facts: [Reply, Reply][] = [
      ["summary", summary],
      ["group", family],
    ];
    if (subcommandByName !== undefined) facts.push(["subcommands", docsOf(subcommandByName.values())]);
    pairs.push([fullName, map(facts)]);
  }
  return map(pairs);
}

/** The keys of the command after the subcommand. */
function keysOf({ database, argsFrom }: Call): readonly FoundKey[] {
  const words = argsFrom(2);
  let command = database.findCommand(words[0] ?? "");
  if (command?.subcommandByName !== undefined && words.length > 1)
    command = command.subcommandByName.get((words[1] ?? "").toUpperCase());
  if (command === undefined) throw noSuchCommand;
  const { arity } = command;
  if (!hasKeys(command)) throw commandWithoutKeys;
  if (arity >= 0 ? words.length !== arity : words.length < -arity) throw commandWithWrongArity;
  const { keys, isMalformed } = findKeys(command, words);
  // As Redis: a command that may have no keys has none if its number of keys is wrong.
  if (isMalformed && !command.flags.includes("no_mandatory_keys")) throw commandWithWrongKeys;
  return keys;
}

function list({ database, word, arg, argCount }: Call): Reply {
  let isWanted: (command: CommandFacts) => boolean = () => true;
  if (argCount === 5 && word(2) === "FILTERBY") {
    const operand = arg(4);
    const filter = filters.get(word(3));
    if (filter === undefined) throw syntaxError;
    isWanted = (command) => filter(command, operand);
  } else if (argCount !== 2) {
    throw syntaxError;
  }
  const names: Bytes[] = [];
  for (const command of database.commands) {
    for (const one of [command, ...(command.subcommandByName?.values() ?? [])])
      if (isWanted(one)) names.push(one.fullName);
  }
  return names;
}

type Filter = (command: CommandFacts, operand: Bytes) => boolean;

const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  // Modules do not exist, so no command belongs to one.
  ["MODULE", () => false],
  ["ACLCAT", (command, operand) => categoriesOf(command).includes(operand.toLowerCase() as AclCategory)],
  ["PATTERN", (command, operand) => matchesGlob(operand, command.fullName, { ignoreCase: true })],
]);
