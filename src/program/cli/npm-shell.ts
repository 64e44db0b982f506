/**
 * The shell with which npm and npx run a command. SIGTERM to npm ends that
 * shell, which does not pass it on; other signals end only npm. The server would
 * run on, and keep its ports. It stops instead.
 *
 * (1) Only a parent that is this shell is watched: a server that another
 *     program starts may outlive it.
 * (2) A script that puts commands in the background may end before the server.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";

const LOOK_EVERY_MS = 500;

export interface NpmShellOptions {
  readonly clock: Clock;
  /** The shell has ended. */
  readonly onEnd: () => void;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly parentId?: () => number;
  /** The arguments of a process; undefined if the system does not tell them. */
  readonly readArguments?: (pid: number) => readonly string[] | undefined;
  /** The parent of another process; undefined if the system does not tell it. */
  readonly readParent?: (pid: number) => number | undefined;
}

/** Watches the shell of npm, if it is the parent of this process. */
export function watchNpmShell(options: NpmShellOptions): void {
  const { clock, onEnd, environment = process.env, parentId = () => process.ppid } = options;
  const shell = parentId();
  const script = environment["npm_lifecycle_script"];
  const [, flag, command] = (options.readArguments ?? readArguments)(shell) ?? [];
  // npx adds the quoted arguments to its script.
  if (script === undefined || flag !== "-c" || command === undefined || !command.startsWith(script)) return; // keeps (1)
  if (/(^|[^&])&([^&]|$)/.test(command)) return; // keeps (2)
  const { readParent = parentOf } = options;
  const npm = readParent(shell);
  const look = (): void => {
    if (parentId() === shell && readParent(shell) === npm) clock.after(LOOK_EVERY_MS, look);
    else onEnd();
  };
  look();
}

/** Linux has them in a file. A shell of other systems usually replaces itself with its only command. */
function readArguments(pid: number): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return undefined;
  }
}

/** The second field after the name, which is in parentheses and may contain anything (proc(5)). */
function parentOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}
