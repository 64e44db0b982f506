/**
 * The active expiry cycle: removes expired keys that are never read, and so
 * frees their memory.
 *
 * A sweep visits the next few keys that have an expiry. It walks the table from
 * its end to its start and then starts again (a removal moves the last entry,
 * which was visited already, into the gap, so one walk misses no entry that
 * existed when it began). While many of the visited keys are expired it
 * continues, up to a bound in keys and in time.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Keyspace } from "../keyspace.ts";
import { expireKey } from "../mutations/generic.ts";
import { expireFields } from "../mutations/hash.ts";
import { HashValue } from "../values/hash.ts";

/** How often the sweep runs, as Redis' hz 10. */
export const SWEEP_EVERY_MS = 100;
/** Keys visited before the sweep decides whether to continue. */
const KEYS_PER_ROUND = 400;
/** It continues if at least this share of a round was expired. */
const STALE_SHARE_MIN = 0.1;
/** The longest time that a sweep holds the engine. */
const SWEEP_MS_MAX = 5;
/** Fields removed between two readings of the clock. */
const FIELDS_PER_ROUND_MAX = 1_000;

/** Where the next sweep continues, per keyspace. */
const cursors = new WeakMap<Keyspace, { keys: number; hashes: number }>();

export interface Sweep {
  /** Removed keys and fields. */
  readonly removedCount: number;
  /** Keys that it looked at, and those of them that it removed. */
  readonly visitedKeyCount: number;
  readonly staleKeyCount: number;
  /** True if it ended because of its time, not because few keys were expired. */
  readonly isCutShort: boolean;
}

export const noSweep: Sweep = { removedCount: 0, visitedKeyCount: 0, staleKeyCount: 0, isCutShort: false };

/** Runs one sweep as part of the running unit of work. */
export function sweepExpired(keyspace: Keyspace, clock: Clock): Sweep {
  const startMs = clock.monotonicMs();
  let cursor = cursors.get(keyspace);
  if (cursor === undefined) {
    cursor = { keys: 0, hashes: 0 };
    cursors.set(keyspace, cursor);
  }
  let removedCount = 0;
  let visitedKeyCount = 0;
  let staleKeyCount = 0;
  for (;;) {
    const visits = Math.min(KEYS_PER_ROUND, keyspace.expiries.size + keyspace.fieldExpiryKeys.size);
    visitedKeyCount += Math.min(KEYS_PER_ROUND, keyspace.expiries.size);
    const staleKeys = sweepKeys(keyspace, cursor);
    const stale = staleKeys + sweepFields(keyspace, cursor);
    staleKeyCount += staleKeys;
    removedCount += stale;
    const isDone = stale < visits * STALE_SHARE_MIN || stale === 0;
    const isCutShort = !isDone && clock.monotonicMs() - startMs >= SWEEP_MS_MAX;
    if (isDone || isCutShort) return { removedCount, visitedKeyCount, staleKeyCount, isCutShort };
  }
}

function sweepKeys(keyspace: Keyspace, cursor: { keys: number }): number {
  const { expiries, nowMs } = keyspace;
  let removed = 0;
  for (let visits = Math.min(KEYS_PER_ROUND, expiries.size); visits > 0; visits -= 1) {
    if (cursor.keys === 0 || cursor.keys > expiries.size) cursor.keys = expiries.size;
    if (cursor.keys === 0) break;
    cursor.keys -= 1;
    if (expiries.valueAt(cursor.keys) >= nowMs) continue;
    expireKey(keyspace, expiries.keyAt(cursor.keys));
    removed += 1;
  }
  return removed;
}

function sweepFields(keyspace: Keyspace, cursor: { hashes: number }): number {
  const { fieldExpiryKeys, entries, nowMs } = keyspace;
  let removed = 0;
  for (let visits = Math.min(KEYS_PER_ROUND, fieldExpiryKeys.size); visits > 0; visits -= 1) {
    if (cursor.hashes === 0 || cursor.hashes > fieldExpiryKeys.size) cursor.hashes = fieldExpiryKeys.size;
    if (cursor.hashes === 0) break;
    cursor.hashes -= 1;
    const key = fieldExpiryKeys.keyAt(cursor.hashes);
    const hash = entries.get(key);
    if (!(hash instanceof HashValue) || hash.nextDueMs >= nowMs) continue;
    removed += expireFields(keyspace, key, hash, FIELDS_PER_ROUND_MAX - removed);
    if (removed < FIELDS_PER_ROUND_MAX) continue;
    // This hash may have more: the next round starts with it.
    cursor.hashes += 1;
    break;
  }
  return removed;
}
