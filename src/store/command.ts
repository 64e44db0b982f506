/**
 * A command is a row: its facts first, its function last. Arity checks, the
 * read-only token, availability over HTTP, `COMMAND`, the manual page and the
 * test that every row is tested all read the row; no code looks for a command
 * by its name.
 */
import { assert } from "../kernel/assert.ts";
import { type Bytes, upperCase } from "../kernel/bytes.ts";
import type { Random } from "../kernel/random.ts";
import { type CommandFacts, type Flag, type KeyPositions, type RowFacts, SEVERAL_KEYS } from "./command-facts.ts";
import type { CommandHost } from "./command-host.ts";
import { keyUsesOf } from "./commands/command-keys.ts";
import type { RedisCompat } from "./commands/redis-compat.ts";
import { notInteger, outOfRange } from "./errors.ts";
import type { Keyspace } from "./keyspace.ts";
import { later, type Reply } from "./reply/reply.ts";
import type { Caller } from "./session/caller.ts";
import type { Session } from "./session/session.ts";
import { ValueBesideWords } from "./session/value-beside-words.ts";
import type { Wait } from "./session/waiters.ts";
import { LargeString } from "./structures/large-string.ts";
import { parseInteger } from "./structures/numbers/number-text.ts";
import { type StringValue, stringFrom } from "./values/string.ts";

export const noKeys: KeyPositions = { first: 0, last: 0, step: 0 };
export const firstKey: KeyPositions = { first: 1, last: 1, step: 1 };
export const firstTwoKeys: KeyPositions = { first: 1, last: 2, step: 1 };
export const secondKey: KeyPositions = { first: 2, last: 2, step: 1 };
export const allKeys: KeyPositions = { first: 1, last: -1, step: 1 };
/** MSET: every other argument. */
export const keyValuePairs: KeyPositions = { first: 1, last: -1, step: 2 };
/** XREAD: keys follow STREAMS, and their ids follow them. */
export const streamKeys: KeyPositions = {
  first: 0,
  last: 0,
  step: 0,
  after: {
    word: "STREAMS",
    operandCounts: new Map([
      ["COUNT", 1],
      ["BLOCK", 1],
      ["CLAIM", 1],
      ["GROUP", 2],
    ]),
  },
};
/** MSETEX: the first argument is the number of pairs of key and value. */
export const countedPairs: KeyPositions = { first: 0, last: 0, step: 0, countAt: 1, countStep: 2 };
/** SINTERCARD: the first argument is the number of keys. */
export const countedKeys: KeyPositions = { first: 0, last: 0, step: 0, countAt: 1 };

/** A command as the table of its family defines it. */
export interface Row extends RowFacts {
  /**
   * Called instead of `run` within a session, for commands that change the session. It may also pass replies to the
   * session; then it returns the last one, or undefined.
   */
  readonly runInSession?: (session: Session, words: readonly Bytes[]) => Reply | undefined;
  /** Of a container such as OBJECT: its `run` is called only if `arity` allows it without a subcommand (COMMAND). */
  readonly subcommands?: readonly Row[];
  run(call: Call): Reply;
}

/** A row with its derived facts. */
export interface Command extends CommandFacts, Row {
  readonly notifiesMisses: boolean;
  readonly isQuick: boolean;
  readonly subcommandByName: ReadonlyMap<string, Command> | undefined;
}

/**
 * All facts that a row may have, in one order. Every command begins with them, so that all commands have one hidden class
 * in V8: else code that reads the facts of many commands looks each fact up in a table.
 */
const factsOfRows: object = {
  name: "",
  summary: "",
  arity: 0,
  flags: [],
  categories: undefined,
  keys: noKeys,
  keyUses: undefined,
  keyUsesWith: undefined,
  slotWords: undefined,
  channels: undefined,
  isPowerfulWith: undefined,
  notifiesMisses: undefined,
  shownWords: undefined,
  isQuick: undefined,
  valueAt: undefined,
  takesIndexes: undefined,
  waitsForIndex: undefined,
  keepsCaching: undefined,
  isLongWith: undefined,
  runInSession: undefined,
  subcommands: undefined,
  run: undefined,
};

let commandCount = 0;

/** The number of commands and subcommands. The `number` of each is below it. */
export function countCommands(): number {
  return commandCount;
}

/** Turns the rows of one family of the command reference into commands. */
export function family(name: string, rows: readonly Row[]): readonly Command[] {
  return rows.map((row) => register(name, row, ""));
}

function register(familyName: string, row: Row, containerName: string): Command {
  const has = (flag: Flag): boolean => row.flags.includes(flag);
  const fullName = containerName + row.name.toLowerCase();
  const subcommands = row.subcommands?.map((sub) => register(familyName, sub, `${fullName}|`));
  return {
    ...factsOfRows,
    ...row,
    fullName,
    family: familyName,
    number: commandCount++,
    isWrite: has("write"),
    mayGrow: has("denyoom"),
    isAvailableOverHttp: !has("tcp-only"),
    notifiesMisses: row.notifiesMisses ?? !has("write"),
    isCompatOnly: has("compat-only"),
    isForReadOnlyToken: has("public") || (has("readonly") && !has("powerful")),
    isAvailableBeforeLogin: has("no_auth") || has("before-login"),
    isUnqueued: has("unqueued"),
    isForTransactions: !has("no-transaction") && !has("no_multi"),
    isForListeners: has("while-listening"),
    touchesKeys: has("readonly") || has("write") || has("may-replicate"),
    mayChange: has("write") || has("may-replicate"),
    returnsValues: keyUsesOf(row).some(({ isRead }) => isRead),
    runsScript: has("may-replicate") && has("no_mandatory_keys"),
    runsQueue: has("runs-queue"),
    isCached: has("readonly") && !has("noscript"),
    isQuick: row.isQuick ?? has("fast"),
    isForSlowLog: !has("skip_slowlog"),
    isShownToMonitors: !has("admin") && !has("skip_monitor"),
    // A script has no connection. Blocking commands reply at once there, and publishing (SPUBLISH) needs none.
    isForScripts: !has("noscript") && (!has("tcp-only") || has("blocking") || has("pubsub")),
    protectedKeyAt: has("write") && row.takesIndexes !== true ? onlyKeyAt(row.keys) : 0,
    subcommandByName: subcommands && new Map(subcommands.map((sub) => [sub.name, sub])),
  };
}

function onlyKeyAt({ first, last, countAt, after, stored }: KeyPositions): number {
  if (countAt !== undefined || after !== undefined || stored !== undefined) return SEVERAL_KEYS;
  return first === last ? first : SEVERAL_KEYS;
}

/**
 * The arguments and environment of a running command. One object serves all
 * calls of a database, one after the other, so a command must not keep it.
 */
export class Call {
  readonly keyspace: Keyspace;
  /** The database, as far as commands may use it. */
  readonly database: CommandHost;
  readonly random: Random;
  /** The running command. */
  command!: Command;
  /** The value beside the words of the running command. */
  readonly value = new ValueBesideWords();
  #words: readonly Bytes[] = [];
  #caller: Caller | undefined;

  constructor(options: { keyspace: Keyspace; database: CommandHost; random: Random }) {
    this.keyspace = options.keyspace;
    this.database = options.database;
    this.random = options.random;
  }

  prepare(caller: Caller, command: Command, words: readonly Bytes[]): this {
    this.#caller = caller;
    this.command = command;
    this.keyspace.notifiesMisses = command.notifiesMisses;
    this.#words = words;
    return this;
  }

  /** Blocks the caller. The returned reply is a placeholder, or the final reply of a caller that cannot block. */
  wait(wait: Wait): Reply {
    const taker = this.#caller?.waiting;
    if (taker === undefined) return wait.cannotWait === undefined ? wait.timedOut : wait.cannotWait;
    this.database.waiters.add(taker, wait, { command: this.command, words: this.#words, caller: this.caller });
    return later;
  }

  /** All words as received, for commands that read many: `arg` costs a call for each. */
  get words(): readonly Bytes[] {
    return this.#words;
  }

  /** Words including the name: `argCount` of `GET k` is 2. */
  get argCount(): number {
    return this.#words.length;
  }

  get nowMs(): number {
    return this.keyspace.nowMs;
  }

  /** True if a read may store what it computed: the caller may write, and the disk accepts writes. */
  get mayWrite(): boolean {
    return this.#caller?.user.mayKeepFigures === true && this.keyspace.mayRemoveExpired;
  }

  /** Whether the caller may read keys that no word of the command names. */
  get mayReadAllKeys(): boolean {
    const { user } = this.caller;
    return user.isUnrestricted || user.mayReadAllKeys(this.command, this.#words);
  }

  /** Whether the command is part of a transaction or a script. */
  get isPartOfUnit(): boolean {
    return this.#caller?.isScript === true || this.database.runsUnit;
  }

  get caller(): Caller {
    const caller = this.#caller;
    assert(caller !== undefined, "a running command has a caller");
    return caller;
  }

  /** The session of the current caller, if it has one. */
  get session(): Session | undefined {
    return this.#caller?.session;
  }

  /** Settings for the tests of Redis; undefined unless the store was started for them. */
  get compat(): RedisCompat | undefined {
    return this.#caller?.transport === "tcp" ? this.database.context.compat : undefined;
  }

  // Bound, so that a row may destructure them: `run: ({ keyspace, arg }) => …`.

  /** The word at `index` as received; 0 is the name. Must exist. */
  readonly arg = (index: number): Bytes => this.#words[index] as Bytes;

  /** The word at `index` in the form in which a string is stored: `valueAt` of the row, or any other. */
  readonly storedWord = (index: number): StringValue => {
    const { bytes } = this.value;
    const isBeside = bytes !== undefined && index === this.command.valueAt;
    return isBeside ? LargeString.own(bytes) : stringFrom(this.#words[index] as Bytes);
  };

  /** The word in upper case, for comparing with option names. */
  readonly word = (index: number): string => upperCase(this.#words[index] as Bytes);

  /** All words from `index` on. */
  readonly argsFrom = (index: number): readonly Bytes[] => {
    const words = this.#words;
    // It is mostly one word, and a literal costs a fraction of a call to `slice`.
    return words.length === index + 1 ? [words[index] as Bytes] : words.slice(index);
  };

  /** The word as a 64-bit integer: a number when safe, else a bigint. Throws `notInteger`. */
  readonly integer = (index: number): number | bigint => {
    const value = parseInteger(this.#words[index] as Bytes);
    if (value === undefined) throw notInteger;
    return value;
  };

  /**
   * The word as an integer that fits a double, for counts and offsets. A larger one is clamped to ±(2^53 - 1), which
   * no collection reaches. Throws `notInteger`.
   */
  readonly count = (index: number): number => {
    const value = this.integer(index);
    if (typeof value === "number") return value;
    return value > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  };

  /** As `count`, but refuses negative numbers and non-integers with the same text, as Redis does. */
  readonly countFromZero = (index: number): number => {
    if (parseInteger(this.#words[index] as Bytes) === undefined) throw outOfRange;
    const value = this.count(index);
    if (value < 0) throw outOfRange;
    return value;
  };
}
