/**
 * What is known of a command without running it: the facts of its row, and what
 * follows from them. Users, scripts, sessions and reports ask for these and for
 * nothing else, so they know nothing of what commands do.
 */
import type { Bytes } from "../kernel/bytes.ts";

/** The version of Redis whose behaviour and texts we follow; clients ask for it before they use a command. */
export const REDIS_VERSION = "7.0.15";

/** Shown in place of a secret where the words of a command are shown. */
export const REDACTED = "(redacted)";

/** A command's name, then its arguments. */
export type CommandRequest = readonly Bytes[];

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

/** In the order in which Redis lists them. */
export const aclCategories = [
  "keyspace",
  "read",
  "write",
  "set",
  "sortedset",
  "list",
  "hash",
  "string",
  "bitmap",
  "hyperloglog",
  "geo",
  "stream",
  "pubsub",
  "admin",
  "fast",
  "slow",
  "blocking",
  "dangerous",
  "connection",
  "transaction",
  "scripting",
  // Ours.
  "json",
] as const;

export type AclCategory = (typeof aclCategories)[number];

/** How a command uses a key, in Redis' words, and what that takes. */
export interface KeyUse {
  /** `RO`, `RW`, `OW` (overwritten) or `RM`, then what of the value: `access`, `insert`, `update`, `delete`. */
  readonly flags: readonly string[];
  /** What the value holds gets out, so it takes the right to read. That it exists, its type and its size may be seen without. */
  readonly isRead: boolean;
  readonly isWritten: boolean;
}

/** Options that take words after them, in upper case, and how many. */
export type OperandCounts = ReadonlyMap<string, number>;

/** Where the keys stand among the words of a command: Redis' first, last (negative: from the end), step. */
export interface KeyPositions {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** The word that says how many keys follow it: those come after the others. */
  readonly countAt?: number;
  /** The word after which the rest is keys, and as many ids: STREAMS of XREAD. Options before it may take words themselves. */
  readonly after?: { readonly word: string; readonly operandCounts: OperandCounts };
  /** Places of keys that options name among these words, and that are written: STORE of SORT. */
  readonly stored?: (words: readonly Bytes[]) => readonly number[];
}

/** Where channels stand among the words of a command that sends to them or listens. */
export interface ChannelPositions {
  readonly first: number;
  /** Negative: from the end. */
  readonly last: number;
  readonly arePatterns: boolean;
}

/** What a row says of its command. */
export interface RowFacts {
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
  readonly notifiesMisses?: boolean;
  /** These words as MONITOR and SLOWLOG show them: without secrets. */
  readonly shownWords?: (words: readonly Bytes[]) => readonly Bytes[];
  /** Whether its words and its answer bound how long it takes; absent: it is what Redis calls fast. */
  readonly isQuick?: boolean;
  /** For a command that is quick: true if it may not be with these words. */
  readonly isLongWith?: (words: readonly Bytes[]) => boolean;
}

/** The facts of a command as everybody asks for them: what is asked on every call is worked out once. */
export interface CommandFacts extends RowFacts {
  /** `object|encoding`, as Redis names it in errors, in lower case. */
  readonly fullName: string;
  readonly family: string;
  /** Index into per-database counters. */
  readonly number: number;
  readonly isWrite: boolean;
  /** False for what is still run when memory is short and nothing may be evicted. */
  readonly mayGrow: boolean;
  readonly isAvailableOverHttp: boolean;
  readonly notifiesMisses: boolean;
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
  readonly subcommandByName: ReadonlyMap<string, CommandFacts> | undefined;
}
