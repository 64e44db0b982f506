/**
 * One row of `data-type-rows.ts` in a separate process, so that neither the
 * garbage nor the compiled code of another row affects it. Prints one line of
 * JSON.
 *
 * node --expose-gc bench/store/data-types-process.ts <N> <name of the row>
 */

import { performance } from "node:perf_hooks";
import { systemClock } from "../../src/kernel/clock.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { systemRandom } from "../../src/kernel/random.ts";
import { readLuaCode } from "../../src/program/package-files.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import { type Caller, type Database, Store } from "../../src/store/mod.ts";
import { dataTypeFloors } from "./data-type-floors.ts";
import { type DataTypeRow, dataTypeRows, type Words } from "./data-type-rows.ts";

export interface OwnResult {
  /** From the call to the reply, per command. */
  readonly microseconds: number;
  readonly bytesPerElement: number | null;
  /** The same for the least code that does the work (`data-type-floors.ts`), if there is some for the row. */
  readonly floorMicroseconds: number | null;
}

/** What a command is passed to. */
type Run = (words: Words) => unknown;

/**
 * Commands are made in groups before the clock starts, so that making them is not measured. A group is small, because
 * its words must be in the processor's caches, as those of a packet are: with a thousand commands RPUSH took a fifth
 * longer, and BITFIELD a quarter.
 */
const GROUP = 100;
/**
 * Both kinds of commands run this long first, on separate elements: a newly started server is not measured. In two
 * databases, one after the other: V8 drops code that it has compiled for the objects of one database at the first
 * command of another, and then compiles it for any. After one, 16 functions of BITFIELD were dropped in the measured
 * database, some of them while commands were timed; after two, 3.
 */
const WARM_UP_MS = 400;
const WARM_UP_DATABASES = 2;
const WARM_UP_ELEMENTS = 50_000;

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const [countText = "", name = ""] = process.argv.slice(2);
const found = dataTypeRows.find((row) => row.name === name);
if (found === undefined) throw new Error(`There is no row ${name}`);
console.log(JSON.stringify(measure(found, Number(countText))));

function measure(row: DataTypeRow, elementCount: number): OwnResult {
  const count = Math.round(elementCount * (row.share ?? 1));
  for (let i = 0; i < WARM_UP_DATABASES; i += 1) {
    const warm = commandRunner();
    warmUp(row, warm);
    warm(["FLUSHALL"]);
  }
  const run = commandRunner();
  const beforeBytes = memory();
  const { microseconds, bytesPerElement } = time(row, run, {
    count,
    weigh: () => (row.weighs === true ? (memory() - beforeBytes) / count : null),
  });
  const floor = dataTypeFloors.get(row.name);
  if (floor === undefined) return { microseconds, bytesPerElement, floorMicroseconds: null };
  warmUp(row, floor());
  const { microseconds: floorMicroseconds } = time(row, floor(), { count, weigh: () => null });
  return { microseconds, bytesPerElement, floorMicroseconds };
}

/** Fills a value, weighs it, and runs the timed commands, if the row has some. */
function time(
  { fill, command, times = 0 }: DataTypeRow,
  run: Run,
  { count, weigh }: { readonly count: number; readonly weigh: () => number | null },
): { readonly microseconds: number; readonly bytesPerElement: number | null } {
  const fillMs = runAll(run, { from: 0, to: count }, (i) => fill(i, count));
  const bytesPerElement = weigh();
  if (command === undefined) return { microseconds: (fillMs / count) * 1_000, bytesPerElement };
  const tookMs = runAll(run, { from: 0, to: times }, (i) => command(i, count));
  return { microseconds: (tookMs / times) * 1_000, bytesPerElement };
}

function warmUp({ fill, command }: DataTypeRow, run: Run): void {
  for (const words of command === undefined ? [fill] : [fill, command]) {
    const endMs = performance.now() + WARM_UP_MS;
    for (let start = 0; performance.now() < endMs; start += GROUP)
      runAll(run, { from: start, to: start + GROUP }, (i) => words(i % WARM_UP_ELEMENTS, WARM_UP_ELEMENTS));
  }
}

/** Runs commands in a database of its own. */
function commandRunner(): Run {
  const database = openDatabase();
  return (words) => database.command(caller, words);
}

function openDatabase(): Database {
  const hashSeed = Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6);
  const lua = { code: readLuaCode() };
  const journal = new NullJournal();
  return new Store({ journal, clock: systemClock, random: systemRandom, hashSeed, lua }).database("main");
}

/**
 * The processor time of commands, in ms, without that of other processes. The system counts it in
 * ticks of some ms, so it is right on average over some hundred ms, not for a few commands.
 */
function runAll(run: Run, { from, to }: { from: number; to: number }, command: (i: number) => Words): number {
  let tookMs = 0;
  for (let start = from; start < to; start += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, to - start) }, (_, i) => fresh(command(start + i)));
    const startMs = processorMs();
    for (const words of group) run(words);
    tookMs += processorMs() - startMs;
  }
  return tookMs;
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Words as the edge makes them: separate flat strings. */
function fresh(words: Words): Words {
  return words.map((word) => Buffer.from(word, "latin1").latin1Slice());
}

function memory(): number {
  // The second one frees buffers.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
