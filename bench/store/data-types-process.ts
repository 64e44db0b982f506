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
import { type DataTypeRow, dataTypeRows, type Words } from "./data-type-rows.ts";

export interface OwnResult {
  /** From the call to the reply, per command. */
  readonly microseconds: number;
  readonly bytesPerElement: number | null;
}

/** Commands are made in groups before the clock starts, so that making them is not measured. */
const GROUP = 1_000;
/** Both kinds of commands run this long first, on separate elements: a newly started server is not measured. */
const WARM_UP_MS = 400;
const WARM_UP_ELEMENTS = 50_000;

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const [countText = "", name = ""] = process.argv.slice(2);
const found = dataTypeRows.find((row) => row.name === name);
if (found === undefined) throw new Error(`There is no row ${name}`);
console.log(JSON.stringify(measure(found, Number(countText))));

function measure(row: DataTypeRow, elementCount: number): OwnResult {
  const count = Math.round(elementCount * (row.share ?? 1));
  const { command, times = 0 } = row;
  warmUp(row);

  const database = openDatabase();
  const beforeBytes = memory();
  const fillMs = run(database, { from: 0, to: count }, (i) => row.fill(i, count));
  const bytesPerElement = row.weighs === true ? (memory() - beforeBytes) / count : null;
  if (command === undefined) return { microseconds: (fillMs / count) * 1_000, bytesPerElement };
  const tookMs = run(database, { from: 0, to: times }, (i) => command(i, count));
  return { microseconds: (tookMs / times) * 1_000, bytesPerElement };
}

function warmUp({ fill, command }: DataTypeRow): void {
  const database = openDatabase();
  for (const words of command === undefined ? [fill] : [fill, command]) {
    const endMs = performance.now() + WARM_UP_MS;
    for (let start = 0; performance.now() < endMs; start += GROUP)
      run(database, { from: start, to: start + GROUP }, (i) => words(i % WARM_UP_ELEMENTS, WARM_UP_ELEMENTS));
  }
  database.command(caller, ["FLUSHALL"]);
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
function run(database: Database, { from, to }: { from: number; to: number }, command: (i: number) => Words): number {
  let tookMs = 0;
  for (let start = from; start < to; start += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, to - start) }, (_, i) => fresh(command(start + i)));
    const startMs = processorMs();
    for (const words of group) database.command(caller, words);
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
