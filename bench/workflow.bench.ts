/**
 * Question: how many workflow steps does larder process per second, what does
 * a step cost at low load, and what do ten thousand runs cost that sleep until the
 * same time, or wait for one event?
 *
 * Method: larder on core 0 with its data directory on disk, every step on the
 * disk before it is answered; the application is this process, on the other
 * core. "raw" is an application that uses only the content of a delivery
 * and answers with one request; "serve()" is the official client's. Several
 * runs are active at a time, each started when another has ended, after a
 * warm-up. A step is one result: a fork of 20 has 20 of them and 41 deliveries.
 * The history is on the application's core for raw, and on larder's for serve(),
 * where the application needs the other core.
 *
 * Read: `alone` is the time of one run alone, divided by its steps; `larder's
 * part` is that of one step alone, from the request with its result to the
 * delivery of it: two requests over loopback and one fdatasync, whose
 * mean is beside it. For waiting runs, `p50` to `max` are from the time at which
 * all were to wake to the delivery. For lists, the time of the engine before it
 * writes to the socket, for entries of 1 KiB: it should not grow with the run
 * if the text is cached. Differences below 15 % are noise.
 *
 * Run: npm run build && npm run bench -- workflow [--quick] [--only <part of a name>] [--program <bin/larder.cjs>]
 *      --quick: runs of 2 s and 1,000 waiting runs; writes no results, as with --only
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { writePart } from "./harness/results-page.ts";
import { table } from "./harness/table.ts";
import { type HistoryPlace, type LarderServer, startMessaging } from "./messaging/larder.ts";
import { publishedProgram } from "./store/subjects.ts";
import { Application } from "./workflow/application.ts";
import { type ListResult, measureList } from "./workflow/lists.ts";
import { measureShape, type NamedShape, type ShapeResult } from "./workflow/steps.ts";
import { measureSleeping, measureWaiters, type WaitingResult } from "./workflow/waiting.ts";

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, only: { type: "string", default: "" }, program: { type: "string" } },
});
const isQuick = values.quick === true;
const times = isQuick ? { warmUpMs: 1_500, runMs: 2_000 } : { warmUpMs: 3_000, runMs: 8_000 };
const WAITING = isQuick ? 1_000 : 10_000;

const shapes: readonly NamedShape[] = [
  { name: "raw, 1 step", steps: 1, isFork: false, underWay: 32, isServed: false },
  { name: "raw, 10 steps", steps: 10, isFork: false, underWay: 32, isServed: false },
  { name: "raw, 100 steps", steps: 100, isFork: false, underWay: 32, isServed: false },
  { name: "raw, fork of 20", steps: 20, isFork: true, underWay: 8, isServed: false },
  { name: "serve(), 1 step", steps: 1, isFork: false, underWay: 32, isServed: true },
  { name: "serve(), 10 steps", steps: 10, isFork: false, underWay: 32, isServed: true },
  { name: "serve(), fork of 20", steps: 20, isFork: true, underWay: 8, isServed: true },
];
const waits = [
  { name: "sleep until one moment", run: measureSleeping },
  { name: "wait for one event", run: measureWaiters },
];

const LISTS = [10, 100, 1_000, 10_000];

const parent = mkdtempSync(join(tmpdir(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
const program = values.program ?? publishedProgram(parent);

const isAsked = ({ name }: { readonly name: string }): boolean => name.includes(values.only);
const rawShapes = shapes.filter((shape) => isAsked(shape) && !shape.isServed);
const servedShapes = shapes.filter((shape) => isAsked(shape) && shape.isServed);
const askedWaits = waits.filter(isAsked);

const steps = [...(await measureShapes(rawShapes, "second core")), ...(await measureShapes(servedShapes, "same core"))];
const waiting: WaitingResult[] = [];
for (const wait of askedWaits) {
  waiting.push(await withServer("second core", (larder, application) => wait.run(larder, application, WAITING)));
}
const lists = isAsked({ name: "lists" }) ? LISTS.map(measureList) : [];
const page = [
  "## Workflows",
  "",
  ...machineFacts(new Date()).map((fact) => `- ${fact}`),
  `- runs of ${times.runMs / 1_000} s`,
  "",
  table(
    ["application", "steps/s", "runs/s", "core 0", "ms a step, alone", "larder's part p50", "p99", "fdatasync"],
    steps.map(stepsRow),
  ),
  "",
  table(
    [
      "runs that",
      "count",
      "began in",
      "KB a run",
      "p50 ms",
      "p99 ms",
      "max ms",
      "deliveries/s",
      "all ended",
      "MB then",
    ],
    waiting.map(waitingRow),
  ),
  "",
  table(["entries in the list", "MB", "us a delivery", "us where the text was not kept"], lists.map(listRow)),
].join("\n");
console.log(page);
if (!isQuick && values.only === "") writePart(page);

/** All on one server. */
function measureShapes(asked: readonly NamedShape[], history: HistoryPlace): Promise<readonly ShapeResult[]> {
  if (asked.length === 0) return Promise.resolve([]);
  return withServer(history, async (larder, application) => {
    const results: ShapeResult[] = [];
    for (const shape of asked) results.push(await measureShape(larder, application, { shape, times }));
    return results;
  });
}

async function withServer<Result>(
  history: HistoryPlace,
  measure: (larder: LarderServer, application: Application) => Promise<Result>,
): Promise<Result> {
  const larder = await startMessaging(program, mkdtempSync(join(parent, "data-")), { history });
  const application = new Application(larder.port);
  await application.listen();
  const result = await measure(larder, application);
  await application.close();
  await larder.process.stop();
  return result;
}

function stepsRow({ shape, runsPerSecond, core, aloneMs, overhead, syncMs }: ShapeResult): string[] {
  return [
    shape.name,
    String(Math.round(runsPerSecond * shape.steps)),
    String(Math.round(runsPerSecond)),
    `${Math.round(core * 100)} %`,
    aloneMs.toFixed(2),
    overhead === undefined ? "" : overhead.p50Ms.toFixed(2),
    overhead === undefined ? "" : overhead.p99Ms.toFixed(2),
    syncMs.toFixed(2),
  ];
}

function waitingRow(result: WaitingResult): string[] {
  const { name, count, beganMs, emptyBytes, waitingBytes, wokenBytes, wake, endedMs } = result;
  return [
    name,
    String(count),
    `${(beganMs / 1_000).toFixed(1)} s`,
    ((waitingBytes - emptyBytes) / count / 1_024).toFixed(1),
    wake.p50Ms.toFixed(0),
    wake.p99Ms.toFixed(0),
    wake.maxMs.toFixed(0),
    String(Math.round((count / wake.maxMs) * 1_000)),
    `${(endedMs / 1_000).toFixed(1)} s`,
    String(Math.round(wokenBytes / 2 ** 20)),
  ];
}

function listRow({ entries, bytes, grownUs, rebuiltUs }: ListResult): string[] {
  return [String(entries), (bytes / 1e6).toFixed(2), grownUs.toFixed(1), rebuiltUs.toFixed(0)];
}
