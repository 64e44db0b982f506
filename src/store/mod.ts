/**
 * The door of the store. A door takes a whole request and returns its replies,
 * or one promise of them when they have to wait until what they saw is safe on
 * disk. Inside the engine nothing awaits.
 */

export type { Journal } from "../kernel/journal.ts";
export { defaultUser, readOnlyUser } from "./acl/built-in-users.ts";
export type { User } from "./acl/user.ts";
export type { CommandRequest } from "./database.ts";
export { Database, TransactionDiscarded } from "./database.ts";
export { CommandError } from "./errors.ts";
export type { DropReason, Listener, Push, Subscriber } from "./observe/pushes.ts";
export { RedisCompat } from "./redis-compat.ts";
export type { Reply } from "./reply.ts";
export type { Caller } from "./session/caller.ts";
export { type ProcessFigures, Store, type StoreOptions } from "./store.ts";
