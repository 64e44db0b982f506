/** The context of a result: machine, versions, commit. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { delimiter, join } from "node:path";

/** One line for each fact, ready for a report. */
export function machineFacts(now: Date): readonly string[] {
  const [cpu] = cpus();
  return [
    `date: ${now.toISOString().slice(0, 16).replace("T", " ")} UTC`,
    `commit: ${commit()}`,
    `processor: ${cpu?.model.trim() ?? "unknown"}, ${availableParallelism()} cores`,
    `memory: ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `kernel: ${type()} ${release()}`,
    `load: ${(loadavg()[0] ?? 0).toFixed(1)} processes, this one among them`,
    `node: ${process.versions.node}`,
    ...["redis-server", "webdis", "wrk"].map((program) => `${program}: ${versionOf(program)}`),
  ];
}

export function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function commit(): string {
  try {
    const hash = git("rev-parse", "--short", "HEAD");
    return git("status", "--porcelain", "--", "src", "bin") === "" ? hash : `${hash} with changes`;
  } catch {
    return "unknown";
  }
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** Programs that report their version; webdis does not. */
const VERSION_ARGUMENT: Readonly<Record<string, string>> = { "redis-server": "--version", wrk: "-v" };

function versionOf(program: string): string {
  if (!isInstalled(program)) return "not installed";
  const argument = VERSION_ARGUMENT[program];
  if (argument === undefined) return "installed";
  // wrk prints its version and ends with code 1.
  const { stdout, stderr } = spawnSync(program, [argument], { encoding: "utf8", timeout: 5_000 });
  return /\d+\.\d+(?:\.\d+)?/.exec(stdout + stderr)?.[0] ?? "installed";
}
