/**
 * Runs the examples as a stranger does: packs larder once, copies each example to an empty folder, installs it there
 * with the tarball as `larderd`, builds it and runs its test. Needs the npm registry.
 *
 *     npm run examples                       all
 *     npm run examples -- hono express       some
 *     npm run examples -- --of-the-day       Next.js and two others, by the date
 *     npm run examples -- --tarball <path>   does not pack larder, but installs this tarball
 *
 * An example is a folder of `examples/` whose package.json has a script `test`. A script `build` runs before it. The
 * programs that npm does not install are in its `engines`: without one of them, the example is skipped.
 */
import { execFileSync, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const DAY_MS = 86_400_000;
/** Each day's first. */
const FIRST_OF_THE_DAY = "nextjs";
const OTHERS_OF_THE_DAY = 2;
/** The packages of one take minutes to install; `npm run package` runs the other each time. */
const NEVER_OF_THE_DAY = ["nuxt", "testing"];
/** For each of install, build and test, on a slow machine. */
const STEP_MS_MAX = 300_000;
/** How long npm has to end after a signal. */
const END_MS_MAX = 5_000;
/** The program of the tests is Node, and npm comes with it. */
const INSTALLED = ["node", "npm"];
/** The process groups that run. */
const groups = new Set<number>();
/** By a signal: nothing more is started. */
let isStopped = false;

const root = fileURLToPath(new URL("..", import.meta.url));

interface PackageFile {
  readonly version?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
}

interface Example {
  readonly name: string;
  readonly hasBuild: boolean;
  /** Programs that it needs and that are not on this machine. */
  readonly missing: readonly string[];
}

/** The names of the first one and of two others, which change each day until all had their turn. */
export function namesOfTheDay(names: readonly string[], nowMs: number): readonly string[] {
  const others = names.filter((name) => name !== FIRST_OF_THE_DAY && !NEVER_OF_THE_DAY.includes(name));
  const count = Math.min(OTHERS_OF_THE_DAY, others.length);
  const start = Math.floor(nowMs / DAY_MS) * count;
  const drawn = Array.from({ length: count }, (_, index) => others[(start + index) % others.length] ?? "");
  return [FIRST_OF_THE_DAY, ...drawn];
}

/** The examples in a folder, by name. */
export function examplesIn(folder: string): readonly Example[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name, "package.json");
      if (!existsSync(path)) return [];
      const { scripts = {}, engines = {} } = readPackage(path);
      if (scripts["test"] === undefined) return [];
      const programs = Object.keys(engines).filter((program) => !INSTALLED.includes(program));
      return [
        { name, hasBuild: scripts["build"] !== undefined, missing: programs.filter((program) => !isOnPath(program)) },
      ];
    });
}

function readPackage(path: string): PackageFile {
  return JSON.parse(readFileSync(path, "utf8")) as PackageFile;
}

function isOnPath(program: string): boolean {
  return spawnSync("sh", ["-c", 'command -v "$0"', program], { stdio: "ignore" }).status === 0;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { "of-the-day": { type: "boolean", default: false }, tarball: { type: "string" } },
  });
  const examples = examplesIn(join(root, "examples"));
  const chosen = choose(examples, positionals, values["of-the-day"]);
  const folder = mkdtempSync(join(tmpdir(), "larder-examples-"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isStopped = true;
      for (const pid of groups) signalGroup(pid, "SIGKILL");
    });
  }
  try {
    const tarball = values.tarball === undefined ? await pack(folder) : resolve(values.tarball);
    if ((await runAll(chosen, tarball, folder)) > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function choose(examples: readonly Example[], words: readonly string[], isOfTheDay: boolean): readonly Example[] {
  const unknown = words.filter((word) => !examples.some(({ name }) => name === word));
  if (unknown.length > 0) {
    console.error(`No example ${unknown.join(", ")}; the examples are ${examples.map(({ name }) => name).join(", ")}`);
    process.exit(2);
  }
  if (words.length > 0) return examples.filter(({ name }) => words.includes(name));
  if (!isOfTheDay) return examples;
  const runnable = examples.filter(({ missing }) => missing.length === 0).map(({ name }) => name);
  const names = namesOfTheDay(runnable, Date.now());
  console.log(`of the day: ${names.join(", ")}`);
  return examples.filter(({ name }) => names.includes(name));
}

/** The path of a tarball as it would be published. */
async function pack(folder: string): Promise<string> {
  const { failure, seconds } = await step("npm", ["pack", "--pack-destination", folder], root);
  if (failure !== undefined) throw new Error(`npm pack: ${failure}`);
  console.log(`larderd packed in ${seconds} s`);
  return join(folder, `larderd-${readPackage(join(root, "package.json")).version}.tgz`);
}

/** Returns how many failed. While one is built and tested, the next one is installed, which mostly waits for the registry. */
async function runAll(examples: readonly Example[], tarball: string, folder: string): Promise<number> {
  const skipped = examples.filter(({ missing }) => missing.length > 0);
  for (const { name, missing } of skipped) console.log(`${name}: skipped, needs ${missing.join(", ")}`);
  const runnable = examples.filter((example) => !skipped.includes(example));
  const start = (example: Example | undefined): Promise<Step | undefined> =>
    example === undefined ? Promise.resolve(undefined) : install(example.name, tarball, folder);
  let failures = 0;
  let installation = start(runnable[0]);
  for (const [index, example] of runnable.entries()) {
    const installed = await installation;
    installation = start(runnable[index + 1]);
    if (installed === undefined || !(await buildAndTest(example, installed, folder))) failures += 1;
  }
  return failures;
}

/** In a copy, without what was installed or built before. */
function install(name: string, tarball: string, folder: string): Promise<Step> {
  const target = join(folder, name);
  copy(name, target);
  return step("npm", ["install", "--no-audit", "--no-fund", "--save-dev", tarball], target);
}

/** Prints a line with the times, and returns whether all steps succeeded. */
async function buildAndTest({ name, hasBuild }: Example, installed: Step, folder: string): Promise<boolean> {
  const target = join(folder, name);
  const times = [`install ${installed.seconds} s`];
  const words: Readonly<Record<string, readonly string[]>> = {
    ...(hasBuild ? { build: ["run", "build"] } : {}),
    // Without `pretest`, which builds for those who only run `npm test`.
    test: hasBuild ? ["test", "--ignore-scripts"] : ["test"],
  };
  let { failure } = installed;
  for (const [title, args] of Object.entries(words)) {
    if (failure !== undefined) break;
    const { seconds, failure: reason } = await step("npm", args, target);
    times.push(`${title} ${seconds} s`);
    failure = reason;
  }
  console.log(`${name}: ${failure === undefined ? "passed" : "FAILED"} (${times.join(", ")})`);
  if (failure !== undefined) console.log(failure);
  rmSync(target, { recursive: true, force: true });
  return failure === undefined;
}

/** Copies the files of an example that belong to the repository. */
function copy(name: string, target: string): void {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const cwd = join(root, "examples", name);
  const paths = execFileSync("git", list, { cwd, encoding: "utf8" }).split("\0");
  for (const path of paths.filter((each) => each !== "" && existsSync(join(cwd, each)))) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(cwd, path), join(target, path));
  }
}

interface Step {
  readonly seconds: string;
  /** Why it failed, with its output. */
  readonly failure?: string;
}

/** Runs a command in a process group of its own, of which nothing may be left when it has ended. */
async function step(program: string, words: readonly string[], cwd: string): Promise<Step> {
  if (isStopped) return { seconds: "0", failure: "stopped" };
  const startMs = performance.now();
  const options: SpawnOptions = { cwd, env: strangerEnvironment(), stdio: ["ignore", "pipe", "pipe"], detached: true };
  const child = spawn(program, words, options);
  if (child.pid !== undefined) groups.add(child.pid);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      output += chunk;
    });
  }
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    signalGroup(child.pid, "SIGTERM");
    setTimeout(() => signalGroup(child.pid, "SIGKILL"), END_MS_MAX).unref();
  }, STEP_MS_MAX);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  clearTimeout(limit);
  const hasLeft = !(await hasEnded(child.pid));
  if (hasLeft) signalGroup(child.pid, "SIGKILL");
  if (child.pid !== undefined) groups.delete(child.pid);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const reason = isLate
    ? `took more than ${STEP_MS_MAX / 1000} s`
    : code !== 0
      ? `ended with ${code ?? signal}`
      : hasLeft
        ? "left processes running"
        : undefined;
  if (reason === undefined) return { seconds };
  return { seconds, failure: `${program} ${words.join(" ")} ${reason}:\n${output}` };
}

/** Whether a process group has no process any more, soon after its first one ended. */
async function hasEnded(pid: number | undefined): Promise<boolean> {
  const limitMs = performance.now() + END_MS_MAX;
  while (signalGroup(pid, 0)) {
    if (performance.now() > limitMs) return false;
    await sleep(100);
  }
  return true;
}

/** Returns whether the process group has a process. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  try {
    return pid !== undefined && process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Without the variables of this project's npm, and of a larder and clients; without reports of the frameworks to their makers. */
function strangerEnvironment(): NodeJS.ProcessEnv {
  const own = /^(?:npm_package_|npm_lifecycle_|LARDER_|UPSTASH_|QSTASH_|KV_|NODE_ENV$|PORT$)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name))),
    NEXT_TELEMETRY_DISABLED: "1",
    WRANGLER_SEND_METRICS: "false",
    DO_NOT_TRACK: "1",
  };
}

if (import.meta.main) await main();
