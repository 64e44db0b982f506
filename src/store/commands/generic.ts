/**
 * Commands on keys of any type. Expiries are in `expiry.ts`, iteration over keys
 * in `scan.ts`, OBJECT in `object.ts`, DUMP and RESTORE in `dump.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { allKeys, type Call, family, firstKey, firstTwoKeys, noKeys } from "../command.ts";
import {
  databaseOutOfRange,
  noLocalSync,
  noSuchKey,
  notBetween,
  syntaxError,
  timeoutNegative,
  timeoutNotInteger,
} from "../errors.ts";
import { copyKey, removeKey, renameKey } from "../mutations/generic.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, integer, nil, ok, one, type Reply, simple, zero } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { typeOf } from "../values/table.ts";
import { created, looked, overwritten, read, removed, taken } from "./command-keys.ts";
import { dumpRow, restoreRow } from "./dump.ts";
import { expiryRows } from "./expiry.ts";
import { objectRow } from "./object.ts";
import { matcherOf, scanRow } from "./scan.ts";
import { sortRows } from "./sort.ts";

export const genericCommands = family("generic", [
  {
    name: "COPY",
    summary: "Copies the value of a key, with its expiry, to another key",
    arity: -3,
    flags: ["write", "denyoom"],
    keys: firstTwoKeys,
    keyUses: [read, overwritten],
    run: copy,
  },
  {
    name: "DEL",
    summary: "Removes keys and returns the number removed",
    arity: -2,
    flags: ["write"],
    keys: allKeys,
    keyUses: [removed],
    takesIndexes: true,
    run: remove,
  },
  dumpRow,
  {
    name: "EXISTS",
    summary: "Returns how many of the keys exist, counting repeated keys each time",
    arity: -2,
    flags: ["readonly", "fast"],
    keys: allKeys,
    keyUses: [looked],
    run: ({ keyspace, arg, argCount }) => {
      let count = 0;
      for (let i = 1; i < argCount; i += 1) {
        if (keyspace.has(arg(i))) count += 1;
        else keyspace.notify(events.keymiss, arg(i));
      }
      return count;
    },
  },
  ...expiryRows,
  {
    name: "KEYS",
    summary: "Returns all keys that match a pattern",
    arity: 2,
    flags: ["readonly", "powerful"],
    categories: ["keyspace", "dangerous"],
    keys: noKeys,
    run: keys,
  },
  objectRow,
  {
    name: "RANDOMKEY",
    summary: "Returns a random key",
    arity: 1,
    flags: ["readonly", "powerful"],
    keys: noKeys,
    run: randomKey,
  },
  {
    name: "RENAME",
    summary: "Renames a key, replacing the new name",
    arity: 3,
    flags: ["write"],
    keys: firstTwoKeys,
    keyUses: [taken, overwritten],
    run: (call) => {
      const { keyspace, arg } = call;
      const from = arg(1);
      const to = arg(2);
      if (!keyspace.use(from)) throw noSuchKey;
      if (from === to) return ok;
      keyspace.expireReplaced(to);
      renameKey(keyspace, from, to);
      notifyRenamed(call, from, to);
      return ok;
    },
  },
  {
    name: "RENAMENX",
    summary: "Renames a key unless the new name exists",
    arity: 3,
    flags: ["write", "fast"],
    keys: firstTwoKeys,
    keyUses: [taken, created],
    run: (call) => {
      const { keyspace, arg } = call;
      const from = arg(1);
      const to = arg(2);
      if (!keyspace.use(from)) throw noSuchKey;
      if (from === to || keyspace.use(to)) return zero;
      renameKey(keyspace, from, to);
      notifyRenamed(call, from, to);
      return one;
    },
  },
  restoreRow,
  scanRow,
  ...sortRows,
  {
    name: "TOUCH",
    summary: "Updates the time of last use of keys and returns how many exist",
    arity: -2,
    flags: ["readonly", "fast"],
    keys: allKeys,
    keyUses: [looked],
    run: ({ keyspace, arg, argCount }) => {
      let count = 0;
      for (let i = 1; i < argCount; i += 1) if (keyspace.find(arg(i)) !== undefined) count += 1;
      return count;
    },
  },
  {
    name: "TYPE",
    summary: "Returns the type of the value at a key",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => {
      const value = keyspace.peek(arg(1));
      if (value === undefined) keyspace.notify(events.keymiss, arg(1));
      return simple(value === undefined ? "none" : typeOf(value).name);
    },
  },
  {
    name: "UNLINK",
    summary: "Removes keys, like DEL, but also accepts an empty list of keys",
    // Redis requires at least one key; the service does not (A.particulars.unlink).
    arity: -1,
    flags: ["write", "fast"],
    keys: allKeys,
    keyUses: [removed],
    takesIndexes: true,
    run: remove,
  },
  {
    name: "WAIT",
    summary: "Returns the number of replicas that have all writes: always 0",
    arity: 3,
    flags: ["noscript"],
    categories: ["connection"],
    keys: noKeys,
    run: ({ arg, integer: integerAt }) => {
      integerAt(1);
      checkTimeout(arg(2));
      return zero;
    },
  },
  {
    name: "WAITAOF",
    summary: "Returns whether all writes are on disk, and on how many replicas",
    arity: 4,
    flags: ["noscript"],
    categories: ["connection"],
    keys: noKeys,
    run: waitForDisk,
  },
]);

function copy({ keyspace, arg, word, argCount, integer: integerAt }: Call): Reply {
  let replaces = false;
  for (let i = 3; i < argCount; i += 1) {
    const option = word(i);
    if (option === "REPLACE") {
      replaces = true;
    } else if (option === "DB" && i + 1 < argCount) {
      i += 1;
      // A database contains no numbered databases; its own number is 0, as for SELECT.
      if (integerAt(i) !== 0) throw databaseOutOfRange;
    } else {
      throw syntaxError;
    }
  }
  const from = arg(1);
  const to = arg(2);
  // For a copy onto itself Redis returns an error; the service returns 0 (A.particulars.copy).
  if (from === to) return zero;
  if (!keyspace.use(from)) {
    keyspace.notify(events.keymiss, from);
    return zero;
  }
  if (keyspace.use(to) && !replaces) return zero;
  copyKey(keyspace, from, to);
  keyspace.notify(events.copy_to, to);
  return one;
}

function notifyRenamed({ keyspace }: Call, from: Bytes, to: Bytes): void {
  keyspace.notify(events.rename_from, from);
  keyspace.notify(events.rename_to, to);
}

function remove({ keyspace, arg, argCount }: Call): Reply {
  let count = 0;
  for (let i = 1; i < argCount; i += 1) {
    const key = arg(i);
    if (!keyspace.has(key)) continue;
    removeKey(keyspace, key);
    keyspace.notify(events.del, key);
    count += 1;
  }
  return count;
}

function keys({ keyspace, arg }: Call): Reply {
  const matches = matcherOf(arg(1));
  const { entries } = keyspace;
  const budget = new ReplyBudget();
  const found: Bytes[] = [];
  for (let slot = 0; slot < entries.size; slot += 1) {
    const key = entries.keyAt(slot);
    if (!matches(key)) continue;
    budget.take(key.length);
    found.push(key);
  }
  // Checked last, because `has` removes an expired key.
  return keyspace.hasExpiries ? found.filter((key) => keyspace.has(key)) : found;
}

/** Random draws before the keys are checked one after the other. */
const DRAWS_MAX = 100;
/** Keys that are then checked before the database counts as empty. */
const WALK_MAX = 10_000;

function randomKey({ keyspace, random }: Call): Reply {
  const { entries } = keyspace;
  for (let draws = 0; draws < DRAWS_MAX && entries.size > 0; draws += 1) {
    const key = entries.keyAt(random.below(entries.size));
    if (keyspace.has(key)) return bulk(key);
  }
  // Nearly all keys are expired; if they may not be removed, more draws might never end.
  let slot = 0;
  for (let looks = 0; looks < WALK_MAX && slot < entries.size; looks += 1) {
    const key = entries.keyAt(slot);
    if (keyspace.has(key)) return bulk(key);
    // A removal moves another key into this slot.
    if (slot < entries.size && entries.keyAt(slot) === key) slot += 1;
  }
  return nil;
}

/**
 * Reports the current state of the disk. The reply waits no longer than the durability setting makes every reply wait.
 */
function waitForDisk({ arg, database, integer: integerAt, countFromZero }: Call): Reply {
  const wantedLocal = integerAt(1);
  if (wantedLocal < 0 || wantedLocal > 1) throw notBetween("0", "1");
  countFromZero(2);
  checkTimeout(arg(3));
  const { journal } = database.context;
  if (journal.synced === undefined) {
    if (wantedLocal !== 0) throw noLocalSync;
    return [zero, zero];
  }
  return [integer(journal.synced >= journal.end ? 1 : 0), zero];
}

function checkTimeout(text: Bytes): void {
  const timeout = parseInteger(text);
  if (timeout === undefined) throw timeoutNotInteger;
  if (timeout < 0) throw timeoutNegative;
}
