/**
 * One subject with its index, in a separate process, so that its memory can
 * be measured. It is controlled by messages.
 *
 * node bench/vector/subject-process.ts <module> <export> <set as JSON>
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { chunksOf, type DataSet, readQueries } from "./data-set.ts";
import type { Answers, BuildFacts, Hits, Open, OpenSubject, Order, Point, Times } from "./subject.ts";
import { HIT_COUNT } from "./truth.ts";

const CHUNK_ROWS = 1_000;
const SETTLE_MS = 500;

const [module = "", name = "", text = "{}"] = process.argv.slice(2);
const set = JSON.parse(text) as DataSet & { isFiltered: boolean };
const open = ((await import(new URL(module, import.meta.url).href)) as Record<string, Open>)[name];
if (open === undefined) throw new Error(`${module} has no ${name}`);
const queries = readQueries(set);
const subject = await open({ ...set, scratch: mkdtempSync(join(set.folder, "scratch-")) });

process.on("message", (order: Order) => {
  void obey(order).then(
    (answer) => process.send?.(answer),
    (fault: unknown) => {
      console.error(fault);
      process.exit(1);
    },
  );
});
process.once("disconnect", () => process.exit(0));
process.send?.("ready");

function obey(order: Order): Promise<Answers[Order["kind"]]> {
  if (order.kind === "build") return build(subject);
  return order.kind === "hits" ? hitsOf(order.point, order.queryCount) : time(order.point, order.seconds);
}

async function build(target: OpenSubject): Promise<BuildFacts> {
  const before = await residentBytes();
  const beganMs = performance.now();
  for (const { first, rows } of chunksOf(set, CHUNK_ROWS)) {
    await target.add(first, rows);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await target.finish();
  const buildMs = performance.now() - beganMs;
  return {
    buildMs,
    residentBytes: (await residentBytes()) - before,
    ownBytes: target.ownBytes(),
    isAdjustable: target.isAdjustable,
  };
}

async function hitsOf(point: Point, queryCount: number): Promise<readonly Hits[]> {
  const lists: Hits[] = [];
  for (let number = 0; number < Math.min(queryCount, queries.length); number += 1)
    lists.push(await search(number, point));
  return lists;
}

async function time(point: Point, seconds: number): Promise<Times> {
  const takenMs: number[] = [];
  const startCpu = process.cpuUsage();
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let atMs = startMs;
  for (let number = 0; atMs < endMs; number = (number + 1) % queries.length) {
    const hits = search(number, point);
    // Waiting for an available result would only add a turn.
    if (hits instanceof Promise) await hits;
    const nowMs = performance.now();
    takenMs.push(nowMs - atMs);
    atMs = nowMs;
    // Let timers, and messages of the building thread, run.
    if (takenMs.length % 100 === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      atMs = performance.now();
    }
  }
  const totalMs = atMs - startMs;
  const { user, system } = process.cpuUsage(startCpu);
  const sorted = Float64Array.from(takenMs).sort();
  const percentile = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    perSecond: (sorted.length * 1_000) / totalMs,
    cpuUs: (user + system) / sorted.length,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
  };
}

function search(number: number, { effort, modulus, topK = HIT_COUNT }: Point): Hits | Promise<Hits> {
  const query = queries[number] as Float32Array;
  const passing = modulus === 1 ? {} : { passing: { modulus, remainder: number % modulus } };
  return subject.search({ query, count: topK, effort, ...passing });
}

async function residentBytes(): Promise<number> {
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  globalThis.gc?.();
  return process.memoryUsage.rss();
}
