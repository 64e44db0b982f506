/**
 * Facts of a command: the facts of its row, and properties derived from them.
 * Users, scripts, sessions and reports use only these, so they do not depend
 * on the code of commands.
 */
import type { Bytes } from "../kernel/bytes.ts";

/** The version of Redis whose behaviour and texts we follow; clients read it before they use a command. */
export const REDIS_VERSION = "7.0.15";

/** Printed in place of a secret when the words of a command are shown. */
export const REDACTED = "(redacted)";

/** A command's name, then its arguments. */
export type CommandRequest = readonly Bytes[];

/** A command of a row with `valueAt`: that word is empty, and the value has its bytes, at least `LARGE_BYTES_MIN`. */
export interface RequestWithValue {
  readonly words: CommandRequest;
  /** Bytes that nobody changes. The store keeps a buffer that is alone in its memory, and copies a part of a larger one. */
  readonly value: Buffer;
}

/**
 * Flags as `COMMAND INFO` prints them, then our own:
 *
 * - `powerful`: a read that a read-only token may not run (A.read-only-token)
 * - `public`: not flagged `readonly`, yet a read-only token may run it
 * - `tcp-only`: not available over HTTP
 * - `before-login`: answered over TCP before login, as `no_auth` is
 * - `unqueued`: over TCP it runs at once, also between MULTI and EXEC
 * - `while-listening`: a subscribed client may send it in RESP2
 * - `runs-queue`: the queued commands decide whether it is a write
 * - `no-transaction`: over TCP it is refused in a transaction
 * - `may-replicate`: not flagged `write`, yet paused or refused where writes are, as in Redis
 * - `compat-only`: exists only if the store was started for the tests of Redis (redis-compat.ts)
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
  | "no_async_loading"
  | "no_multi"
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
  "search",
] as const;

export type AclCategory = (typeof aclCategories)[number];

/** How a command uses a key, in Redis' words, and which rights that needs. */
export interface KeyUse {
  /** `RO`, `RW`, `OW` (overwritten) or `RM`, then how the value is used: `access`, `insert`, `update`, `delete`. */
  readonly flags: readonly string[];
  /** The command reveals contents of the value, so it needs the right to read. Existence, type and size need none. */
  readonly isRead: boolean;
  readonly isWritten: boolean;
}

/** Options that take operands, in upper case, and how many. */
export type OperandCounts = ReadonlyMap<string, number>;

/** Positions of keys among the words of a command: Redis' first, last (negative: from the end), step. */
export interface KeyPositions {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** The word that is the number of keys that follow it; they come after the others. */
  readonly countAt?: number;
  /** The distance between those keys; absent: they stand side by side. MSETEX: a value follows each. */
  readonly countStep?: number;
  /** The word that keys, and as many ids, follow: STREAMS of XREAD. Options before it may take operands. */
  readonly after?: { readonly word: string; readonly operandCounts: OperandCounts };
  /** Positions of written keys that options name among these words: STORE of SORT. */
  readonly stored?: (words: readonly Bytes[]) => readonly number[];
}

/** Positions of channels among the words of a command that publishes or subscribes. */
export interface ChannelPositions {
  readonly first: number;
  /** Negative: from the end. */
  readonly last: number;
  readonly arePatterns: boolean;
}

/** The facts in a row. */
export interface RowFacts {
  /** Upper case. A subcommand has its own name only: `ENCODING`, not `OBJECT|ENCODING`. */
  readonly name: string;
  /** One line for the manual and `COMMAND DOCS`, without a full stop. */
  readonly summary: string;
  /** As Redis counts: words including the name (and subcommand); negative: at least that many. */
  readonly arity: number;
  readonly flags: readonly Flag[];
  /** ACL categories in place of the one that the family implies. The flags add others. */
  readonly categories?: readonly AclCategory[];
  readonly keys: KeyPositions;
  /** How it uses its first key, and the others if that differs; absent: a read reads, a write reads and writes. */
  readonly keyUses?: readonly [KeyUse, KeyUse?];
  /** How it uses its keys with these words, if the words decide. */
  readonly keyUsesWith?: (words: readonly Bytes[]) => readonly KeyUse[];
  /** Words that are not keys, but that COMMAND INFO reports like keys: in a cluster they decide on the node. */
  readonly slotWords?: KeyPositions;
  /** The channels that it publishes or subscribes to. */
  readonly channels?: ChannelPositions;
  /** For a read that is `powerful` with some arguments only: true if it is with these words. */
  readonly isPowerfulWith?: (words: readonly Bytes[]) => boolean;
  /** For a command that writes: true if it also reads keys, so that a missing key is an event. */
  readonly notifiesMisses?: boolean;
  /** These words as MONITOR and SLOWLOG show them: without secrets. */
  readonly shownWords?: (words: readonly Bytes[]) => readonly Bytes[];
  /** Whether its words and its reply bound its time; absent: whether Redis calls it fast. */
  readonly isQuick?: boolean;
  /**
   * The index of a word that only its row reads, and only by `Call.storedWord`: a string to store. So a caller may give a
   * long one as a Buffer beside the other words (`RequestWithValue`).
   */
  readonly valueAt?: number;
  /** For a command that writes: true if its keys may be search indexes; others are refused (search/protection.ts). */
  readonly takesIndexes?: boolean;
  /**
   * For a command whose first word is a search index: it waits while the index is rebuilt after a start, or for the end
   * of any scan.
   */
  readonly waitsForIndex?: "rebuilt" | "scanned";
  /** CLIENT CACHING still applies to the command after this one. */
  readonly keepsCaching?: boolean;
  /** For a quick command: true if it may take long with these words. */
  readonly isLongWith?: (words: readonly Bytes[]) => boolean;
}

/** The facts of a command. Those that every call needs are computed once. */
export interface CommandFacts extends RowFacts {
  /** `object|encoding`, as Redis names it in errors, in lower case. */
  readonly fullName: string;
  readonly family: string;
  /** Index into per-database counters. */
  readonly number: number;
  readonly isWrite: boolean;
  /** False if it runs even when memory is short and nothing may be evicted. */
  readonly mayGrow: boolean;
  readonly isAvailableOverHttp: boolean;
  readonly notifiesMisses: boolean;
  readonly isCompatOnly: boolean;
  readonly isForReadOnlyToken: boolean;
  /** True if a client may send it over TCP before login. */
  readonly isAvailableBeforeLogin: boolean;
  /** True if it is not queued between MULTI and EXEC. */
  readonly isUnqueued: boolean;
  readonly isForTransactions: boolean;
  readonly isForListeners: boolean;
  /** True if a client in MONITOR may not run it. */
  readonly touchesKeys: boolean;
  /** True if CLIENT PAUSE WRITE delays it and a read-only script may not call it. */
  readonly mayChange: boolean;
  /** True if its reply may have contents of values, unless its words say otherwise (`keyUsesWith`). */
  readonly returnsValues: boolean;
  /** True if it runs a script that may change keys. */
  readonly runsScript: boolean;
  readonly runsQueue: boolean;
  /** True if a client that runs it may cache its keys. Not of scripts: their commands count. */
  readonly isCached: boolean;
  readonly isQuick: boolean;
  /** False if it only runs other commands. */
  readonly isForSlowLog: boolean;
  /** False for administrative commands, whose words may hold secrets, and for those that show themselves. */
  readonly isShownToMonitors: boolean;
  /** True if a script may call it. */
  readonly isForScripts: boolean;
  /** For a command that may not change search indexes: the index of its only key, or `SEVERAL_KEYS`; else 0. */
  readonly protectedKeyAt: number;
  readonly subcommandByName: ReadonlyMap<string, CommandFacts> | undefined;
}

export const SEVERAL_KEYS = -1;
