/**
 * A private PostgreSQL for comparisons: a new directory in the memory of the
 * machine, loopback only, a free port, stopped by its own process handle. It
 * refuses to run as root, so for root it runs as `nobody`. Its parts are for
 * benches too, which pin the server to a core.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isRunFolder } from "../../tools/tests/temporary-folder.ts";
import { freePort } from "./free-port.ts";
import { DEBIAN_POSTGRES } from "./required-programs.ts";

export interface PostgresProcess {
  /** For clients: a superuser without a password. */
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** The directory of one server. */
export interface PostgresFolder {
  /** For its socket; the working directory of its programs. */
  readonly directory: string;
  readonly data: string;
  /** Whom its programs run as; undefined: as the user of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/** The superuser of each server. It needs no password. */
export const POSTGRES_USER = "larder";
const START_MS_MAX = 30_000;

/** A server on the data of a folder. */
interface RunningPostgres {
  /** Ends it at once, as a crash does: connections are cut, and nothing more is written. */
  kill(): Promise<void>;
}

/** Starts a server with the default configuration plus `settings` (`["synchronous_commit=off"]`). */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresProcess> {
  const folder = openPostgresFolder(tmpdir());
  try {
    fillPostgres(folder);
    const port = await freePort();
    const server = await runPostgres(folder, { port, settings });
    const stop = async (): Promise<void> => {
      await server.kill();
      rmSync(folder.directory, { recursive: true, force: true });
    };
    return { connectionString: postgresConnection(port), stop };
  } catch (error) {
    rmSync(folder.directory, { recursive: true, force: true });
    throw error;
  }
}

/** Runs the server of a filled folder. Resolves when it accepts connections; rejects if it does not start, and ends it. */
async function runPostgres(
  folder: PostgresFolder,
  options: { readonly port: number; readonly settings?: readonly string[] },
): Promise<RunningPostgres> {
  const [program, ...args] = postgresCommand(folder, options);
  const child = spawn(program, args, { cwd: folder.directory, ...folder.user, stdio: ["ignore", "ignore", "pipe"] });
  // A test that crashes must not leave a server running.
  const killWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithUs);
  const gone = once(child, "close").finally(() => process.removeListener("exit", killWithUs));
  const kill = async (): Promise<void> => {
    // Ends connections and skips the checkpoint.
    child.kill("SIGQUIT");
    await gone;
  };
  try {
    await untilReady(child);
  } catch (error) {
    await kill();
    throw error;
  }
  return { kill };
}

/** A server that can be killed and started again on its data, at one address. */
export class RestartablePostgres implements PostgresProcess {
  readonly #folder: PostgresFolder;
  readonly #port: number;
  #server: RunningPostgres | undefined;

  private constructor(folder: PostgresFolder, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Creates its data and starts it. */
  static async create(): Promise<RestartablePostgres> {
    const postgres = new RestartablePostgres(openPostgresFolder(tmpdir()), await freePort());
    try {
      fillPostgres(postgres.#folder);
      await postgres.start();
    } catch (error) {
      await postgres.stop();
      throw error;
    }
    return postgres;
  }

  get connectionString(): string {
    return postgresConnection(this.#port);
  }

  /** Starts it after a `kill`, and resolves when it accepts connections. */
  async start(): Promise<void> {
    this.#server = await runPostgres(this.#folder, { port: this.#port });
  }

  /** Ends it at once, as a crash does. Its data stays. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.kill();
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder.directory, { recursive: true, force: true });
  }
}

/** Creates an empty directory below `parent`, which the caller removes. */
export function openPostgresFolder(parent: string): PostgresFolder {
  const directory = mkdtempSync(join(parent, "postgres-"));
  const data = join(directory, "data");
  mkdirSync(data, { mode: 0o700 });
  const user = nobodyForRoot();
  openForUser(directory, user);
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  return { directory, data, user };
}

/** Whom the programs of PostgreSQL run as: for root as `nobody`; undefined: as the user of this process. */
export function nobodyForRoot(): PostgresFolder["user"] {
  return process.getuid?.() === 0 ? nobody() : undefined;
}

/** Gives a directory to a user. */
export function openForUser(directory: string, user: PostgresFolder["user"]): void {
  if (user === undefined) return;
  // The folder for the temporary files of a test run is closed to other users.
  const parent = dirname(directory);
  const { mode } = statSync(parent);
  if ((mode & 0o001) === 0) chmodSync(parent, mode | 0o011);
  chownSync(directory, user.uid, user.gid);
}

/** Creates the databases of a server in an empty directory. */
export function initPostgres(folder: PostgresFolder): void {
  runPostgresProgram(folder, "initdb", ["-A", "trust", "-U", POSTGRES_USER, "-N"]);
}

/** In the folder of a test run: the databases of a server that has never run. */
const TEMPLATE = "postgres-template";

/**
 * As `initPostgres`, which takes a second of CPU time, but only once in a test run: a copy takes a tenth. The folder of the
 * run is removed with it.
 */
function fillPostgres(folder: PostgresFolder): void {
  const parent = tmpdir();
  if (!isRunFolder(parent)) {
    initPostgres(folder);
    return;
  }
  const template = join(parent, TEMPLATE);
  if (!existsSync(template)) makeTemplate(parent, template);
  const { data, user } = folder;
  execFileSync("cp", ["-a", `${template}/data/.`, data], { cwd: template, ...user, stdio: "ignore" });
}

function makeTemplate(parent: string, template: string): void {
  const made = openPostgresFolder(parent);
  initPostgres(made);
  try {
    renameSync(made.directory, template);
  } catch (error) {
    // Another process of the run was first.
    rmSync(made.directory, { recursive: true, force: true });
    if (!existsSync(template)) throw error;
  }
}

/** Runs a program of PostgreSQL on the data of a directory to its end. Throws if it fails. */
export function runPostgresProgram(
  { directory, data, user }: PostgresFolder,
  name: "initdb" | "pg_basebackup",
  args: readonly string[],
): void {
  execFileSync(programOf(name), ["-D", data, ...args], { cwd: directory, ...user, stdio: "ignore" });
}

/** The command that runs a server. It prints "ready to accept connections" to stderr. */
export function postgresCommand(
  { directory, data }: PostgresFolder,
  { port, settings = [] }: { readonly port: number; readonly settings?: readonly string[] },
): readonly [program: string, ...args: string[]] {
  const all = ["listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, `port=${port}`, ...settings];
  return [programOf("postgres"), "-D", data, ...all.flatMap((setting) => ["-c", setting])];
}

/** For clients: the superuser of the server of a port. */
export function postgresConnection(port: number): string {
  return `postgres://${POSTGRES_USER}@127.0.0.1:${port}/postgres`;
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string): void => reject(new Error(`PostgreSQL ${why}: ${output}`));
    const limit = setTimeout(() => fail("did not report that it is ready"), START_MS_MAX);
    child.once("error", (error) => {
      clearTimeout(limit);
      reject(error);
    });
    child.once("close", () => {
      clearTimeout(limit);
      fail("ended");
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (!output.includes("ready to accept connections")) return;
      clearTimeout(limit);
      child.stderr?.removeAllListeners("data").resume();
      resolve();
    });
  });
}

function programOf(name: string): string {
  const folder = postgresPrograms();
  return folder === undefined ? name : join(folder, name);
}

/** The folder of the programs of the newest version; undefined if they are only on the PATH. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_POSTGRES)
    ? readdirSync(DEBIAN_POSTGRES).sort((a, b) => Number(b) - Number(a))
    : [];
  const [latest] = versions;
  return latest === undefined ? undefined : join(DEBIAN_POSTGRES, latest, "bin");
}

function nobody(): { uid: number; gid: number } {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}
