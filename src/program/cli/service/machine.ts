/**
 * The machine of a service: the places of its files, and the programs of systemd that the commands run.
 *
 * (1) A file that larder did not write is neither replaced nor removed. Each file that it writes begins with its mark.
 */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NoText, readTextFile } from "../../../persistence/disk/text-file.ts";
import { makeDirectory } from "../../directory/make-directory.ts";
import { programFile } from "../../package-files.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";

/** The name of the service, and the user of one of the machine. */
export const SERVICE = "larder";
export const UNIT_NAME = `${SERVICE}.service`;
/** Each file that the command writes begins with it. */
export const MARK = "# Written by larder service install";

export interface ProgramEnd {
  /** Null: it could not be started, or a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Machine {
  /** The directory above all files that are read and written: / except in tests. */
  readonly root: string;
  /** A service of this user, or of the machine. */
  readonly isOfUser: boolean;
  readonly userId: number;
  /** Of a service of the user: where units, settings and data of users are. */
  readonly home: { readonly config: string; readonly state: string };
  /** Node, and the program that it runs. */
  readonly node: string;
  readonly program: string;
  readonly runProgram: (program: string, words: readonly string[]) => ProgramEnd;
}

/** This machine. */
export function machineOf({ isOfUser }: { readonly isOfUser: boolean }): Machine {
  return {
    root: "/",
    isOfUser,
    userId: process.getuid?.() ?? 0,
    home: {
      config: process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"),
      state: process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"),
    },
    node: process.execPath,
    program: fileURLToPath(programFile),
    runProgram(program, words) {
      const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: "utf8" });
      return { status, stdout: stdout ?? "", stderr: error?.message ?? stderr ?? "" };
    },
  };
}

/** The paths of the files of a service, as the unit has them. */
export interface ServicePaths {
  readonly unit: string;
  /** Variables, with the secrets. */
  readonly environment: string;
  /** Makes the user of a service of the machine. */
  readonly user: string;
}

export function pathsOf({ isOfUser, home }: Machine): ServicePaths {
  return {
    unit: isOfUser ? join(home.config, "systemd", "user", UNIT_NAME) : `/etc/systemd/system/${UNIT_NAME}`,
    environment: isOfUser ? join(home.config, SERVICE, "larder.env") : "/etc/larder/larder.env",
    user: "/etc/sysusers.d/larder.conf",
  };
}

/** Where packages of a distribution have their units. */
const PACKAGE_UNIT = `/usr/lib/systemd/system/${UNIT_NAME}`;

/** Throws a `StartRefusal` unless the command may change the services of this machine. */
export function assertMayChange(machine: Machine): void {
  const { root, isOfUser, userId } = machine;
  if (!existsSync(join(root, "/run/systemd/system")))
    throw new StartRefusal(
      "systemd does not run on this machine: start larder serve in another way, or copy what larder service install --print prints",
    );
  if (isOfUser && userId === 0)
    throw new StartRefusal(
      "--user is for a service of your own, and this is root: leave it out, or run it as your user",
    );
  if (!isOfUser && userId !== 0)
    throw new StartRefusal(
      "A service of the machine needs root: run the command with sudo, or add --user for your own",
    );
  const { unit, user } = pathsOf(machine);
  const others = isOfUser ? [unit] : [unit, user, PACKAGE_UNIT];
  for (const path of others)
    if (isForeign(join(root, path)))
      throw new StartRefusal(`${path} is not from larder service install, so it stays: move it away first`); // keeps (1)
}

/** Whether something is there that larder did not write; a link counts. */
function isForeign(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return false;
  return !entry.isFile() || !readFileSync(path, "utf8").startsWith(MARK);
}

/** The text of a file, or undefined if it does not exist. Throws a `StartRefusal` if it is no text. */
export function readIfThere(path: string): string | undefined {
  try {
    return readTextFile(path);
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault instanceof NoText ? new StartRefusal(`${fault.message}: move it away first`) : fault;
  }
}

/** Writes a file as a whole, and its directory. Returns false if it had this text already. */
export function replaceFile(path: string, text: string, { mode }: { readonly mode: number }): boolean {
  if (readIfThere(path) === text) return false;
  makeDirectory(dirname(path), DIRECTORY_MODE);
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode, flag: "wx" });
  renameSync(draft, path);
  return true;
}

const DIRECTORY_MODE = 0o755;

/** Runs a program of systemd. Returns what it printed; throws a `StartRefusal` with its error. */
export function mustRun({ runProgram }: Machine, program: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = runProgram(program, words);
  if (status === 0) return stdout;
  throw new StartRefusal(`${[program, ...words].join(" ")} failed: ${stderr.trim() || `it ended with ${status}`}`);
}

/** `systemctl` for the services of the machine, or of the user. */
export function systemctl(machine: Machine, ...words: readonly string[]): string {
  return mustRun(machine, "systemctl", ...(machine.isOfUser ? ["--user"] : []), ...words);
}
