/**
 * PostgreSQL with its defaults, in its own directory: every commit is synced
 * before it is answered, which is its default. It does not run as root, so for
 * root it runs as `nobody`. A standby gets what its primary writes.
 */
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "../harness/machine.ts";
import { freePort, type PinnedProcess, startPinned } from "../harness/pinned-process.ts";

/** The programs of each version on Debian; elsewhere they are in the PATH. */
const DEBIAN = "/usr/lib/postgresql";

const folder = findFolder();
export const hasPostgres: boolean = folder !== undefined;

const user = process.getuid?.() === 0 ? nobody() : undefined;
const asUser = user === undefined ? [] : ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];

export interface PostgresPeer {
  readonly connection: string;
  readonly port: number;
  readonly process: PinnedProcess;
  /** Of the server and its helpers, one for each connection. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** @param parent folder of its own directory */
export function startPostgres(parent: string): Promise<PostgresPeer> {
  return startIn(parent, (data) => runProgram("initdb", ["-D", data, "-A", "trust", "-U", "bench", "-N"], data));
}

/** A standby of the primary. Commits wait for it only if the primary names it in `synchronous_standby_names`. */
export function startStandby(parent: string, primary: PostgresPeer): Promise<PostgresPeer> {
  const from = ["-h", "127.0.0.1", "-p", `${primary.port}`, "-U", "bench"];
  return startIn(parent, (data) => runProgram("pg_basebackup", [...from, "-D", data, "-R", "-X", "stream"], data));
}

async function startIn(parent: string, fill: (data: string) => void): Promise<PostgresPeer> {
  const directory = mkdtempSync(join(parent, "postgres-"));
  const data = join(directory, "data");
  mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) for (const path of [directory, data]) chownSync(path, user.uid, user.gid);
  fill(data);
  const port = await freePort();
  const settings = ["-p", `${port}`, "-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${directory}`];
  const server = await startPinned({
    command: [...asUser, programOf("postgres"), "-D", data, ...settings],
    cwd: directory,
    until: /ready to accept (read-only )?connections/,
  });
  return {
    connection: `postgres://bench@127.0.0.1:${port}/postgres`,
    port,
    process: server,
    cpuMs: () => cpuMsOfFamily(server.pid),
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function runProgram(name: string, options: readonly string[], cwd: string): void {
  const [first = "", ...rest] = [...asUser, programOf(name), ...options];
  execFileSync(first, rest, { stdio: "ignore", cwd });
}

function findFolder(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const [latest] = versions;
  if (latest !== undefined) return join(DEBIAN, latest, "bin");
  return isInstalled("postgres") && isInstalled("initdb") ? "" : undefined;
}

function programOf(name: string): string {
  return folder === undefined || folder === "" ? name : join(folder, name);
}

function nobody(): { uid: number; gid: number } {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** Each connection is a process; if it has ended, its time is included in that of the server. */
function cpuMsOfFamily(pid: number): number {
  const ticksOf = (text: string, indexes: readonly number[]): number => {
    const fields = text.replace(/^.*\) /s, "").split(" ");
    return indexes.reduce((sum, index) => sum + Number(fields[index]), 0);
  };
  let ticks = 0;
  const add = (process_: string, indexes: readonly number[]): void => {
    const path = `/proc/${process_}/stat`;
    if (existsSync(path)) ticks += ticksOf(readFileSync(path, "latin1"), indexes);
  };
  // 11 and 12 are its own times, 13 and 14 those of children that ended.
  add(`${pid}`, [11, 12, 13, 14]);
  const children = `/proc/${pid}/task/${pid}/children`;
  const running = existsSync(children) ? readFileSync(children, "latin1").trim() : "";
  for (const child of running === "" ? [] : running.split(" ")) add(child, [11, 12]);
  return ticks * 10;
}
