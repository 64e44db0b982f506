/**
 * A command is a row: its facts first, its function last. Arity checks, the
 * read-only token, availability over HTTP, `COMMAND`, the manual page and the
 * test that every row is tested all read the row; nothing asks for a command
 * by its name.
 */
import { assert } from "../kernel/assert.ts";
import { type Bytes, upperCase } from "../kernel/bytes.ts";
import type { Random } from "../kernel/random.ts";
import type { CommandFacts, Flag, KeyPositions, RowFacts } from "./command-facts.ts";
import type { CommandHost } from "./command-host.ts";
import type { RedisCompat } from "./commands/redis-compat.ts";
import { notInteger, outOfRange } from "./errors.ts";
import type { Keyspace } from "./keyspace.ts";
import { later, type Reply } from "./reply/reply.ts";
import type { Caller } from "./session/caller.ts";
import type { Session } from "./session/session.ts";
import type { Wait } from "./session/waiters.ts";
import { parseInteger } from "./structures/numbers/number-text.ts";

export const noKeys: KeyPositions = { first: 0, last: 0, step: 0 };
export const firstKey: KeyPositions = { first: 1, last: 1, step: 1 };
export const firstTwoKeys: KeyPositions = { first: 1, last: 2, step: 1 };
export const secondKey: KeyPositions = { first: 2, last: 2, step: 1 };
export const allKeys: KeyPositions = { first: 1, last: -1, step: 1 };
/** MSET: every other argument. */
export const keyValuePairs: KeyPositions = { first: 1, last: -1, step: 2 };
/** XREAD: keys come after STREAMS, and their ids after them. */
export const streamKeys: KeyPositions = {
  first: 0,
  last: 0,
  step: 0,
  after: {
    word: "STREAMS",
    operandCounts: new Map([
      ["COUNT", 1],
      ["BLOCK", 1],
      ["GROUP", 2],
    ]),
  },
};
/** SINTERCARD: the first argument says how many keys follow. */
export const countedKeys: KeyPositions = { first: 0, last: 0, step: 0, countAt: 1 };

/** A command as it is written down. */
export interface Row extends RowFacts {
  /**
   * Called in place of `run` within a session, for commands that change the session. It may also give replies to the
   * session; then it returns the last one, or undefined.
   */
  readonly runInSession?: (session: Session, words: readonly Bytes[]) => Reply | undefined;
  /** A container such as OBJECT: its `run` is called only where `arity` lets it stand alone, as COMMAND does. */
  readonly subcommands?: readonly Row[];
  run(call: Call): Reply;
}

/** A row as the engine uses it. */
export interface Command extends CommandFacts, Row {
  readonly notifiesMisses: boolean;
  readonly isQuick: boolean;
  readonly subcommandByName: ReadonlyMap<string, Command> | undefined;
}

let commandCount = 0;

/** How many commands and subcommands there are; their numbers are below. */
export function countCommands(): number {
  return commandCount;
}

/** Makes the rows of one family of the command reference into commands. */
export function family(name: string, rows: readonly Row[]): readonly Command[] {
  return rows.map((row) => register(name, row, ""));
}

function register(familyName: string, row: Row, containerName: string): Command {
  const has = (flag: Flag): boolean => row.flags.includes(flag);
  const fullName = containerName + row.name.toLowerCase();
  const subcommands = row.subcommands?.map((sub) => register(familyName, sub, `${fullName}|`));
  return {
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
    isForStrangers: has("no_auth") || has("before-login"),
    isUnqueued: has("unqueued"),
    isForTransactions: !has("no-transaction"),
    isForListeners: has("while-listening"),
    touchesKeys: has("readonly") || has("write") || has("may-replicate"),
    mayChange: has("write") || has("may-replicate"),
    runsQueue: has("runs-queue"),
    isQuick: row.isQuick ?? has("fast"),
    isForSlowLog: !has("skip_slowlog"),
    isShownToMonitors: !has("admin") && !has("skip_monitor"),
    // What belongs to a connection has none in a script; what would wait answers at once there.
    isForScripts: !has("noscript") && (!has("tcp-only") || has("blocking")),
    subcommandByName: subcommands && new Map(subcommands.map((sub) => [sub.name, sub])),
  };
}

/**
 * What a command is given. One object serves all calls of a database, one
 * after the other, so a command must not keep it.
 */
export class Call {
  readonly keyspace: Keyspace;
  /** The database, as far as commands may ask it for something. */
  readonly database: CommandHost;
  readonly random: Random;
  /** The row that is running. */
  command!: Command;
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

  /** Lets the caller wait. The reply stands for none yet; where the caller cannot wait, it is its reply to that. */
  wait(wait: Wait): Reply {
    const taker = this.#caller?.waiting;
    if (taker === undefined) return wait.cannotWait === undefined ? wait.timedOut : wait.cannotWait;
    this.database.waiters.add(taker, wait);
    return later;
  }

  /** Words including the name: `argCount` of `GET k` is 2. */
  get argCount(): number {
    return this.#words.length;
  }

  get nowMs(): number {
    return this.keyspace.nowMs;
  }

  /** True where a read may keep what it has worked out: the caller may write, and so may the disk. */
  get mayWrite(): boolean {
    return this.#caller?.user.mayKeepFigures === true && this.keyspace.mayRemoveExpired;
  }

  /** Whether the caller may read keys that no word of the command names. */
  get mayReadAllKeys(): boolean {
    const { user } = this.caller;
    return user.isUnrestricted || user.mayReadAllKeys(this.command, this.#words);
  }

  get caller(): Caller {
    const caller = this.#caller;
    assert(caller !== undefined, "a command runs on behalf of somebody");
    return caller;
  }

  /** The session of the caller that asked last. */
  get session(): Session | undefined {
    return this.#caller?.session;
  }

  /** What the tests of Redis may turn; undefined for everybody else. */
  get compat(): RedisCompat | undefined {
    return this.#caller?.transport === "tcp" ? this.database.context.compat : undefined;
  }

  // Bound, so that a row may take them apart: `run: ({ keyspace, arg }) => …`.

  /** The word at `index` as it came; 0 is the name. Must exist. */
  readonly arg = (index: number): Bytes => this.#words[index] as Bytes;

  /** The word in upper case, for comparing with option names. */
  readonly word = (index: number): string => upperCase(this.#words[index] as Bytes);

  /** All words from `index` on. */
  readonly argsFrom = (index: number): readonly Bytes[] => {
    const words = this.#words;
    // Mostly it is one, and a literal costs a fraction of a call to `slice`.
    return words.length === index + 1 ? [words[index] as Bytes] : words.slice(index);
  };

  /** The word as a 64-bit integer: a number when safe, else a bigint. Throws `notInteger`. */
  readonly integer = (index: number): number | bigint => {
    const value = parseInteger(this.#words[index] as Bytes);
    if (value === undefined) throw notInteger;
    return value;
  };

  /**
   * The word as an integer that fits a double, for counts and offsets: a larger one is clamped to ±(2^53 - 1), which
   * no collection reaches. Throws `notInteger`.
   */
  readonly count = (index: number): number => {
    const value = this.integer(index);
    if (typeof value === "number") return value;
    return value > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  };

  /** As `count`, but what is negative, and what is no integer at all, is refused with the same text, as Redis does. */
  readonly countFromZero = (index: number): number => {
    if (parseInteger(this.#words[index] as Bytes) === undefined) throw outOfRange;
    const value = this.count(index);
    if (value < 0) throw outOfRange;
    return value;
  };
}
