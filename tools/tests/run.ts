/**
 * Runs test processes, prints the tests of each when it has ended, and judges the
 * run: a failed test, a process that ends with a failure, or a file of a shard
 * that did not come to its end fails it.
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";
import { nameOf, type TestProcess } from "./processes.ts";

const SHARD = new URL("./shard.ts", import.meta.url).href;
const HOOK = new URL("./test-hook.ts", import.meta.url).href;

export interface RunOptions {
  /** Processes at a time. */
  readonly concurrency: number;
  /** A single test that takes longer fails. */
  readonly testMsMax: number;
  /** How long a process may take to close what its tests have opened. Absent: the default of `shard.ts`. */
  readonly closingMsMax?: number;
}

export interface RunResult {
  readonly isPassed: boolean;
  /** Milliseconds by test file. */
  readonly fileMs: ReadonlyMap<string, number>;
  /** Milliseconds by the name of a shard. */
  readonly shardMs: ReadonlyMap<string, number>;
}

/** Runs `processes` in their order, and then those that must be alone, one after the other. Their files are read from the working directory, the root of the repository. */
export async function runTests(processes: readonly TestProcess[], options: RunOptions): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), "larder-tests-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

  const { concurrency, testMsMax, closingMsMax } = options;
  const report = new Report();
  const runOne = async (one: TestProcess): Promise<void> => {
    const events: TestEvent[] = [];
    const files = [entryOf(one, { folder, closingMsMax })];
    for await (const event of run({ files, timeout: testMsMax })) events.push(event);
    await report.add(one, events);
  };
  const left = processes.filter(({ isAlone }) => isAlone !== true);
  const lane = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await runOne(one);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  for (const one of processes) if (one.isAlone === true) await runOne(one);
  await report.end();
  const { isPassed, fileMs, shardMs } = report;
  const missing = processes.filter((one) => one.files.some((file) => !fileMs.has(nameOf(file, one))));
  for (const one of missing) console.error(describeMissing(one, fileMs, folder));
  return { isPassed: isPassed && missing.length === 0, fileMs, shardMs };
}

/** The counts of a run of `node:test`, and their names in its report. */
const COUNTED = [
  ["tests", "tests"],
  ["suites", "suites"],
  ["passed", "pass"],
  ["failed", "fail"],
  ["cancelled", "cancelled"],
  ["skipped", "skipped"],
  ["todo", "todo"],
] as const;

/** The printed report, in which the tests of a process are together, and what it says about the run. */
class Report implements RunResult {
  readonly fileMs = new Map<string, number>();
  readonly shardMs = new Map<string, number>();
  isPassed = true;
  readonly #printed = new spec();
  readonly #counts = new Map<string, number>();
  #printing: Promise<void> = Promise.resolve();

  constructor() {
    this.#printed.pipe(process.stdout);
  }

  /** All events of a process that has ended. Resolves when they are printed. */
  add(one: TestProcess, events: readonly TestEvent[]): Promise<void> {
    for (const event of events) this.#note(one, event);
    this.#printing = this.#printing.then(() => this.#print(events.filter((event) => !isOfRun(event))));
    return this.#printing;
  }

  /** Prints the sums of all processes. */
  async end(): Promise<void> {
    const sums = COUNTED.map(([count, name]): TestEvent => {
      const message = `${name} ${this.#counts.get(count) ?? 0}`;
      return { type: "test:diagnostic", data: { nesting: 0, message, level: "info" } };
    });
    await this.#print(sums);
    this.#printed.end();
    await once(this.#printed, "end");
  }

  #note(one: TestProcess, { type, data }: TestEvent): void {
    if (type === "test:fail" && data.todo === undefined) this.isPassed = false;
    // An outermost suite is a file.
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.details.type === "suite")
      this.fileMs.set(data.name, data.details.duration_ms);
    if (type !== "test:summary") return;
    if (data.file !== undefined) {
      if (one.files.length > 1) this.shardMs.set(one.name, data.duration_ms);
      return;
    }
    for (const [count, sum] of Object.entries(data.counts))
      this.#counts.set(count, (this.#counts.get(count) ?? 0) + sum);
  }

  async #print(events: readonly TestEvent[]): Promise<void> {
    for (const event of events) if (!this.#printed.write(event)) await once(this.#printed, "drain");
  }
}

/** Whether an event is about the run of one process as a whole: the report has sums of these. */
function isOfRun({ type, data }: TestEvent): boolean {
  if (type === "test:summary") return data.file === undefined;
  return (type === "test:diagnostic" || type === "test:plan") && data.nesting === 0 && !("entryFile" in data);
}

/** The path of the module that a process runs, which names its files. */
function entryOf(
  { name, files, setting }: TestProcess,
  { folder, closingMsMax }: { readonly folder: string; readonly closingMsMax: number | undefined },
): string {
  const entry = join(folder, `${fileNameOf(name)}.mjs`);
  const options = { runningPath: runningPath(name, folder), closingMsMax, setting };
  const words = [files, options].map((value) => JSON.stringify(value));
  const lines = [
    `import ${JSON.stringify(HOOK)};`,
    `const { runShard } = await import(${JSON.stringify(SHARD)});`,
    `await runShard(${words.join(", ")});`,
  ];
  writeFileSync(entry, lines.join("\n"));
  return entry;
}

/** Where a shard writes the file that it runs. */
function runningPath(name: string, folder: string): string {
  return join(folder, `${fileNameOf(name)}.running`);
}

/** The name of a process may be a path. */
function fileNameOf(name: string): string {
  return name.replaceAll("/", "_");
}

/** Names the file that ended the process. Files before it may be without a result: their last output is lost. */
function describeMissing(one: TestProcess, fileMs: ReadonlyMap<string, number>, folder: string): string {
  const { name, files } = one;
  const path = runningPath(name, folder);
  const running = existsSync(path) ? readFileSync(path, "utf8") : name;
  const missing = files.filter((file) => !fileMs.has(nameOf(file, one)));
  return `the process of ${name} ended while it ran ${running}; no result of:\n  ${missing.join("\n  ")}`;
}
