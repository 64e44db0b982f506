/**
 * Runs test processes, prints their tests as they come, and judges the run: a
 * failed test, a process that ends with a failure, or a file of a shard that
 * did not come to its end fails it.
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { nameOf, type TestProcess } from "./processes.ts";

const SHARD = new URL("./shard.ts", import.meta.url).href;

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

/** Runs `processes` in their order. Their files are read from the working directory, the root of the repository. */
export async function runTests(processes: readonly TestProcess[], options: RunOptions): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), "larder-tests-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

  const { concurrency, testMsMax, closingMsMax } = options;
  const byEntry = new Map(processes.map((one) => [entryOf(one, { folder, closingMsMax }), one]));
  const events = run({ files: [...byEntry.keys()], concurrency, timeout: testMsMax });
  const report = new spec();
  report.pipe(process.stdout);
  const fileMs = new Map<string, number>();
  const shardMs = new Map<string, number>();
  let isPassed = true;
  for await (const event of events) {
    if (!report.write(event)) await once(report, "drain");
    const { type, data } = event;
    if (type === "test:fail" && data.todo === undefined) isPassed = false;
    // An outermost suite is a file.
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.details.type === "suite")
      fileMs.set(data.name, data.details.duration_ms);
    const one = type === "test:summary" && data.file !== undefined ? byEntry.get(data.file) : undefined;
    if (one !== undefined && one.files.length > 1) shardMs.set(one.name, data.duration_ms);
  }
  report.end();
  await once(report, "end");
  const missing = processes.filter((one) => one.files.some((file) => !fileMs.has(nameOf(file, one))));
  for (const one of missing) console.error(describeMissing(one, fileMs, folder));
  return { isPassed: isPassed && missing.length === 0, fileMs, shardMs };
}

/** The path of the module that a process runs, which names its files. */
function entryOf(
  { name, files, setting }: TestProcess,
  { folder, closingMsMax }: { readonly folder: string; readonly closingMsMax: number | undefined },
): string {
  const entry = join(folder, `${fileNameOf(name)}.mjs`);
  const options = { runningPath: runningPath(name, folder), closingMsMax, setting };
  const words = [files, options].map((value) => JSON.stringify(value));
  writeFileSync(entry, `import { runShard } from ${JSON.stringify(SHARD)};\nawait runShard(${words.join(", ")});\n`);
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
