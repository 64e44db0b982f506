/**
 * The public interface of the store. Everything starts at a `Store`. Its
 * functions take a whole request and return its replies, or one promise of
 * them if they must wait until the state they saw is safe on disk.
 * Inside the engine nothing awaits. Lua is compiled when a script first needs it.
 *
 * Three folders have a `mod.ts` of their own, since they are used without a store:
 * `reply/`, `structures/rdb/` and `memory/`.
 */

export type { Journal } from "../kernel/journal.ts";
export { defaultUser, readOnlyUser } from "./acl/built-in-users.ts";
export type { User } from "./acl/user.ts";
export type { CommandFacts, CommandRequest, RequestWithValue } from "./command-facts.ts";
export type {
  CpuSeconds,
  MemoryFigures,
  ProcessFigures,
  RespFigures,
  ServerSettings,
  SnapshotFacts,
} from "./command-host.ts";
export { RedisCompat } from "./commands/redis-compat.ts";
export { commands, findCommand } from "./commands/table.ts";
export type { Database } from "./database.ts";
export { CommandError, databaseIsMoving, StoppedUnit, TransactionDiscarded } from "./errors.ts";
export { openSnapshotCheck, SNAPSHOT_CHECK_SEED_BYTES } from "./mutations/snapshot-check.ts";
export { type DatabaseChange, readDatabaseChanges, writeDatabaseChange } from "./mutations/state/databases.ts";
export type { DropReason, Listener, Push, Subscriber } from "./observe/pushes.ts";
export type { Reply } from "./reply/reply.ts";
export type { LuaLimits } from "./scripting/lua/runtime.ts";
export type { Caller } from "./session/caller.ts";
export type { ClientFacts } from "./session/client-facts.ts";
export { clientFacts, clientStates } from "./session/client-line.ts";
export type { LoggedIn, SessionLogin, SessionPeer } from "./session/peer.ts";
export type { Session, SessionOptions } from "./session/session.ts";
export { openSession, Store, type StoreOptions } from "./store.ts";
export { LARGE_BYTES_MIN } from "./structures/large-string.ts";
