/**
 * Processes pinned to a core. All servers of a subject share core 0 and
 * the load generator has core 1, so a figure is "per core, everything
 * included", and a gateway pays for the server behind it.
 *
 * Without `taskset`, or with one core, nothing is pinned; the report says so.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isInstalled } from "./machine.ts";

export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

export const isPinning: boolean = isInstalled("taskset") && availableParallelism() > 1;

export interface PinnedProcess {
  readonly pid: number;
  /** stdout and stderr so far. */
  readonly output: () => string;
  /** Processor time of the process and its threads so far, in ms; undefined if the system does not report it. */
  cpuMs(): number | undefined;
  residentBytes(): number | undefined;
  /** Stops it with SIGTERM and resolves with its exit code. */
  stop(): Promise<number | null>;
}

export interface PinnedOptions {
  readonly command: readonly string[];
  /** The servers' core unless another is named. */
  readonly core?: number | "any";
  readonly cwd?: string;
  /** Runs as this user instead of ours. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly env?: Readonly<Record<string, string>>;
  /** The process is ready when its output contains this. */
  readonly until: RegExp;
  /** How long that may take, in ms; two minutes unless it is said. */
  readonly startMsMax?: number;
}

const START_MS_MAX = 120_000;

/** The command with the prefix that pins it to a core. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return isPinning ? ["taskset", "-c", `${core}`, ...command] : command;
}

/** Pins a process that runs, with all threads that it has, to a core. */
export function pinRunning(pid: number, core: number): void {
  if (isPinning) execFileSync("taskset", ["-a", "-c", "-p", `${core}`, `${pid}`], { stdio: "ignore" });
}

/** Starts a process and resolves when it has printed `until`. */
export async function startPinned(options: PinnedOptions): Promise<PinnedProcess> {
  const { core = SERVER_CORE } = options;
  const [program = "", ...args] = core === "any" ? options.command : pinned(core, options.command);
  // Node settings of this process do not apply to its subjects.
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...inherited, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...options.user,
  });
  const killWithUs = (): void => void child.kill("SIGKILL");
  // Before others remove its files.
  process.prependOnceListener("exit", killWithUs);
  const gone = once(child, "close").finally(() => process.removeListener("exit", killWithUs));
  const output = collect(child);
  await untilPrinted(child, { output, pattern: options.until, msMax: options.startMsMax ?? START_MS_MAX });
  const pid = child.pid ?? 0;
  return {
    pid,
    output,
    cpuMs: () => cpuMsOf(pid),
    residentBytes: () => residentBytesOf(pid),
    stop: async () => {
      child.kill("SIGTERM");
      const [code] = await gone;
      return code as number | null;
    },
  };
}

function collect(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  return () => text;
}

function untilPrinted(
  child: ChildProcess,
  what: { output: () => string; pattern: RegExp; msMax: number },
): Promise<void> {
  const { output, pattern, msMax } = what;
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => reject(new Error(`${child.spawnargs.join(" ")} ${reason}\n${output()}`));
    const limit = setTimeout(() => fail("does not start"), msMax);
    const look = (): void => {
      if (pattern.test(output())) resolve();
    };
    child.once("error", (error) => fail(error.message));
    child.once("close", () => {
      clearTimeout(limit);
      fail("ended");
    });
    // `collect` registered first, so the text is already there.
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
  });
}

/** The kernel counts in ticks of 10 ms on every Linux that runs Node. */
const TICK_MS = 10;

function cpuMsOf(pid: number): number | undefined {
  return cpuMsIn(`/proc/${pid}/stat`);
}

function cpuMsIn(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15.
  const fields = readFileSync(path, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Processor time of the processes that this one started and that are still running: a snapshot, for example. */
export function childCpuMsOf(pid: number): number {
  const path = `/proc/${pid}/task`;
  if (!existsSync(path)) return 0;
  let sumMs = 0;
  for (const thread of readdirSync(path)) {
    const children = readFileSync(`${path}/${thread}/children`, "latin1").trim();
    for (const child of children === "" ? [] : children.split(" ")) sumMs += cpuMsOf(Number(child)) ?? 0;
  }
  return sumMs;
}

/** Threads of a process whose names match; the system truncates names to 15 characters. */
export function threadsOf(pid: number, name: RegExp): readonly string[] {
  return readdirSync(`/proc/${pid}/task`).filter((thread) =>
    name.test(readFileSync(`/proc/${pid}/task/${thread}/comm`, "latin1")),
  );
}

export function cpuMsOfThreads(pid: number, name: RegExp): number {
  return [...cpuMsByThread(pid, name).values()].reduce((sum, cpuMs) => sum + cpuMs, 0);
}

/** Processor time of each thread whose name matches so far, in ms, by the id of the thread. */
export function cpuMsByThread(pid: number, name: RegExp): ReadonlyMap<string, number> {
  return new Map(threadsOf(pid, name).map((thread) => [thread, cpuMsIn(`/proc/${pid}/task/${thread}/stat`) ?? 0]));
}

function residentBytesOf(pid: number): number | undefined {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(path, "latin1"))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
