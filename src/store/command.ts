/**
 * A command is a row: its facts first, its function last. Arity checks, the
 * read-only token, availability over HTTP, `COMMAND`, the manual page and the
 * test that every row is tested all read the row; nothing asks for a command
 * by its name.
 */
import { assert } from "../kernel/assert.ts";
import { type Bytes, upperCase } from "../kernel/bytes.ts";
import type { Random } from "../kernel/random.ts";
import type { AclCategory } from "./acl/categories.ts";
import type { KeyUse, OperandCounts } from "./commands/command-keys.ts";
import type { Database } from "./database.ts";
import { notInteger, outOfRange } from "./errors.ts";
import type { Keyspace } from "./keyspace.ts";
import type { RedisCompat } from "./redis-compat.ts";
import { later, type Reply } from "./reply.ts";
import type { Caller } from "./session/caller.ts";
import type { Session } from "./session/session.ts";
import { parseInteger } from "./structures/numbers/number-text.ts";
import type { Wait } from "./waiters.ts";

/**
 * Flags as `COMMAND INFO` prints them, and below the line our own:
 *
 * - `powerful`: a read that a read-only token may not run (A.read-only-token)
 * - `public`: not flagged `readonly`, yet a read-only token may run it
 * - `tcp-only`: not available over HTTP
 * - `before-login`: answered over TCP to who has not logged in, as `no_auth` is
 * - `unqueued`: over TCP it runs at once between MULTI and EXEC too
 * - `while-listening`: may be said in RESP2 by who is subscribed to something
 * - `runs-queue`: what is queued decides whether it is a write
 * - `no-transaction`: over TCP it is refused there
 * - `may-replicate`: not flagged `write`, yet held up or refused where writes are, as in Redis
 * - `compat-only`: exists only where the store was started for the tests of Redis (redis-compat.ts)
 */
export type Flag =
  | "readonly"
  | "write"
  | "denyoom"
  | "fast"
  | "admin"
  | "pubsub"
  | "noscript"
  | "loading"
  | "stale"
  | "no_auth"
  | "skip_slowlog"
  | "movablekeys"
  | "no_mandatory_keys"
  | "skip_monitor"
  | "allow_busy"
  | "blocking"
  // ours
  | "powerful"
  | "public"
  | "tcp-only"
  | "may-replicate"
  | "before-login"
  | "unqueued"
  | "no-transaction"
  | "while-listening"
  | "runs-queue"
  | "compat-only";

/** Where the keys stand among the words of a command: Redis' first, last (negative: from the end), step. */
export interface KeyPositions {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** The word that says how many keys follow it: those come behind the others. */
  readonly countAt?: number;
  /** The word behind which the rest is keys, and as many ids: STREAMS of XREAD. Options before it may take words themselves. */
  readonly behind?: { readonly word: string; readonly operandCounts: OperandCounts };
  /** Places of keys that options name among these words, and that are written: STORE of SORT. */
  readonly stored?: (words: readonly Bytes[]) => readonly number[];
}

export const noKeys: KeyPositions = { first: 0, last: 0, step: 0 };
export const firstKey: KeyPositions = { first: 1, last: 1, step: 1 };
export const firstTwoKeys: KeyPositions = { first: 1, last: 2, step: 1 };
export const secondKey: KeyPositions = { first: 2, last: 2, step: 1 };
export const allKeys: KeyPositions = { first: 1, last: -1, step: 1 };
/** MSET: every other argument. */
export const keyValuePairs: KeyPositions = { first: 1, last: -1, step: 2 };
/** XREAD: keys stand behind STREAMS, and their ids behind them. */
export const streamKeys: KeyPositions = {
  first: 0,
  last: 0,
  step: 0,
  behind: {
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

/** Where channels stand among the words of a command that sends to them or listens. */
export interface ChannelPositions {
  readonly first: number;
  /** Negative: from the end. */
  readonly last: number;
  readonly arePatterns: boolean;
}

export interface Row {
  /** Upper case. A subcommand has its own name only: `ENCODING`, not `OBJECT|ENCODING`. */
  readonly name: string;
  /** One line for the manual and `COMMAND DOCS`, without a full stop. */
  readonly summary: string;
  /** As Redis counts: words including the name (and subcommand); negative: at least so many. */
  readonly arity: number;
  readonly flags: readonly Flag[];
  /** ACL categories in place of the one that the family implies; those that the flags imply come by themselves. */
  readonly categories?: readonly AclCategory[];
  readonly keys: KeyPositions;
  /** How it uses its first key, and all others where that differs; absent: reads do read, and writes read and write. */
  readonly keyUses?: readonly [KeyUse, KeyUse?];
  /** Where the words decide: how it uses them with these. */
  readonly keyUsesWith?: (words: readonly Bytes[]) => readonly KeyUse[];
  /** The channels that it sends to, or begins to listen to. */
  readonly channels?: ChannelPositions;
  /** For a read that is `powerful` with some arguments only: true if these words make it so. */
  readonly isPowerfulWith?: (words: readonly Bytes[]) => boolean;
  /** For a command that writes: true if it looks keys up to read them too, so that their absence is an event. */
  readonly tellsMisses?: boolean;
  /** These words as MONITOR and SLOWLOG show them: without secrets. */
  readonly shownWords?: (words: readonly Bytes[]) => readonly Bytes[];
  /** Whether its words and its answer bound how long it takes; absent: it is what Redis calls fast. */
  readonly isQuick?: boolean;
  /** For a command that is quick: true if it may not be with these words. */
  readonly isLongWith?: (words: readonly Bytes[]) => boolean;
  /**
   * What is called in place of `run` within a session: for what changes the conversation. Replies may also be given to the
   * session; then the last one is returned, or nothing.
   */
  readonly converse?: (session: Session, words: readonly Bytes[]) => Reply | undefined;
  /** A container such as OBJECT: its `run` is called only where `arity` lets it stand alone, as COMMAND does. */
  readonly subcommands?: readonly Row[];
  run(call: Call): Reply;
}

/** A row as the engine uses it: what is asked on every call is worked out once. */
export interface Command extends Row {
  /** `object|encoding`, as Redis names it in errors, in lower case. */
  readonly fullName: string;
  readonly family: string;
  /** Index into per-database counters. */
  readonly number: number;
  readonly isWrite: boolean;
  /** False for what is still run when memory is short and nothing may be evicted. */
  readonly mayGrow: boolean;
  readonly isAvailableOverHttp: boolean;
  readonly tellsMisses: boolean;
  readonly isCompatOnly: boolean;
  readonly isForReadOnlyToken: boolean;
  /** True for what somebody may say over TCP who has not logged in. */
  readonly isForStrangers: boolean;
  /** True for what is not queued between MULTI and EXEC. */
  readonly isUnqueued: boolean;
  readonly isForTransactions: boolean;
  readonly isForListeners: boolean;
  /** True for what a client in MONITOR may not run. */
  readonly touchesKeys: boolean;
  /** True for what CLIENT PAUSE WRITE holds up, and what a script may not call that may not write. */
  readonly mayChange: boolean;
  readonly runsQueue: boolean;
  readonly isQuick: boolean;
  /** False for what only runs others. */
  readonly isForSlowLog: boolean;
  /** False for what administers, since its words may hold secrets, and for what shows itself. */
  readonly isShownToMonitors: boolean;
  /** May be called by a script. */
  readonly isForScripts: boolean;
  readonly subcommandByName: ReadonlyMap<string, Command> | undefined;
}

let commandCount = 0;

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
    tellsMisses: row.tellsMisses ?? !has("write"),
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
  readonly database: Database;
  readonly random: Random;
  /** The row that is running. */
  command!: Command;
  #words: readonly Bytes[] = [];
  #caller: Caller | undefined;

  constructor(options: { keyspace: Keyspace; database: Database; random: Random }) {
    this.keyspace = options.keyspace;
    this.database = options.database;
    this.random = options.random;
  }

  prepare(caller: Caller, command: Command, words: readonly Bytes[]): this {
    this.#caller = caller;
    this.command = command;
    this.keyspace.tellsMisses = command.tellsMisses;
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
