/**
 * Runs test processes, prints their tests as they come, and judges the run: a
 * failed test, a process that ends with a failure, or a file of a shard that
 * did not come to its end fails it.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import type { TestProcess } from "./processes.ts";

const SHARD = new URL("./shard.ts", import.meta.url).href;

export interface RunOptions {
  /** Processes at a time. */
  readonly concurrency: number;
  /** A single test that takes longer fails. */
  readonly testMsMax: number;
}

export interface RunResult {
  readonly isPassed: boolean;
  /** Milliseconds by test file. */
  readonly fileMs: ReadonlyMap<string, number>;
}

/** Runs `processes` in their order. Their files are read from the working directory, the root of the repository. */
export async function runTests(processes: readonly TestProcess[], options: RunOptions): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), "larder-tests-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

  const files = processes.map((one) => entryOf(one, folder));
  const events = run({ files, concurrency: options.concurrency, timeout: options.testMsMax });
  const report = new spec();
  report.pipe(process.stdout);
  const fileMs = new Map<string, number>();
  let isPassed = true;
  for await (const event of events) {
    if (!report.write(event)) await once(report, "drain");
    const { type, data } = event;
    if (type === "test:fail" && data.todo === undefined) isPassed = false;
    // A suite of a shard is a file.
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.details.type === "suite")
      fileMs.set(data.name, data.details.duration_ms);
    if (type === "test:summary" && data.file !== undefined)
      fileMs.set(relative(process.cwd(), data.file), data.duration_ms);
  }
  report.end();
  await once(report, "end");
  const missing = processes.flatMap((one) => one.files).filter((file) => !fileMs.has(file));
  // After a crash the first of them is the file that ran.
  if (missing.length > 0) console.error(`files that did not come to their end:\n  ${missing.join("\n  ")}`);
  return { isPassed: isPassed && missing.length === 0, fileMs };
}

/** The path of the module that a process runs: its file, or one that names the files of the shard. */
function entryOf({ name, files }: TestProcess, folder: string): string {
  const [file] = files;
  if (files.length === 1 && file !== undefined) return file;
  const entry = join(folder, `${name}.mjs`);
  writeFileSync(
    entry,
    `import { runShard } from ${JSON.stringify(SHARD)};\nawait runShard(${JSON.stringify(files)});\n`,
  );
  return entry;
}
