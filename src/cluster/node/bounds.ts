/** The times of a node's life. Each is counted by the clock of the node that uses it. */

/** A node whose beat stands still for this long may be declared dead. */
export const LEASE_MS = 6_000;

/**
 * What the holder itself counts as its lease: less, because its clock may be slower than that of a watcher. With clocks
 * that are 5 % slow and 5 % fast, 5,400 / 0.95 < 6,000 / 1.05.
 */
export const HELD_MS = LEASE_MS * 0.9;

/** From one renewal to the next. */
export const RENEWAL_PERIOD_MS = 1_500;

/** After a call that failed, before it is repeated. */
export const RETRY_MS = 250;

/** From one poll of the nodes and shards to the next. */
export const POLL_PERIOD_MS = 1_000;

/**
 * A node reads all nodes and shards again after at least this time, and at most after the next one, although polls read
 * what changed: a net below that. With 100 nodes and 10,000 shards it is 1,700 rows a second of all nodes.
 */
export const WHOLE_MS_MIN = 400_000;
export const WHOLE_MS_MAX = 800_000;

/** Polls that are further apart than this begin all counts again. So does a renewal that takes this long. */
export const GAP_MS_MAX = 2_000;

/** A commit that takes longer suspends its shard. */
export const COMMIT_MS_MAX = 2_000;

/** No call of a destination starts while a frame has waited longer for its commit. */
export const CALL_LAG_MS_MAX = 1_000;

/** A difference to the clock of the store that is warned of. */
export const SKEW_WARNING_MS = 500;

/** With a larger difference to the clock of the store a node claims nothing, and a floor this far ahead is ignored. */
export const SKEW_MS_MAX = 5_000;

/** The n-th candidate for a free shard waits n times this long. */
export const RANK_DELAY_MS = 2_000;

/**
 * A node serves a shard for so long after it has announced its release: then all others have seen that, and its heir has
 * had time to fetch the segment that was ended for it.
 */
export const ANNOUNCED_MS = POLL_PERIOD_MS + 1_000;

/** From one poll to the next while the release of a shard is announced and nobody has claimed it. */
export const MOVE_POLL_PERIOD_MS = 100;
/** More nodes than this poll less often, so that all of them together send no more polls. */
export const MOVE_POLLERS_MAX = 10;

/** After this time an announcement is no reason for more polls. */
export const MOVE_WATCH_MS_MAX = 5_000;

/** For this long a node that leaves releases no more shards than their heirs recover at a time. */
export const PACED_MS_MAX = 5_000;

/** Shards move only to a node that has lived and renewed steadily for this long. */
export const SETTLED_MS = 30_000;

/**
 * For this long no shard moves to a node that did not take one which was released for it, and a node is the last candidate
 * for a shard that it failed to recover.
 */
export const AVOIDED_MS = 300_000;

/** A node claims and recovers at most this many shards at a time. */
export const LOADS_MAX = 2;

/** After this many claims without a recovery a shard is broken: nobody claims it. */
export const RECOVERY_TRIES_MAX = 3;
