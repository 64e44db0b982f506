/**
 * What commands may ask of the database that runs them, by role. The database
 * implements it (`database.ts`); the rows of commands see nothing else of it,
 * and so nothing of the other rows.
 */
import type { Bytes } from "../kernel/bytes.ts";
import type { Journal } from "../kernel/journal.ts";
import type { MemoryAccount } from "../kernel/memory-guard.ts";
import type { Users } from "./acl/users.ts";
import type { CommandFacts } from "./command-facts.ts";
import type { RedisCompat } from "./commands/redis-compat.ts";
import type { CommandError } from "./errors.ts";
import type { Keyspace } from "./keyspace.ts";
import type { MemorySettings } from "./memory/memory-settings.ts";
import type { CommandCounts, ErrorCounts } from "./observe/command-counts.ts";
import type { Monitors } from "./observe/monitor.ts";
import type { PubSub } from "./observe/pubsub.ts";
import type { SlowRuns } from "./observe/slow-runs.ts";
import type { Reply } from "./reply/reply.ts";
import type { ScriptHost } from "./scripting/redis-functions.ts";
import type { Scripts } from "./scripting/scripts.ts";
import type { Waiters } from "./session/waiters.ts";

/** Figures that the store cannot know by itself. */
export interface ProcessFigures {
  /** Memory in use by the thread of the store: JavaScript heap and buffers. */
  readonly usedBytes: number;
  /** Memory of the whole process. */
  readonly residentBytes: number;
}

/** The store that a database belongs to, as its commands see it. */
export interface StoreFacts {
  readonly journal: Journal;
  /** How many entries XREADGROUP may leave pending for one consumer of a group; 0: any number. */
  readonly pendingEntriesMax: number;
  /** The memory settings with which the database of a name begins. */
  readonly memoryOf: (name: string) => MemorySettings;
  /** Undefined unless the store was started for the tests of Redis. */
  readonly compat: RedisCompat | undefined;
  readonly version: string;
  readonly readFigures: (() => ProcessFigures) | undefined;
  readonly startedAtMs: number;
}

/** The table of commands, and how often each of them ran. */
export interface CommandRegister {
  readonly commands: readonly CommandFacts[];
  /** The command of this name in any case, or undefined. */
  findCommand(name: Bytes): CommandFacts | undefined;
  /** The command that is called `get` or `object|encoding`, in any case, or undefined. */
  findByFullName(fullName: Bytes): CommandFacts | undefined;
  countsOf(command: CommandFacts): CommandCounts;
  /** The errors that were answered since the start. */
  readonly errorCounts: ErrorCounts;
  resetCounts(): void;
}

/** What the commands of one run may do. */
export interface ScriptRules {
  /** Nothing may be written, nor told to others. */
  readonly isReadOnly: boolean;
  /** Commands that take memory may run although there is none to spare. */
  readonly allowsGrowth: boolean;
  /** `allow-key-locking`: no command may name any other key. */
  readonly lockedKeys: ReadonlySet<Bytes> | undefined;
}

/** The commands of one run of a script. */
export interface CommandsOfScript extends ScriptHost {
  /** True if one of the commands has answered this error: then it is counted already. */
  isOfCommand(error: CommandError): boolean;
}

/** Runs scripts, and knows what they may take. */
export interface ScriptRunner {
  readonly scripts: Scripts;
  /** False if the running command may take no memory: there was none to spare when it began. */
  readonly hasRoom: boolean;
  /** Why nothing of this database may be written now, or undefined. */
  readonly journalRefusal: string | undefined;
  readonly memory: MemoryAccount;
  /**
   * Runs a script for the caller of the running command, within the running unit of work: its commands see what was there
   * before, and what they change is part of the same frame.
   */
  runScript(rules: ScriptRules, script: (commands: CommandsOfScript) => Reply): Reply;
}

/** Callers that are sent something without asking for it, or wait for it. */
export interface ClientHost {
  readonly pubsub: PubSub;
  readonly monitors: Monitors;
  readonly waiters: Waiters;
  /** The sessions that are logged in, and the bytes that they take. */
  readonly sessions: { readonly count: number; readonly memoryBytes: number };
}

/** The settings of a database that last until the next start. */
export interface SettingsHost {
  readonly name: string;
  setMemory(settings: MemorySettings): void;
  /** Which events of keys are published, as `readEventFlags` has them. */
  readonly eventFlags: string;
  setEventFlags(flags: string): void;
}

export interface CommandHost extends CommandRegister, ScriptRunner, ClientHost, SettingsHost {
  readonly keyspace: Keyspace;
  readonly context: StoreFacts;
  readonly users: Users;
  /** Whether a user of this name may log in. */
  hasUser(name: Bytes): boolean;
  readonly slowRuns: SlowRuns;
  /** Rebuilds all keys from the frames of a snapshot, within the running unit: for DEBUG RELOAD. */
  reload(): void;
}
