/**
 * Keyspace notifications: the published changes, named as in Redis 7. A command
 * reports the event of its change to its keyspace; no code looks for a command
 * by its name.
 *
 * An event goes to two channels, if the flags of the database enable them:
 * `__keyspace@0__:<key>` with its name, and `__keyevent@0__:<name>` with the key.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { PubSub } from "./pubsub.ts";

/** Classes of events by their letter in CONFIG SET, in the order in which CONFIG GET prints them. */
const CLASSES = "g$lshzxetdn";
/** The classes that `A` stands for. */
const ALL_CLASSES = "g$lshzxetd";
const KEYSPACE = "K";
const KEYEVENT = "E";
/** The class of misses; printed last, and not part of `A`. */
const MISSES = "m";
const BEHIND_CLASSES = `${KEYSPACE}${KEYEVENT}${MISSES}`;

export interface KeyspaceEvent {
  /** The letter of its class. */
  readonly flag: string;
  readonly name: string;
}

function eventsOf<const Name extends string>(flag: string, names: readonly Name[]): Record<Name, KeyspaceEvent> {
  const table: Partial<Record<Name, KeyspaceEvent>> = {};
  for (const name of names) table[name] = { flag, name };
  return table as Record<Name, KeyspaceEvent>;
}

/** Every event, by its name. Those of JSON have the names of Redis' module. */
export const events = {
  ...eventsOf("g", ["del", "rename_from", "rename_to", "copy_to", "expire", "persist", "restore"]),
  ...eventsOf("$", ["set", "setrange", "append", "incrby", "incrbyfloat", "setbit", "pfadd"]),
  ...eventsOf("l", ["lpush", "rpush", "lpop", "rpop", "linsert", "lset", "lrem", "ltrim", "sortstore"]),
  ...eventsOf("s", ["sadd", "srem", "spop", "sinterstore", "sunionstore", "sdiffstore"]),
  ...eventsOf("h", ["hset", "hincrby", "hincrbyfloat", "hdel", "hexpire", "hpersist", "hexpired"]),
  ...eventsOf("z", ["zadd", "zincr", "zrem", "zpopmin", "zpopmax", "zinterstore", "zunionstore", "zdiffstore"]),
  ...eventsOf("z", ["zremrangebyscore", "zremrangebyrank", "zremrangebylex", "zrangestore"]),
  ...eventsOf("z", ["geosearchstore", "georadiusstore"]),
  ...eventsOf("t", ["xadd", "xdel", "xtrim", "xsetid", "xgroup-create", "xgroup-setid", "xgroup-destroy"]),
  ...eventsOf("t", ["xgroup-createconsumer", "xgroup-delconsumer"]),
  ...eventsOf("d", ["json.set", "json.mset", "json.merge", "json.del", "json.clear", "json.toggle", "json.strappend"]),
  ...eventsOf("d", ["json.numincrby", "json.nummultby", "json.arrappend", "json.arrinsert", "json.arrpop"]),
  ...eventsOf("d", ["json.arrtrim"]),
  ...eventsOf("x", ["expired"]),
  ...eventsOf("e", ["evicted"]),
  ...eventsOf("n", ["new"]),
  ...eventsOf(MISSES, ["keymiss"]),
};

/** The flags in a text, in the order of Redis, or undefined if it has others. */
export function readEventFlags(text: Bytes): string | undefined {
  for (const letter of text) if (!`${CLASSES}${BEHIND_CLASSES}A`.includes(letter)) return undefined;
  const given = text.replaceAll("A", ALL_CLASSES);
  const pick = (letters: string): string => [...letters].filter((letter) => given.includes(letter)).join("");
  return pick(CLASSES) + pick(BEHIND_CLASSES);
}

/** The flags as CONFIG GET prints them: as in Redis, `A` hides `n`. */
export function printEventFlags(flags: string): string {
  const hasAll = [...ALL_CLASSES].every((letter) => flags.includes(letter));
  return hasAll ? `A${[...BEHIND_CLASSES].filter((letter) => flags.includes(letter)).join("")}` : flags;
}

/** The function that a keyspace calls with each event, or undefined if no event can be published. */
export function eventNotifier(flags: string, pubsub: PubSub): ((event: KeyspaceEvent, key: Bytes) => void) | undefined {
  const toKeyspace = flags.includes(KEYSPACE);
  const toKeyevent = flags.includes(KEYEVENT);
  if (!toKeyspace && !toKeyevent) return undefined;
  return ({ flag, name }, key) => {
    if (!flags.includes(flag) || !pubsub.hasListeners) return;
    if (toKeyspace) pubsub.publish(`__keyspace@0__:${key}`, name);
    if (toKeyevent) pubsub.publish(`__keyevent@0__:${name}`, key);
  };
}
