/**
 * A private PostgreSQL for comparisons: a new directory in the memory of the
 * machine, loopback only, a free port, stopped by its own process handle. It
 * refuses to run as root, so for root it runs as `nobody`.
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
  rmSync,
  statSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEBIAN_POSTGRES } from "./required-programs.ts";

export interface PostgresProcess {
  /** For clients: a superuser without a password. */
  readonly connectionString: string;
  stop(): Promise<void>;
}

const START_MS_MAX = 30_000;

/** Starts a server with the default configuration plus `settings` (`["synchronous_commit=off"]`). */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresProcess> {
  const directory = mkdtempSync(join(tmpdir(), "postgres-"));
  const data = join(directory, "data");
  mkdirSync(data, { mode: 0o700 });
  const user = process.getuid?.() === 0 ? nobody() : undefined;
  const options = { cwd: directory, ...user };
  if (user !== undefined) {
    // The folder for the temporary files of a test run is closed to other users.
    const { mode } = statSync(tmpdir());
    if ((mode & 0o001) === 0) chmodSync(tmpdir(), mode | 0o011);
    for (const path of [directory, data]) chownSync(path, user.uid, user.gid);
  }
  execFileSync(programOf("initdb"), ["-D", data, "-A", "trust", "-U", "larder", "-N"], { ...options, stdio: "ignore" });
  const port = await freePort();
  const all = ["listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, `port=${port}`, ...settings];
  const args = ["-D", data, ...all.flatMap((setting) => ["-c", setting])];
  const child = spawn(programOf("postgres"), args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  // A test that crashes must not leave a server running.
  const killWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithUs);
  const gone = once(child, "close");
  const stop = async (): Promise<void> => {
    // Ends connections and skips the checkpoint: nothing is kept.
    child.kill("SIGQUIT");
    await gone;
    process.removeListener("exit", killWithUs);
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await untilReady(child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { connectionString: `postgres://larder@127.0.0.1:${port}/postgres`, stop };
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string): void => reject(new Error(`PostgreSQL ${why}: ${output}`));
    const limit = setTimeout(() => fail("did not report that it is ready"), START_MS_MAX);
    child.once("error", reject);
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
  const versions = existsSync(DEBIAN_POSTGRES)
    ? readdirSync(DEBIAN_POSTGRES).sort((a, b) => Number(b) - Number(a))
    : [];
  const [latest] = versions;
  return latest === undefined ? name : join(DEBIAN_POSTGRES, latest, "bin", name);
}

function nobody(): { uid: number; gid: number } {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
