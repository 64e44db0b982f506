// Contract, to be replaced by database.ts and store.ts with exactly these shapes.
import type { Bytes } from "../kernel/bytes.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { CommandError } from "./errors.ts";
import type { StoreJournal } from "./journal.ts";
import type { Reply } from "./reply.ts";

/** Who is asking and how. */
export interface Caller {
  readonly access: "standard" | "read-only"; // later: ACL users
  readonly transport: "http" | "tcp";
  readonly address: string; // ip:port
}

/** A command: its name, then its arguments, as bytes. */
export type CommandRequest = readonly Bytes[];

/** Thrown by `transaction` when nothing was run; `error` is the first offending command's own. */
export declare class TransactionDiscarded {
  readonly error: CommandError;
}

export interface Database {
  readonly name: string;
  /** Runs one command. An error is a reply of kind "error"; nothing is thrown for the caller's mistakes. */
  command(caller: Caller, request: CommandRequest): Reply | Promise<Reply>;
  /** Runs commands in order, not atomically; an error is its element. */
  pipeline(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]>;
  /** Checks every command, then runs all as one frame. Throws TransactionDiscarded (synchronously) when one is refused. */
  transaction(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]>;
}

export interface StoreOptions {
  readonly journal: StoreJournal;
  readonly clock: Clock;
  readonly random: Random;
  /** Secret seed of the hash tables: 8 bytes. */
  readonly hashSeed: Uint8Array;
}

export interface Store {
  /** Finds or creates (journaled) the database of this name. */
  database(name: string): Database;
  /** Removes a database and all its keys (journaled). */
  dropDatabase(name: string): void;
  readonly databaseNames: readonly string[];
  /** Empties every database (dev reset; journaled). */
  reset(): void;
  /** Recovery: applies one frame from a snapshot or the journal. Reads no clock, no dice. */
  replay(frame: Buffer): void;
  /** The whole state as frames that rebuild it through `replay`, for a snapshot. */
  dump(): Generator<Uint8Array>;
  /** Starts the active expiry cycle on the clock. The returned function stops it. */
  startExpiryCycle(): () => void;
}
