/**
 * Runs the real program as a child process for tests from outside. It starts
 * `programFile` on free ports; tests talk to its sockets and end it by its
 * process handle. Nothing here waits for a fixed time: it waits for output of
 * the program or for its end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/kernel/clock.ts";
import { PROGRAM_UNDER_TEST } from "../../tools/tests/program-under-test.ts";
import { assertNoSecret } from "../harness/canaries.ts";

export interface ProgramOptions {
  /** Flags and their values. */
  readonly args?: readonly string[];
  /** Additional variables. The program inherits those of this process, except its own settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** The file that Node runs. The default is `programFile`. */
  readonly entry?: string;
  /** The working directory of the program. */
  readonly cwd?: string;
  /** Runs the program in its own process group, so `killGroup` also reaches the processes that it starts. */
  readonly hasOwnGroup?: boolean;
  /** The limit of file descriptors. The default is the limit of this process. */
  readonly descriptorsMax?: number;
}

/** How the process ended: exactly one field is not null. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that may still be starting, or whose start may fail. */
export interface ProgramProcess {
  readonly pid: number;
  /** Everything printed on stdout so far. */
  readonly output: string;
  /** Everything printed on stderr so far. */
  readonly log: string;
  /** Resolves when the process has ended and its output has been read. */
  readonly ended: Promise<ProgramEnd>;
  /** Resolves when stdout or stderr contains the pattern; rejects if the program ends first. */
  untilPrinted(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves when the addresses are printed; rejects if the program ends first. */
  untilRunning(): Promise<RunningProgram>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<ProgramEnd>;
  /** Sends SIGKILL to this process only and waits for the end. */
  kill(): Promise<ProgramEnd>;
  /** Sends SIGKILL to the whole group (`hasOwnGroup`) and waits for the end. */
  killGroup(): Promise<ProgramEnd>;
  /** Kills the program, for `await using`, which also ends it when a test fails. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RunningProgram extends ProgramProcess {
  /** The variables of the printed block. */
  readonly environment: Readonly<Record<string, string>>;
  readonly storeUrl: string;
  /** Printed by the first start. Later starts print the path of the file that has it. */
  readonly storeToken: string;
  readonly storeReadOnlyToken: string;
  readonly adminUrl: string;
  /** Stops the program, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

export const repositoryRoot: string = fileURLToPath(new URL("../..", import.meta.url));

/** The program of this checkout, which runs its sources. */
export const checkoutProgram: string = fileURLToPath(new URL("../../bin/larder.cjs", import.meta.url));

/** The program under test: the built package that the test run made, which starts faster, or else the checkout's. */
export const programFile: string = process.env[PROGRAM_UNDER_TEST] ?? checkoutProgram;

/** Any free port for every listener. They are variables so that a flag such as `--port` overrides them. */
export const anyPorts: Readonly<Record<string, string>> = {
  LARDER_STORE_PORT: "0",
  LARDER_VECTOR_PORT: "0",
  LARDER_MESSAGING_PORT: "0",
  LARDER_ADMIN_PORT: "0",
};

/**
 * For `serve` in tests that are not about threads: it starts in half the time. A test with several starts keeps the
 * default, a thread for each area, for the first of them.
 */
export const oneThread = ["--threads", "one"] as const;

/** A start that takes longer counts as failed. */
const START_MS_MAX = 60_000;

/** Starts `larder <command>` on free ports and resolves when it prints its addresses. Kills a program that does not. */
export async function startProgram(command: "serve" | "dev", options: ProgramOptions = {}): Promise<RunningProgram> {
  const program = spawnProgram([command, ...(options.args ?? [])], {
    ...options,
    env: { ...anyPorts, ...options.env },
  });
  try {
    return await program.untilRunning();
  } catch (fault) {
    await program.kill();
    throw fault;
  }
}

/** Starts the program with exactly these arguments and returns at once. */
export function spawnProgram(args: readonly string[], options: Omit<ProgramOptions, "args"> = {}): ProgramProcess {
  const { descriptorsMax } = options;
  const words = [process.execPath, options.entry ?? programFile, ...args];
  // Node cannot set limits; a shell sets the limit and then replaces itself with the program.
  if (descriptorsMax !== undefined) words.unshift("/bin/sh", "-c", `ulimit -n ${descriptorsMax} && exec "$0" "$@"`);
  const [file = "", ...others] = words;
  const child = spawn(file, others, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...cleanEnvironment(), ...options.env },
    cwd: options.cwd ?? process.cwd(),
    detached: options.hasOwnGroup ?? false,
  });
  return new Child(child, secretsIn(options.env ?? {}));
}

/** The secrets in the variables of the program, which it must never print. */
function secretsIn(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (/^LARDER_.*(?:TOKEN|KEY)$/.test(name) ? [value] : []));
}

/**
 * The variables of this process without those that the program or its clients read. The program shares the compile
 * cache of the test run.
 */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => name === "NODE_COMPILE_CACHE" || !/^(?:LARDER_|UPSTASH_|KV_REST_|QSTASH_|PORT$|NODE_|UV_)/.test(name),
    ),
  );
}

class Child implements ProgramProcess {
  readonly pid: number;
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #printed = { stdout: "", stderr: "" };
  readonly #waiting = new Set<() => void>();
  #end: ProgramEnd | undefined;

  constructor(child: ChildProcess, secrets: readonly string[]) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#printed[name] += text;
        this.#wake();
      });
    }
    // A test that crashes must not leave a server running.
    const killAtExit = (): void => void child.kill("SIGKILL");
    process.once("exit", killAtExit);
    this.ended = once(child, "close").then(([code, signal]) => {
      process.removeListener("exit", killAtExit);
      this.#end = { code, signal } as ProgramEnd;
      this.#wake();
      const printed = this.output.matchAll(/_(?:TOKEN|KEY)="(.*)"$/gm);
      assertNoSecret(
        this.log,
        [...secrets, ...Array.from(printed, ([, value = ""]) => value)],
        "the log of the program",
      );
      assertNoSecret(this.output, secrets, "the output of the program");
      return this.#end;
    });
  }

  get output(): string {
    return this.#printed.stdout;
  }

  get log(): string {
    return this.#printed.stderr;
  }

  untilPrinted(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const cancel = systemClock.after(START_MS_MAX, () => finish(() => reject(this.#error("prints nothing more"))));
      const finish = (settle: () => void): void => {
        this.#waiting.delete(look);
        cancel();
        settle();
      };
      const look = (): void => {
        const found = pattern.exec(this.output) ?? pattern.exec(this.log);
        if (found !== null) finish(() => resolve(found));
        else if (this.#end !== undefined) finish(() => reject(this.#error("ended")));
      };
      this.#waiting.add(look);
      look();
    });
  }

  async untilRunning(): Promise<RunningProgram> {
    // The block is one write of less than PIPE_BUF bytes, so it arrives whole.
    await this.untilPrinted(/running at .*\n[\s\S]*^# admin: .*\n/m);
    return runningProgram(this);
  }

  stop(): Promise<ProgramEnd> {
    this.#child.kill("SIGTERM");
    return this.ended;
  }

  kill(): Promise<ProgramEnd> {
    this.#child.kill("SIGKILL");
    return this.ended;
  }

  killGroup(): Promise<ProgramEnd> {
    if (this.#end === undefined) {
      try {
        process.kill(-this.pid, "SIGKILL");
      } catch {
        // The group has already ended.
      }
    }
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  #error(problem: string): Error {
    const { code, signal } = this.#end ?? { code: null, signal: null };
    return new Error(`the program ${problem} (code ${code}, signal ${signal})\n${this.output}\n${this.log}`);
  }
}

function runningProgram(child: Child): RunningProgram {
  const environment = Object.fromEntries(
    [...child.output.matchAll(/^([A-Z_]+)="(.*)"$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const stored = storedTokens(child.output);
  const adminUrl = /^# admin: (\S+)/m.exec(child.output)?.[1] ?? "";
  return Object.assign(child, {
    environment,
    adminUrl,
    storeUrl: environment["UPSTASH_REDIS_REST_URL"] ?? "",
    storeToken: environment["UPSTASH_REDIS_REST_TOKEN"] ?? stored?.token ?? "",
    storeReadOnlyToken: environment["KV_REST_API_READ_ONLY_TOKEN"] ?? stored?.readOnlyToken ?? "",
    [Symbol.asyncDispose]: async () => void (await child.stop()),
  });
}

/** The tokens of the first database in the file that later starts name. */
function storedTokens(output: string): { token: string; readOnlyToken: string } | undefined {
  const path = /^# UPSTASH_REDIS_REST_TOKEN: in (.+)$/m.exec(output)?.[1];
  if (path === undefined) return undefined;
  const file = JSON.parse(readFileSync(path, "utf8")) as {
    databases?: readonly { token: string; readOnlyToken: string }[];
  };
  return file.databases?.[0];
}
