/**
 * The real program as a child process, for tests from outside: started through
 * `bin/larder.cjs` on free ports, spoken to over its sockets, ended by its own
 * process handle. Nothing here waits for a time: it waits for what the program
 * prints and for its end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/kernel/clock.ts";
import { assertNoSecret } from "../harness/canaries.ts";

export interface ProgramOptions {
  /** Flags and their values. */
  readonly args?: readonly string[];
  /** Variables beside those of this process; the program's own never come from this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The file that Node runs; without it this checkout's `bin/larder.cjs`. */
  readonly entry?: string;
  /** The working directory of the program. */
  readonly cwd?: string;
  /** A process group of its own, so that `killGroup` also reaches the processes that it starts. */
  readonly hasOwnGroup?: boolean;
  /** The most file descriptors that the program may have; without it as many as this process. */
  readonly descriptorsMax?: number;
}

/** How the process ended: one of the two is a value. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that may still be starting, or may never come up. */
export interface ProgramProcess {
  readonly pid: number;
  /** Everything printed on stdout so far. */
  readonly output: string;
  /** Everything printed on stderr so far. */
  readonly log: string;
  /** Resolves when the process is gone and its output is read. */
  readonly ended: Promise<ProgramEnd>;
  /** Resolves when stdout or stderr contains the pattern; rejects when the program ends without it. */
  untilPrinted(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves when the addresses are printed; rejects when the program ends before. */
  untilRunning(): Promise<RunningProgram>;
  /** SIGTERM, then its end. */
  stop(): Promise<ProgramEnd>;
  /** SIGKILL for this process alone, then its end. */
  kill(): Promise<ProgramEnd>;
  /** SIGKILL for the whole group (`hasOwnGroup`), then its end. */
  killGroup(): Promise<ProgramEnd>;
}

export interface RunningProgram extends ProgramProcess {
  /** The variables of the printed block. */
  readonly environment: Readonly<Record<string, string>>;
  readonly storeUrl: string;
  /** Printed at the first start, read from the file that the block names at later ones. */
  readonly storeToken: string;
  readonly storeReadOnlyToken: string;
  readonly adminUrl: string;
  /** Stops the program: for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

export const repositoryRoot: string = fileURLToPath(new URL("../..", import.meta.url));

const PROGRAM = fileURLToPath(new URL("../../bin/larder.cjs", import.meta.url));

/** Every port any free one. Variables, so that a flag such as `--port` wins over them. */
export const anyPorts: Readonly<Record<string, string>> = {
  LARDER_STORE_PORT: "0",
  LARDER_VECTOR_PORT: "0",
  LARDER_MESSAGING_PORT: "0",
  LARDER_ADMIN_PORT: "0",
};

/** A start that takes longer has failed. */
const START_MS_MAX = 60_000;

/** Starts `larder <command>` on free ports and resolves when it says where it listens. */
export async function startProgram(command: "serve" | "dev", options: ProgramOptions = {}): Promise<RunningProgram> {
  return spawnProgram([command, ...(options.args ?? [])], {
    ...options,
    env: { ...anyPorts, ...options.env },
  }).untilRunning();
}

/** Starts the program with exactly these arguments and waits for nothing. */
export function spawnProgram(args: readonly string[], options: Omit<ProgramOptions, "args"> = {}): ProgramProcess {
  const { descriptorsMax } = options;
  const words = [process.execPath, options.entry ?? PROGRAM, ...args];
  // Only a shell can lower the limit of what it becomes.
  if (descriptorsMax !== undefined) words.unshift("/bin/sh", "-c", `ulimit -n ${descriptorsMax} && exec "$0" "$@"`);
  const [file = "", ...others] = words;
  const child = spawn(file, others, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...foreignEnvironment(), ...options.env },
    cwd: options.cwd ?? process.cwd(),
    detached: options.hasOwnGroup ?? false,
  });
  return new Child(child, givenSecrets(options.env ?? {}));
}

/** What the program was given and must never print. */
function givenSecrets(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (/^LARDER_.*(?:TOKEN|KEY)$/.test(name) ? [value] : []));
}

/** This process's variables without those that the program or its clients would read. */
function foreignEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:LARDER_|UPSTASH_|KV_REST_|QSTASH_|PORT$|NODE_)/.test(name)),
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
    // A test that dies must not leave a server behind.
    const killWithUs = (): void => void child.kill("SIGKILL");
    process.once("exit", killWithUs);
    this.ended = once(child, "close").then(([code, signal]) => {
      process.removeListener("exit", killWithUs);
      this.#end = { code, signal } as ProgramEnd;
      this.#wake();
      const printed = this.output.matchAll(/_(?:TOKEN|KEY)="(.*)"$/gm);
      assertNoSecret(
        this.log,
        [...secrets, ...Array.from(printed, ([, value = ""]) => value)],
        "the log of the program",
      );
      assertNoSecret(this.output, secrets, "what the program printed");
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
      const cancel = systemClock.after(START_MS_MAX, () => finish(() => reject(this.#fault("prints nothing more"))));
      const finish = (settle: () => void): void => {
        this.#waiting.delete(look);
        cancel();
        settle();
      };
      const look = (): void => {
        const found = pattern.exec(this.output) ?? pattern.exec(this.log);
        if (found !== null) finish(() => resolve(found));
        else if (this.#end !== undefined) finish(() => reject(this.#fault("ended")));
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
        // The group is gone already, which is what was asked for.
      }
    }
    return this.ended;
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  #fault(what: string): Error {
    const { code, signal } = this.#end ?? { code: null, signal: null };
    return new Error(`the program ${what} (code ${code}, signal ${signal})\n${this.output}\n${this.log}`);
  }
}

function runningProgram(child: Child): RunningProgram {
  const environment = Object.fromEntries(
    [...child.output.matchAll(/^([A-Z_]+)="(.*)"$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const kept = keptTokens(child.output);
  const adminUrl = /^# admin: (\S+)/m.exec(child.output)?.[1] ?? "";
  return Object.assign(child, {
    environment,
    adminUrl,
    storeUrl: environment["UPSTASH_REDIS_REST_URL"] ?? "",
    storeToken: environment["UPSTASH_REDIS_REST_TOKEN"] ?? kept?.token ?? "",
    storeReadOnlyToken: environment["KV_REST_API_READ_ONLY_TOKEN"] ?? kept?.readOnlyToken ?? "",
    [Symbol.asyncDispose]: async () => void (await child.stop()),
  });
}

/** The tokens of the first database in the file that the block names at later starts. */
function keptTokens(output: string): { token: string; readOnlyToken: string } | undefined {
  const path = /^# UPSTASH_REDIS_REST_TOKEN: in (.+)$/m.exec(output)?.[1];
  if (path === undefined) return undefined;
  const kept = JSON.parse(readFileSync(path, "utf8")) as {
    databases?: readonly { token: string; readOnlyToken: string }[];
  };
  return kept.databases?.[0];
}
