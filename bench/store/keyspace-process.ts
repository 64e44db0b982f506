/**
 * A store with N small keys in a separate process, without HTTP and without a
 * journal, so that only the engine is measured: bytes per key, the longest
 * command while the keyspace grows, and the longest collection while all keys are
 * resident. Prints one line of JSON.
 *
 * node --expose-gc bench/store/keyspace-process.ts <count>
 */

import { constants, PerformanceObserver, performance } from "node:perf_hooks";
import { systemClock } from "../../src/kernel/clock.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { seededRandom, systemRandom } from "../../src/kernel/random.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import { type Caller, Store } from "../../src/store/mod.ts";

export interface KeyspaceResult {
  readonly count: number;
  /** Heap and external memory after a full collection, minus that of an empty store. */
  readonly bytesPerKey: number;
  readonly residentBytesPerKey: number;
  readonly longestInsertMs: number;
  readonly longestPauseMs: number;
  /** Longest pause by kind of collection. */
  readonly pausesMs: Readonly<Record<string, number>>;
  readonly insertsPerSecond: number;
}

/** Commands between two turns of the event loop, in which the observer of collections is notified. */
const COMMANDS_PER_TURN = 5_000;
const CHURN_COMMANDS = 2_000_000;

const KIND_NAMES: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak callbacks",
};

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const count = Number(process.argv[2] ?? 1_000_000);

const pausesMs: Record<string, number> = {};
let isWatching = false;
new PerformanceObserver((list) => {
  if (!isWatching) return;
  for (const entry of list.getEntries()) {
    // Collections carry their kind, which the published types leave out.
    const { kind: number } = (entry as unknown as { detail: { kind: number } }).detail;
    const kind = KIND_NAMES[number] ?? "other";
    pausesMs[kind] = Math.max(pausesMs[kind] ?? 0, entry.duration);
  }
}).observe({ entryTypes: ["gc"] });

const store = new Store({
  journal: new NullJournal(),
  clock: systemClock,
  random: systemRandom,
  hashSeed: Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6),
});
const database = store.database("main");
// Words as the edge makes them: each sliced from the bytes of its request.
const scratch = Buffer.alloc(64);
const word = (text: string): string => scratch.latin1Slice(0, scratch.write(text, "latin1"));
const keyOf = (i: number): string => word(`user:${String(i).padStart(11, "0")}`);

await insert(0, 50_000);
database.command(caller, [word("FLUSHALL")]);
const before = memory();

isWatching = true;
const startMs = performance.now();
const longestInsertMs = await insert(0, count);
const insertsPerSecond = Math.round(count / ((performance.now() - startMs) / 1_000));
await churn();
await turn();
isWatching = false;

const after = memory();
const result: KeyspaceResult = {
  count,
  bytesPerKey: Math.round((after.heapBytes - before.heapBytes) / count),
  residentBytesPerKey: Math.round((after.residentBytes - before.residentBytes) / count),
  longestInsertMs,
  longestPauseMs: Math.max(0, ...Object.values(pausesMs)),
  pausesMs,
  insertsPerSecond,
};
console.log(JSON.stringify(result));
process.exit(0);

async function insert(from: number, to: number): Promise<number> {
  let longestMs = 0;
  for (let i = from; i < to; i += 1) {
    if (i % COMMANDS_PER_TURN === 0) await turn();
    const command = [word("SET"), keyOf(i), word(`value:${i % 1_000_000}`)];
    const beganMs = performance.now();
    database.command(caller, command);
    longestMs = Math.max(longestMs, performance.now() - beganMs);
  }
  return longestMs;
}

/** Reads and overwrites at random, as clients do while all of it is resident. */
async function churn(): Promise<void> {
  const random = seededRandom(1);
  for (let i = 0; i < CHURN_COMMANDS; i += 1) {
    if (i % COMMANDS_PER_TURN === 0) await turn();
    const key = keyOf(random.below(count));
    database.command(caller, i % 5 === 0 ? [word("SET"), key, word(`value:${i}`)] : [word("GET"), key]);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function memory(): { heapBytes: number; residentBytes: number } {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed + external, residentBytes: rss };
}
