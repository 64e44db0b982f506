/**
 * ACL: the users of a database and their rights. Rules and texts are those of
 * Redis 7; two commands come from the hosted service, whose users log in to the
 * REST interface with tokens.
 *
 * Users are stored like keys, so SAVE does nothing, and LOAD, which in Redis
 * replaces the users by those of a file, has no file to load.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { secretBytes } from "../../kernel/random.ts";
import { defaultUser, readOnlyUser } from "../acl/built-in-users.ts";
import type { Selector } from "../acl/selector.ts";
import type { User } from "../acl/user.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { REDACTED } from "../command-facts.ts";
import {
  commandNotFound,
  diskRefusal,
  generateTokenUsage,
  passwordBitsInvalid,
  passwordTooWeak,
  restTokenUsage,
  subcommandSyntax,
  unknownCategory,
  userNotFound,
  wrongArity,
  wrongPasswordOf,
} from "../errors.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, double, map, nil, ok, type Reply, set } from "../reply/reply.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "CAT [<category>]",
  "    List the categories of commands, or the commands of one category.",
  "DELUSER <username> [<username> ...]",
  "    Delete users.",
  "DRYRUN <username> <command> [<arg> ...]",
  "    Report whether a user may run a command, without running it.",
  "GENPASS [<bits>]",
  "    Generate a random password.",
  "GENTOKEN <username> [<password>]",
  "    Generate a password for a user that is also a token for the REST interface.",
  "GETUSER <username>",
  "    Show the rights of a user.",
  "LIST",
  "    List all users, as rules.",
  "LOAD",
  "    Does nothing: users are stored like keys.",
  "LOG [<count>|RESET]",
  "    List the latest commands that were refused to users.",
  "RESTTOKEN <username> <password>",
  "    Return the token for the REST interface of a user.",
  "SAVE",
  "    Does nothing: users are stored like keys.",
  "SETUSER <username> <rule> [<rule> ...]",
  "    Create a user, or change one.",
  "USERS",
  "    List the names of all users.",
  "WHOAMI",
  "    Return the name of the current user.",
];

/** For subcommands that reveal no rights. */
const OPEN_FLAGS = ["noscript", "loading", "stale"] as const;
const ADMIN_FLAGS = ["admin", ...OPEN_FLAGS] as const;
/** The family is the server's, which is not a category. */
const facts = { categories: [], keys: noKeys } as const;
/** The log hides the arguments of commands that generate passwords and tokens, names too, as in Redis. */
const shownWords = (words: readonly Bytes[]): readonly Bytes[] =>
  words.map((word, index) => (index < 2 ? word : REDACTED));

export const aclRow: Row = {
  ...facts,
  name: "ACL",
  summary: "Commands for users and their rights",
  arity: -2,
  flags: [],
  subcommands: [
    {
      ...facts,
      name: "CAT",
      summary: "Lists the categories of commands, or the commands of one",
      arity: -2,
      flags: OPEN_FLAGS,
      run: categories,
    },
    {
      ...facts,
      name: "DELUSER",
      summary: "Deletes users and returns how many existed",
      arity: -3,
      flags: ADMIN_FLAGS,
      run: (call) => {
        checkDisk(call);
        return call.database.users.delete(call.argsFrom(2));
      },
    },
    {
      ...facts,
      name: "DRYRUN",
      summary: "Reports whether a user may run a command",
      arity: -4,
      flags: ADMIN_FLAGS,
      run: dryRun,
    },
    {
      ...facts,
      name: "GENPASS",
      summary: "Generates a random password",
      arity: -2,
      flags: OPEN_FLAGS,
      run: generatePassword,
    },
    {
      ...facts,
      name: "GENTOKEN",
      summary: "Generates a password for a user that is also a token for the REST interface",
      arity: -2,
      flags: ADMIN_FLAGS,
      shownWords,
      run: generateToken,
    },
    {
      ...facts,
      name: "GETUSER",
      summary: "Returns the rights of a user",
      arity: 3,
      flags: ADMIN_FLAGS,
      run: getUser,
    },
    helpRow(helpLines, { categories: [] }),
    {
      ...facts,
      name: "LIST",
      summary: "Lists all users, as rules that would create them",
      arity: 2,
      flags: ADMIN_FLAGS,
      run: list,
    },
    {
      ...facts,
      name: "LOAD",
      summary: "Does nothing, since users are stored like keys",
      arity: 2,
      flags: ADMIN_FLAGS,
      run: () => ok,
    },
    {
      ...facts,
      name: "LOG",
      summary: "Lists the latest commands that were refused to users",
      arity: -2,
      flags: ADMIN_FLAGS,
      run: log,
    },
    {
      ...facts,
      name: "RESTTOKEN",
      summary: "Returns the token for the REST interface of a user",
      arity: -2,
      flags: ADMIN_FLAGS,
      shownWords,
      run: restToken,
    },
    {
      ...facts,
      name: "SAVE",
      summary: "Does nothing, since users are stored like keys",
      arity: 2,
      flags: ADMIN_FLAGS,
      run: () => ok,
    },
    {
      ...facts,
      name: "SETUSER",
      summary: "Creates a user or changes its rights, by rules",
      arity: -3,
      flags: ADMIN_FLAGS,
      shownWords,
      run: (call) => {
        checkDisk(call);
        call.database.users.set(call.arg(2), call.argsFrom(3));
        return ok;
      },
    },
    {
      ...facts,
      name: "USERS",
      summary: "Lists the names of all users",
      arity: 2,
      flags: ADMIN_FLAGS,
      run: namesOf,
    },
    {
      ...facts,
      name: "WHOAMI",
      summary: "Returns the name of the current user",
      arity: 2,
      flags: OPEN_FLAGS,
      run: ({ caller }) => caller.user.name,
    },
  ],
  run: () => nil,
};

/** The password of the default user is a token, which the store does not know. */
const DEFAULT_RULES = "on ~* &* +@all";

/** In the order of Redis: by bytes. */
function namesOf({ database: { users } }: Call): readonly Bytes[] {
  return [...users.names(), defaultUser.name].sort();
}

function list(call: Call): Reply {
  const { users } = call.database;
  const budget = new ReplyBudget();
  return namesOf(call).map((name) => {
    const rules = users.find(name)?.rights.describe() ?? [DEFAULT_RULES];
    const line = ["user", name, ...rules].join(" ");
    budget.take(line.length);
    return line;
  });
}

/** These rows are not flagged `write`, as in Redis, although users are written to the journal. */
function checkDisk({ database }: Call): void {
  if (database.journalRefusal !== undefined) throw diskRefusal(database.journalRefusal);
}

function categories({ database: { users }, arg, argCount }: Call): Reply {
  const { table } = users;
  if (argCount === 2) return table.categories.map(bulk);
  if (argCount > 3) throw subcommandSyntax("ACL", arg(1));
  const commands = table.ofCategory(arg(2).toLowerCase());
  if (commands === undefined) throw unknownCategory(arg(2));
  return commands.map(({ fullName }) => fullName);
}

function dryRun({ database, arg, argsFrom }: Call): Reply {
  const name = arg(2);
  const builtIn = [defaultUser, readOnlyUser].find((one) => one.name === name);
  const user: User | undefined = builtIn ?? database.users.find(name);
  if (user === undefined) throw userNotFound(name);
  const words = argsFrom(3);
  let command = database.findCommand(arg(3));
  if (command?.subcommandByName !== undefined && words.length > 1)
    command = command.subcommandByName.get((words[1] as Bytes).toUpperCase());
  if (command === undefined) throw commandNotFound(arg(3));
  const { arity } = command;
  if (arity >= 0 ? words.length !== arity : words.length < -arity) throw wrongArity(command.fullName);
  const denied = user.refusalOf(command, words)?.denied;
  if (denied === undefined) return ok;
  return denied.reason === "command"
    ? `This user has no permissions to run the '${denied.object}' command`
    : `This user has no permissions to access the '${denied.object}' ${denied.reason}`;
}

const PASSWORD_BITS = 256;
const PASSWORD_BITS_MAX = 4_096;

/** Each hexadecimal digit has four bits. */
function generatePassword(call: Call): Reply {
  const { argCount, arg } = call;
  if (argCount > 3) throw subcommandSyntax("ACL", arg(1));
  const bits = argCount === 2 ? PASSWORD_BITS : call.count(2);
  if (bits <= 0 || bits > PASSWORD_BITS_MAX) throw passwordBitsInvalid;
  const digitCount = Math.ceil(bits / 4);
  return secretBytes(Math.ceil(digitCount / 2))
    .toString("hex")
    .slice(0, digitCount);
}

function restToken(call: Call): Reply {
  const { database, arg, argCount } = call;
  if (argCount !== 4) throw restTokenUsage;
  checkDisk(call);
  const token = database.users.restTokenOf(arg(2), arg(3));
  if (token === undefined) throw wrongPasswordOf(arg(2));
  return token;
}

/** The minimum for a password passed to GENTOKEN: its bytes, and the number of different ones. */
const GENERATED_FROM_LENGTH_MIN = 12;
const GENERATED_FROM_VARIETY_MIN = 6;

function generateToken(call: Call): Reply {
  const { database, arg, argCount } = call;
  if (argCount !== 3 && argCount !== 4) throw generateTokenUsage;
  checkDisk(call);
  const password = argCount === 4 ? arg(3) : undefined;
  if (
    password !== undefined &&
    (password.length < GENERATED_FROM_LENGTH_MIN || new Set(password).size < GENERATED_FROM_VARIETY_MIN)
  )
    throw passwordTooWeak(GENERATED_FROM_LENGTH_MIN);
  return database.users.generateToken(arg(2), password);
}

function getUser({ database, arg }: Call): Reply {
  const name = arg(2);
  if (name === defaultUser.name)
    return map([
      ["flags", set(["on"])],
      ["passwords", []],
      ["commands", "+@all"],
      ["keys", "~*"],
      ["channels", "&*"],
      ["selectors", []],
    ]);
  const rights = database.users.find(name)?.rights;
  if (rights === undefined) return nil;
  const [own, ...others] = rights.selectors.map(describeSelector);
  return map([
    ["flags", set(rights.flags)],
    ["passwords", rights.passwords.map(({ hash }) => hash)],
    ...(own ?? []),
    ["selectors", others.map(map)],
  ]);
}

function describeSelector(selector: Selector): readonly (readonly [Reply, Reply])[] {
  return [
    ["commands", selector.commands.describe()],
    ["keys", selector.describeKeys()],
    ["channels", selector.describeChannels()],
  ];
}

const LOG_COUNT = 10;

function log(call: Call): Reply {
  const { database, arg, word, argCount, nowMs } = call;
  const { log } = database.users;
  if (argCount > 3) throw subcommandSyntax("ACL", arg(1));
  if (argCount === 3 && word(2) === "RESET") {
    log.clear();
    return ok;
  }
  const count = Math.max(0, argCount === 3 ? call.count(2) : LOG_COUNT);
  return log.entries.slice(0, count).map((entry) =>
    map([
      ["count", entry.count],
      ["reason", entry.reason],
      ["context", entry.context],
      ["object", entry.object],
      ["username", entry.username],
      ["age-seconds", double(Math.max(0, nowMs - entry.lastAtMs) / 1_000)],
      ["client-info", entry.client],
    ]),
  );
}
