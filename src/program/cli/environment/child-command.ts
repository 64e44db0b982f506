/**
 * The command of `larder dev -- <command>`: it has the server's environment and
 * its input and output. The server ends when the command ends.
 *
 * (1) A stop signal of larder goes to the command, not to the server. A second
 *     one kills the command.
 * (2) SIGINT of a terminal reaches all processes in its foreground; it is not
 *     sent a second time.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { codeOf } from "../../refusal.ts";
import type { EnvironmentBlock } from "../env-block.ts";

const STDIN = 0;
/** Exit codes of shells for commands that do not run. */
const NOT_EXECUTABLE_CODE = 126;
const NOT_FOUND_CODE = 127;

/** The end of the path of our own cache of compiled code, which our threads find by the environment (bin/compile-cache.cjs). */
const COMPILE_CACHE = "NODE_COMPILE_CACHE";
const OWN_CACHE = /[\\/]larder[\\/]compiled[\\/][^\\/]+$/;

/** The size of our thread pool, and the variable that is set if it is ours and not the user's (bin/larder.cjs). */
const THREAD_POOL_SIZE = "UV_THREADPOOL_SIZE";
const OWN_THREAD_POOL = "NODE_LARDER_OWN_THREAD_POOL";

export interface ChildCommand {
  /** Resolves with its exit code, by the rules of shells: 128 and the signal if one ended it. */
  readonly ended: Promise<number>;
  /** keeps (1) */
  signal(signal: NodeJS.Signals): void;
}

export interface ChildOptions {
  readonly environment: EnvironmentBlock;
  /** Writes a line to stderr. */
  readonly print: (line: string) => void;
  /** Whether the terminal itself sends SIGINT to the command: keeps (2). */
  readonly isInForeground?: boolean;
}

export function startChild(
  [file = "", ...words]: readonly string[],
  { environment, print, isInForeground = hasTerminal() }: ChildOptions,
): ChildCommand {
  const child = spawn(file, words, { stdio: "inherit", env: { ...inherited(), ...environment } });
  let isTold = false;
  return {
    ended: endOf(child, (fault) => {
      print(`larder: ${file} cannot be run: ${fault.message}`);
      return codeOf(fault) === "ENOENT" ? NOT_FOUND_CODE : NOT_EXECUTABLE_CODE;
    }),
    signal(signal) {
      if (isTold) child.kill("SIGKILL");
      else if (signal !== "SIGINT" || !isInForeground) child.kill(signal);
      isTold = true;
    },
  };
}

/**
 * Our environment without what the start of the program has added: a command in Node would fill our cache with code of
 * its own, and would start as many threads as we do.
 */
function inherited(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  if (OWN_CACHE.test(environment[COMPILE_CACHE] ?? "")) delete environment[COMPILE_CACHE];
  if (environment[OWN_THREAD_POOL] !== undefined) {
    delete environment[OWN_THREAD_POOL];
    delete environment[THREAD_POOL_SIZE];
  }
  return environment;
}

function endOf(child: ChildProcess, onFault: (fault: Error) => number): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", (fault) => resolve(onFault(fault)));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}

/** With a channel, this process is in a group of its own, which the terminal does not signal (bin/larder.cjs). */
function hasTerminal(): boolean {
  // process.stdin would open the input, which is the command's.
  return isatty(STDIN) && process.channel === undefined;
}
