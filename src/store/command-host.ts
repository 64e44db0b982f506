/**
 * The interfaces, by role, through which commands use the database that runs
 * them. The database implements them (`database.ts`). The rows of commands see
 * nothing else of it, and so none of the other rows.
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
import type { ChosenSettings } from "./mutations/database-state.ts";
import type { Activity } from "./observe/activity.ts";
import type { CommandCounts, ErrorCounts } from "./observe/command-counts.ts";
import type { Monitors } from "./observe/monitor.ts";
import type { PubSub } from "./observe/pubsub.ts";
import type { SlowRuns } from "./observe/slow-runs.ts";
import type { Tracking } from "./observe/tracking/tracking.ts";
import type { Reply } from "./reply/reply.ts";
import type { ScriptHost } from "./scripting/redis-functions.ts";
import type { Scripts } from "./scripting/scripts.ts";
import type { SearchUpkeep } from "./search/upkeep/search-upkeep.ts";
import type { Pause, SessionFigures } from "./session/session-figures.ts";
import type { SlicedRuns } from "./session/sliced-runs.ts";
import type { Waiters } from "./session/waiters.ts";

/** Processor time. */
export interface CpuSeconds {
  readonly userSeconds: number;
  readonly systemSeconds: number;
}

/** What the store cannot measure itself. Each reading costs some microseconds. */
export interface ProcessFigures {
  readonly processId: number;
  /** Its name, version and architecture. */
  readonly operatingSystem: string;
  readMemory(): MemoryFigures;
  readCpu(): CpuFigures;
  /** Of the RESP port; undefined if the server has no such port. */
  readResp(): RespFigures | undefined;
}

export interface MemoryFigures {
  /** Memory in use by the thread of the store: JavaScript heap and buffers. */
  readonly usedBytes: number;
  /** The same with what the heap has reserved, and how much of that is in memory. */
  readonly heap: { readonly reservedBytes: number; readonly residentBytes: number };
  /** Memory of the whole process. */
  readonly residentBytes: number;
  /** Memory of the machine. */
  readonly systemBytes: number;
}

export interface CpuFigures {
  readonly process: CpuSeconds;
  /** Of processes that it started and that have ended. */
  readonly children: CpuSeconds;
  readonly thread: CpuSeconds;
}

export interface RespFigures {
  readonly port: number;
  readonly isEncrypted: boolean;
  readonly connectionsMax: number;
  readonly keepAliveMs: number;
  /** The most bytes that may wait for a subscriber, and the most that may wait for longer than `slowMs`. */
  readonly output: { readonly listeningBytesMax: number; readonly slowBytesMax: number; readonly slowMs: number };
  /** Connections that were refused. */
  readonly rejectedCount: number;
}

/** Settings of the program that CONFIG GET returns. */
export interface ServerSettings {
  readonly fsync: "always" | "everysec" | "no";
  readonly requestBytesMax: number;
}

/** The snapshots of the store, which has one for all databases. */
export interface SnapshotFacts {
  /** Whether clients may request one. */
  readonly mayRequest: boolean;
  /** When the last one was written; before the first, when the store started. */
  readonly lastSavedAtMs: number;
  readonly writtenCount: number;
  /** The duration of the last one, and whether it failed. */
  readonly lastTookMs: number | undefined;
  readonly hasFailed: boolean;
  /** For how long one has been requested or under way; undefined: none is. */
  readonly runningMs: number | undefined;
  /** Of the last one, and of the journal since then. */
  readonly bytes: { readonly snapshotBytes: number; readonly journalBytes: number };
  /** Has one written, of everything up to now at least. Resolves with whether it is on the disk. Only while none runs. */
  request(): Promise<boolean>;
}

/** The store of a database, as its commands see it. */
export interface StoreFacts {
  readonly journal: Journal;
  /** How many entries XREADGROUP may leave pending for one consumer of a group; 0: any number. */
  readonly pendingEntriesMax: number;
  /** The memory settings with which the database of this name starts. */
  readonly memoryOf: (name: string) => MemorySettings;
  /** Undefined unless the store was started for the tests of Redis. */
  readonly compat: RedisCompat | undefined;
  readonly version: string;
  /** 40 hexadecimal digits, drawn at the start. */
  readonly runId: string;
  /** Undefined: the figures of the process are omitted. */
  readonly process: ProcessFigures | undefined;
  readonly settings: ServerSettings | undefined;
  /** Whether what CONFIG SET chooses is stored, because the database moves between servers. */
  readonly keepsSettings: boolean;
  /** Undefined if nothing is stored. */
  readonly snapshots: SnapshotFacts | undefined;
  readonly startedAtMs: number;
}

/** The table of commands, and their counters. */
export interface CommandRegister {
  readonly commands: readonly CommandFacts[];
  /** The command of this name in any case, or undefined. */
  findCommand(name: Bytes): CommandFacts | undefined;
  /** The command that is called `get` or `object|encoding`, in any case, or undefined. */
  findByFullName(fullName: Bytes): CommandFacts | undefined;
  countsOf(command: CommandFacts): CommandCounts;
  /** The error replies since the start. */
  readonly errorCounts: ErrorCounts;
  resetCounts(): void;
}

/** What the commands of one script run may do. */
export interface ScriptRules {
  /** Nothing may be written or published. */
  readonly isReadOnly: boolean;
  /** Commands that take memory may run although memory is short. */
  readonly allowsGrowth: boolean;
  /** `allow-key-locking`: commands may name these keys only. */
  readonly lockedKeys: ReadonlySet<Bytes> | undefined;
}

/** The commands of one run of a script. */
export interface CommandsOfScript extends ScriptHost {
  /** True if one of the commands has replied with this error: then it is counted already. */
  isOfCommand(error: CommandError): boolean;
}

/** Runs scripts within their limits. */
export interface ScriptRunner {
  readonly scripts: Scripts;
  /** False if the running command may take no memory, because memory was short when it began. */
  readonly hasRoom: boolean;
  /** Why the running unit of work may write nothing, or undefined. */
  readonly journalRefusal: string | undefined;
  readonly memory: MemoryAccount;
  /** True while a transaction runs, or a script that may write. */
  readonly runsUnit: boolean;
  /**
   * Runs a script for the caller of the running command, within the running unit of work: its commands see the earlier
   * changes of the unit, and their changes are part of the same frame.
   */
  runScript(rules: ScriptRules, script: (commands: CommandsOfScript) => Reply): Reply;
}

/** Clients that get pushes, or wait. */
export interface ClientHost {
  readonly pubsub: PubSub;
  readonly monitors: Monitors;
  readonly tracking: Tracking;
  readonly waiters: Waiters;
  /** The sessions that are logged in, and their bytes. */
  readonly sessions: {
    readonly count: number;
    readonly memoryBytes: number;
    readonly pause: Pause | undefined;
    figures(): SessionFigures;
  };
}

/** The settings of a database that CONFIG SET changes. */
export interface SettingsHost {
  readonly name: string;
  /** What CONFIG SET has chosen, if it is stored (`StoreFacts.keepsSettings`). */
  readonly chosen: ChosenSettings;
  /** Evicts as they require, as part of the running unit, unless `evicts` is false. */
  setMemory(settings: MemorySettings, how?: { readonly evicts: boolean }): void;
  /** The published events of keys, in the form that `readEventFlags` returns. */
  readonly eventFlags: string;
  setEventFlags(flags: string): void;
}

export interface CommandHost extends CommandRegister, ScriptRunner, ClientHost, SettingsHost {
  readonly keyspace: Keyspace;
  /** The search indexes. */
  readonly search: SearchUpkeep;
  /** Commands that run in slices. */
  readonly sliced: SlicedRuns;
  readonly context: StoreFacts;
  readonly users: Users;
  /** Whether a user of this name may log in. */
  hasUser(name: Bytes): boolean;
  readonly slowRuns: SlowRuns;
  readonly activity: Activity;
  /** Bytes of frames that the journal has not written yet. */
  readonly journalBytes: number;
  /** Rebuilds all keys from the frames of a snapshot, within the running unit: for DEBUG RELOAD. */
  reload(): void;
}
