/**
 * PostgreSQL with its defaults, in its own directory: every commit is synced
 * before it is answered, which is its default. It does not run as root, so for
 * root it runs as `nobody`. A standby gets what its primary writes.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { freePort } from "../../test/harness/free-port.ts";
import {
  initPostgres,
  openPostgresFolder,
  POSTGRES_USER,
  type PostgresFolder,
  postgresCommand,
  postgresConnection,
  runPostgresProgram,
} from "../../test/harness/postgres-process.ts";
import { missingProgram } from "../../test/harness/required-programs.ts";
import { type PinnedProcess, startPinned } from "../harness/pinned-process.ts";

export const hasPostgres: boolean = missingProgram("postgres") === false;

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
  return startIn(parent, initPostgres);
}

/** A standby of the primary. Commits wait for it only if the primary names it in `synchronous_standby_names`. */
export function startStandby(parent: string, primary: PostgresPeer): Promise<PostgresPeer> {
  const from = ["-h", "127.0.0.1", "-p", `${primary.port}`, "-U", POSTGRES_USER];
  return startIn(parent, (folder) => runPostgresProgram(folder, "pg_basebackup", [...from, "-R", "-X", "stream"]));
}

async function startIn(parent: string, fill: (folder: PostgresFolder) => void): Promise<PostgresPeer> {
  const folder = openPostgresFolder(parent);
  fill(folder);
  const port = await freePort();
  const server = await startPinned({
    command: postgresCommand(folder, { port }),
    cwd: folder.directory,
    ...(folder.user !== undefined && { user: folder.user }),
    until: /ready to accept (read-only )?connections/,
  });
  return {
    connection: postgresConnection(port),
    port,
    process: server,
    cpuMs: () => cpuMsOfFamily(server.pid),
    stop: async () => {
      await server.stop();
      rmSync(folder.directory, { recursive: true, force: true });
    },
  };
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
