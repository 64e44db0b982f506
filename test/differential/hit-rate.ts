/**
 * The hit rate of a cache on one trace, in redis-server and
 * in our engine.
 *
 * The trace draws keys of which few are read often (Zipf's law). In each
 * step some keys are read, and missing ones are written. Redis goes
 * first, and its measurements make the second run comparable: how many keys
 * it holds on average, since a key takes a different number of bytes there, and
 * when each step began, since both policies depend on time.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import type { MemorySettings } from "../../src/store/memory/memory-settings.ts";
import { type Session, startSession } from "../harness/store-harness.ts";
import type { RedisProcess } from "./redis-process.ts";

export interface TraceOptions {
  readonly policy: MemorySettings["policy"];
  readonly seed: number;
  /** Distinct keys of the trace. */
  readonly keyCount: number;
  /** The approximate number of keys that Redis holds. */
  readonly heldCount: number;
  /** Steps run until that many keys were read, or that much time has passed. */
  readonly limit: { readonly count: number } | { readonly budgetMs: number };
  /** Time between the starts of two steps, for a policy based on time; absent: as fast as possible. */
  readonly stepMs?: number;
}

export interface RedisRun {
  /** Reads that found their key, as a share of all after the cache was full. */
  readonly hitRate: number;
  readonly readCount: number;
  /** Keys held, on average after the cache was full. */
  readonly heldCount: number;
  /** When each step began, in ms. */
  readonly startsMs: readonly number[];
}

/** Keys read in one step: their replies fit the buffer that Redis always allocates. */
const STEP_READS = 50;
/** Long enough that other memory of Redis has little influence. */
const VALUE = "v".repeat(200);
/** Fewer would be too random, however slow the machine is. */
const READS_MIN = 60_000;
/** The exponent of Zipf's law: how strongly popular keys are preferred. */
const EXPONENT = 0.9;

export async function runOnRedis(redis: RedisProcess, options: TraceOptions): Promise<RedisRun> {
  const { policy, heldCount, limit, stepMs = 0 } = options;
  await redis.call(["CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", policy]);
  // Twice, so that the buffers of the connection have their final size.
  for (let round = 0; round < 2; round += 1) {
    await redis.call(["FLUSHALL"]);
    for (let i = 0; i < heldCount; i += STEP_READS) {
      await redis.pipeline(Array.from({ length: STEP_READS }, (_, at) => ["SET", fillerKey(i + at), VALUE]));
    }
  }
  const [, used = ""] = /used_memory:(\d+)/.exec(String(await redis.call(["INFO", "memory"]))) ?? [];
  await redis.call(["CONFIG", "SET", "maxmemory", used]);

  const trace = drawTrace(options);
  const count = newCount(options);
  const startsMs: number[] = [];
  let heldSum = 0;
  let heldLooks = 0;
  const beginMs = systemClock.monotonicMs();
  const isDone = (): boolean =>
    "count" in limit
      ? count.readCount >= limit.count
      : count.readCount >= READS_MIN && systemClock.monotonicMs() - beginMs >= limit.budgetMs;
  while (!isDone()) {
    const waitMs = beginMs + startsMs.length * stepMs - systemClock.monotonicMs();
    if (waitMs > 1) await new Promise<void>((resolve) => systemClock.after(waitMs, resolve));
    startsMs.push(systemClock.nowMs());
    const keys = trace();
    const found = await redis.pipeline(keys.map((key) => ["GET", key]));
    const missing = count.note(
      keys,
      found.map((reply) => reply !== null),
    );
    if (missing.length > 0) await redis.pipeline(missing.map((key) => ["SET", key, VALUE]));
    if (count.isCounting && startsMs.length % 10 === 0) {
      heldSum += Number(await redis.call(["DBSIZE"]));
      heldLooks += 1;
    }
  }
  return { hitRate: count.hitRate, readCount: count.readCount, heldCount: heldSum / heldLooks, startsMs };
}

/** The hit rate of our engine on the same trace. `clockUnitMs`: the step of the clock in ms, 1000 in Redis. */
export function runOnEngine(run: RedisRun, options: TraceOptions & { readonly clockUnitMs: number }): number {
  const { policy, clockUnitMs } = options;
  const heldCount = Math.round(run.heldCount);
  const clock = new VirtualClock(run.startsMs[0]);
  const session = startSession({ clock });
  const { database } = session;
  fill(session, heldCount);
  database.setMemory({ ...database.keyspace.memory, policy, bytesMax: database.keyspace.usedBytes });
  const trace = drawTrace(options);
  const count = newCount(options);
  for (const startMs of run.startsMs) {
    clock.stepWallClock(Math.floor(startMs / clockUnitMs) * clockUnitMs - clock.nowMs());
    const keys = trace();
    const missing = count.note(
      keys,
      keys.map((key) => session.call("GET", key) !== null),
    );
    for (const key of missing) session.call("SET", key, VALUE);
  }
  return count.hitRate;
}

function fill(session: Session, heldCount: number): void {
  for (let i = 0; i < heldCount; i += 1) session.call("SET", fillerKey(i), VALUE);
}

/** Fills the cache at the start and is never read. As long as the keys of the trace. */
function fillerKey(i: number): Bytes {
  return `old:${String(i).padStart(8, "0")}`;
}

/** The keys of one step after the other. */
function drawTrace({ seed, keyCount }: TraceOptions): () => Bytes[] {
  const random = seededRandom(seed);
  const shares = new Float64Array(keyCount);
  let sum = 0;
  for (let rank = 0; rank < keyCount; rank += 1) {
    sum += 1 / (rank + 1) ** EXPONENT;
    shares[rank] = sum;
  }
  return () => Array.from({ length: STEP_READS }, () => `key:${String(drawRank(shares, random)).padStart(8, "0")}`);
}

/** The first rank whose cumulative share reaches a random fraction. */
function drawRank(shares: Float64Array, random: Random): number {
  const wanted = random.unit() * (shares.at(-1) as number);
  let low = 0;
  let high = shares.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((shares[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Count {
  readonly readCount: number;
  /** False until as many keys were written as are held: from then on the policy determines the cache. */
  readonly isCounting: boolean;
  readonly hitRate: number;
  /** Records one step. Returns the keys that were missing, each once. */
  note(keys: readonly Bytes[], found: readonly boolean[]): readonly Bytes[];
}

function newCount({ heldCount }: TraceOptions): Count {
  let readCount = 0;
  let writtenCount = 0;
  let countedReads = 0;
  let hits = 0;
  return {
    get readCount() {
      return readCount;
    },
    get isCounting() {
      return writtenCount >= heldCount;
    },
    get hitRate() {
      return hits / countedReads;
    },
    note(keys, found) {
      const missing = new Set(keys.filter((_, at) => found[at] === false));
      readCount += keys.length;
      if (writtenCount >= heldCount) {
        countedReads += keys.length;
        hits += found.filter((isThere) => isThere).length;
      }
      writtenCount += missing.size;
      return [...missing];
    },
  };
}
