/**
 * Question: what does our hash table cost compared with a `Map`, and how long is
 * its longest operation?
 *
 * Method: each table has its own process, so that neither pays for
 * the other's garbage. N keys of 16 bytes, cut from a buffer as the edge cuts
 * them, are inserted; then each is looked up with a new string in random order, as
 * a request would; then each is removed in random order. Single insertions are
 * timed one by one in a second round; collections are excluded by requesting
 * them every few thousand insertions, outside the clock.
 *
 * Read: `insert`, `find`, `miss` and `delete` in nanoseconds per key, `longest`
 * single insertion in microseconds, `bytes` resident per key, including keys. A
 * Map's longest insertion is the copy of the whole table. A change is worth
 * keeping if `longest` stays below 1 ms and `find` stays below twice the Map's.
 *
 * Run: npm run bench -- dictionary   (or node --expose-gc bench/dictionary.bench.ts [N])
 */
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../src/kernel/random.ts";
import { Dictionary } from "../src/store/structures/dictionary.ts";

interface Table {
  set(key: string, value: number): unknown;
  get(key: string): number | undefined;
  delete(key: string): boolean;
}

const SEED = Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6);

const tables: Record<string, () => Table> = {
  Map: () => new Map<string, number>(),
  Dictionary: () => new Dictionary<number>(SEED),
  "Dictionary with stamps": () => new Dictionary<number>(SEED, { stamps: true }),
};

const KEY_BYTES = 16;
/** Insertions between two collections in the longest-insertion round. */
const COLLECT_EVERY = 20_000;

const scratch = Buffer.alloc(KEY_BYTES);

function keyOf(prefix: string, number: number): string {
  scratch.write(`${prefix}:${String(number).padStart(KEY_BYTES - prefix.length - 1, "0")}`, "latin1");
  return scratch.latin1Slice(0, KEY_BYTES);
}

function shuffled(count: number): Uint32Array {
  const random = seededRandom(1);
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    const swapped = order[i] as number;
    order[i] = order[j] as number;
    order[j] = swapped;
  }
  return order;
}

function nanosecondsEach(count: number, call: (i: number) => void): number {
  const startMs = performance.now();
  for (let i = 0; i < count; i += 1) call(i);
  return Math.round(((performance.now() - startMs) * 1e6) / count);
}

function residentBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function longestInsertUs(table: Table, count: number): number {
  let longestMs = 0;
  for (let i = 0; i < count; i += 1) {
    if (i % COLLECT_EVERY === 0) globalThis.gc?.({ type: "minor" });
    const key = keyOf("user", i);
    const startMs = performance.now();
    table.set(key, i);
    longestMs = Math.max(longestMs, performance.now() - startMs);
  }
  return Math.round(longestMs * 1000);
}

function measure(name: string, count: number): Record<string, string | number> {
  const make = tables[name];
  if (make === undefined) throw new Error(`no table is called ${name}`);
  const order = shuffled(count);
  const warmUp = make();
  for (let i = 0; i < 100_000; i += 1) warmUp.set(keyOf("warm", i), i);
  for (let i = 0; i < 100_000; i += 1) warmUp.get(keyOf("warm", i));
  for (let i = 0; i < 100_000; i += 1) warmUp.delete(keyOf("warm", i));

  const table = make();
  const emptyBytes = residentBytes();
  // Making a key costs the same for each table; it is measured once and subtracted.
  const keyNs = nanosecondsEach(count, (i) => void keyOf("user", order[i] as number));
  const insertNs = nanosecondsEach(count, (i) => table.set(keyOf("user", i), i)) - keyNs;
  const bytes = Math.round((residentBytes() - emptyBytes) / count);
  const findNs = nanosecondsEach(count, (i) => table.get(keyOf("user", order[i] as number))) - keyNs;
  const missNs = nanosecondsEach(count, (i) => table.get(keyOf("none", order[i] as number))) - keyNs;
  const deleteNs = nanosecondsEach(count, (i) => table.delete(keyOf("user", order[i] as number))) - keyNs;
  const longestUs = longestInsertUs(make(), count);
  return { table: name, keys: count, insertNs, findNs, missNs, deleteNs, longestUs, bytes };
}

const [countText = "1000000", name] = process.argv.slice(2);
if (name === undefined) {
  const rows = Object.keys(tables).map((table) =>
    JSON.parse(
      execFileSync(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), countText, table], {
        encoding: "utf8",
      }),
    ),
  );
  console.table(rows);
} else {
  console.log(JSON.stringify(measure(name, Number(countText))));
}
