/** CLAIM of XREADGROUP: entries that have been pending for long enough, longest idle first. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Keyspace } from "../keyspace.ts";
import { orderDeliveries } from "../mutations/stream-group.ts";
import type { StreamEntry } from "../structures/stream-chunk.ts";
import { StreamValue } from "../values/stream.ts";
import type { Pending, StreamGroup } from "../values/stream-group.ts";

/** A group of several streams. */
export interface GroupOfStreams {
  readonly keys: readonly Bytes[];
  readonly group: Bytes;
}

/** Orders the pending entries of the groups by their idle times, as `claimable` needs. */
export function orderPending(keyspace: Keyspace, { keys, group }: GroupOfStreams): void {
  for (const key of keys) {
    const found = findGroup(keyspace, key, group)?.group;
    if (found !== undefined && found.deliveries === undefined) orderDeliveries(keyspace, { key, group });
  }
}

interface Claimable {
  readonly pending: Pending;
  readonly entry: StreamEntry;
}

/** The entries that CLAIM reads; none without it. Entries that the stream no longer has are passed over. */
export function claimable(
  stream: StreamValue,
  { deliveries }: StreamGroup,
  { claimMs, countMax, nowMs }: { claimMs: number | undefined; countMax: number; nowMs: number },
): readonly Claimable[] {
  const found: Claimable[] = [];
  if (claimMs === undefined) return found;
  deliveries?.visit((pending) => {
    if (nowMs - pending.deliveredAtMs < claimMs) return false;
    const entry = stream.entries.find(pending);
    if (entry !== undefined) found.push({ pending, entry });
    return found.length < countMax;
  });
  return found;
}

/** A waiting client tries again after this time, at least, if it cannot know when an entry will be idle enough. */
const RETRY_MS = 100;

/** In how many ms an entry may be idle enough. */
export function untilClaimable(keyspace: Keyspace, { keys, group }: GroupOfStreams, claimMs: number): number {
  let dueMs = Number.POSITIVE_INFINITY;
  for (const key of keys) {
    const found = findGroup(keyspace, key, group);
    found?.group.deliveries?.visit((pending) => {
      if (!found.stream.entries.has(pending)) return true;
      dueMs = Math.min(dueMs, pending.deliveredAtMs + claimMs - keyspace.nowMs);
      return false;
    });
  }
  // One that is delivered now will be idle enough then.
  if (dueMs === Number.POSITIVE_INFINITY) return Math.max(claimMs, RETRY_MS);
  return dueMs > 0 ? dueMs : RETRY_MS;
}

function findGroup(
  keyspace: Keyspace,
  key: Bytes,
  name: Bytes,
): { readonly stream: StreamValue; readonly group: StreamGroup } | undefined {
  const stream = keyspace.peek(key);
  const group = stream instanceof StreamValue ? stream.group(name) : undefined;
  return stream instanceof StreamValue && group !== undefined ? { stream, group } : undefined;
}
