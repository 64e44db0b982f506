/**
 * A PostgreSQL that fails over: three members under Patroni, with one etcd, all
 * on loopback. Patroni is strict and synchronous: a commit is answered when the
 * primary and a standby have it, and writes wait while no standby is there. Like
 * PostgreSQL, all of it runs as `nobody` for root.
 *
 * A member is a machine: `kill` ends Patroni and PostgreSQL at once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/kernel/clock.ts";
import { freePort } from "./free-port.ts";
import { nobodyForRoot, openForUser, POSTGRES_USER, postgresPrograms } from "./postgres-process.ts";

/** The time without a renewal after which the others elect another primary. */
const TTL_SECONDS = 10;
const READY_MS_MAX = 90_000;
const LOOK_MS = 100;
const LOG_LENGTH = 2_000;

/** As Patroni's REST interface says: `sync_standby` is the one that every commit waits for. */
export type MemberRole = "leader" | "sync_standby" | "replica";

export interface PatroniMember {
  readonly name: string;
  /** Of its PostgreSQL. */
  readonly port: number;
  readonly restPort: number;
}

interface RunningMember extends PatroniMember {
  readonly directory: string;
  readonly log: string;
  patroni: ChildProcess | undefined;
}

interface ListedMember {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

export class PatroniCluster {
  readonly #directory: string;
  readonly #user: { readonly uid: number; readonly gid: number } | undefined;
  readonly #members: RunningMember[] = [];
  readonly #etcdPorts: { readonly client: number; readonly peer: number };
  #etcd: ChildProcess | undefined;

  private constructor(directory: string, etcdPorts: { client: number; peer: number }) {
    this.#directory = directory;
    this.#user = nobodyForRoot();
    this.#etcdPorts = etcdPorts;
  }

  /** Resolves when a primary accepts writes and a standby has them. */
  static async start(): Promise<PatroniCluster> {
    const directory = mkdtempSync(join(tmpdir(), "patroni-"));
    const ports = { client: await freePort(), peer: await freePort() };
    const cluster = new PatroniCluster(directory, ports);
    openForUser(directory, cluster.#user);
    const endWithUs = (): void => cluster.#kill();
    process.once("exit", endWithUs);
    try {
      cluster.startEtcd();
      for (const name of ["one", "two", "three"]) await cluster.#add(name);
      for (const member of cluster.#members) cluster.#startPatroni(member);
      await cluster.untilSynchronous();
    } catch (failure) {
      await cluster.stop();
      throw failure;
    }
    return cluster;
  }

  get members(): readonly PatroniMember[] {
    return this.#members;
  }

  /** For clients: the superuser of all members, `postgres://user@host:port,host:port,host:port/database`. */
  get connectionString(): string {
    const hosts = this.#members.map(({ port }) => `127.0.0.1:${port}`).join(",");
    return `postgres://${POSTGRES_USER}@${hosts}/postgres`;
  }

  /** For clients: the superuser of one member. */
  connectionTo({ port }: PatroniMember): string {
    return `postgres://${POSTGRES_USER}@127.0.0.1:${port}/postgres`;
  }

  /** The primary, if a member says that it is. */
  async primary(): Promise<PatroniMember | undefined> {
    for (const member of this.#members) if (await this.#isPrimary(member)) return member;
    return undefined;
  }

  /** Resolves with the primary when it has a synchronous standby. */
  async untilSynchronous(): Promise<PatroniMember> {
    return this.#until("have a primary with a synchronous standby", async () => {
      const primary = await this.primary();
      if (primary === undefined) return undefined;
      const listed = await this.#list(primary);
      return listed.some(({ role, state }) => role === "sync_standby" && state === "running") ? primary : undefined;
    });
  }

  async untilNoPrimary(): Promise<void> {
    await this.#until("give up their primary", async () => ((await this.primary()) === undefined ? true : undefined));
  }

  /** Resolves when all members run, one of them as the primary. */
  async untilWhole(): Promise<void> {
    await this.untilSynchronous();
    await this.#until("have three members that run", async () => {
      const primary = await this.primary();
      const listed = primary === undefined ? [] : await this.#list(primary);
      return listed.filter(({ state }) => state === "running" || state === "streaming").length === 3 || undefined;
    });
  }

  /** Lets the synchronous standby become the primary, as for maintenance. */
  async switchOver(): Promise<void> {
    const primary = await this.untilSynchronous();
    const listed = await this.#list(primary);
    const candidate = listed.find(({ role }) => role === "sync_standby")?.name;
    const response = await fetch(`http://127.0.0.1:${primary.restPort}/switchover`, {
      method: "POST",
      body: JSON.stringify({ leader: primary.name, candidate }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Patroni refused a switchover: ${text}`);
  }

  /** Ends PostgreSQL of a member as `pg_ctl stop -m immediate` does. Its Patroni starts it again, or promotes another. */
  stopImmediately(member: PatroniMember): void {
    const pid = this.#postmasterOf(member.name);
    if (pid !== undefined) signal(pid, "SIGQUIT");
  }

  /** Ends a member at once, and starts it again only by `startMember`. */
  async killMember(member: PatroniMember): Promise<void> {
    const running = this.#memberOf(member.name);
    const { patroni } = running;
    running.patroni = undefined;
    const pid = this.#postmasterOf(member.name);
    const gone = patroni === undefined || patroni.exitCode !== null ? undefined : once(patroni, "close");
    patroni?.kill("SIGKILL");
    if (pid !== undefined) signal(pid, "SIGKILL");
    await gone;
  }

  startMember(member: PatroniMember): void {
    this.#startPatroni(this.#memberOf(member.name));
  }

  startEtcd(): void {
    const { client, peer } = this.#etcdPorts;
    const clients = `http://127.0.0.1:${client}`;
    const peers = `http://127.0.0.1:${peer}`;
    const args = [
      ...["--name", "only", "--data-dir", join(this.#directory, "etcd"), "--initial-cluster", `only=${peers}`],
      ...["--listen-client-urls", clients, "--advertise-client-urls", clients],
      ...["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers],
    ];
    this.#etcd = this.#spawn("etcd", args, join(this.#directory, "etcd.log"));
  }

  /** Without etcd the primary steps down when its lease ends. */
  async stopEtcd(): Promise<void> {
    const etcd = this.#etcd;
    if (etcd === undefined) return;
    this.#etcd = undefined;
    const gone = once(etcd, "close");
    etcd.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => this.killMember(member)));
    await this.stopEtcd();
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The ends of all logs, for a failure. */
  describe(): string {
    return this.#members
      .map(({ name, log }) => `${name}:\n${existsSync(log) ? readFileSync(log, "utf8").slice(-LOG_LENGTH) : ""}`)
      .join("\n");
  }

  async #add(name: string): Promise<void> {
    const directory = join(this.#directory, name);
    mkdirSync(directory, { mode: 0o700 });
    const member: RunningMember = {
      name,
      port: await freePort(),
      restPort: await freePort(),
      directory,
      log: join(this.#directory, `${name}.log`),
      patroni: undefined,
    };
    const path = configurationPath(member);
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(this.#configurationOf(member), undefined, 2));
    if (this.#user !== undefined) for (const each of [directory, path]) chownSync(each, this.#user.uid, this.#user.gid);
    this.#members.push(member);
  }

  #configurationOf({ name, port, restPort, directory }: RunningMember): unknown {
    const rest = `127.0.0.1:${restPort}`;
    const server = `127.0.0.1:${port}`;
    const superuser = { username: POSTGRES_USER, password: "unused" };
    return {
      scope: "larder",
      name,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { host: `127.0.0.1:${this.#etcdPorts.client}` },
      bootstrap: {
        dcs: {
          ttl: TTL_SECONDS,
          loop_wait: 1,
          retry_timeout: 3,
          synchronous_mode: true,
          synchronous_mode_strict: true,
          postgresql: { use_pg_rewind: true, use_slots: true, parameters: { wal_log_hints: "on" } },
        },
        initdb: [{ encoding: "UTF8" }, { locale: "C" }, "no-sync"],
      },
      postgresql: {
        listen: server,
        connect_address: server,
        data_dir: join(directory, "data"),
        bin_dir: postgresPrograms() ?? "",
        pgpass: join(directory, "pgpass"),
        authentication: {
          superuser,
          rewind: superuser,
          replication: { username: "replicator", password: "unused" },
        },
        pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        // A killed process loses nothing of the system's cache.
        parameters: { unix_socket_directories: directory, fsync: "off", shared_buffers: "16MB" },
      },
    };
  }

  #startPatroni(member: RunningMember): void {
    member.patroni = this.#spawn("patroni", [configurationPath(member)], member.log);
  }

  #spawn(program: string, args: readonly string[], log: string): ChildProcess {
    const output = openSync(log, "a");
    const child = spawn(program, args, {
      cwd: this.#directory,
      ...this.#user,
      env: { PATH: process.env["PATH"], HOME: this.#directory },
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    return child;
  }

  #memberOf(name: string): RunningMember {
    const member = this.#members.find((each) => each.name === name);
    if (member === undefined) throw new Error(`there is no member ${name}`);
    return member;
  }

  #postmasterOf(name: string): number | undefined {
    const path = join(this.#memberOf(name).directory, "data", "postmaster.pid");
    if (!existsSync(path)) return undefined;
    const pid = Number(readFileSync(path, "latin1").split("\n")[0]);
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  }

  async #isPrimary({ restPort }: PatroniMember): Promise<boolean> {
    const response = await answerOf(restPort, "/primary");
    return response?.ok === true;
  }

  async #list({ restPort }: PatroniMember): Promise<readonly ListedMember[]> {
    const response = await answerOf(restPort, "/cluster");
    if (response?.ok !== true) return [];
    const { members } = (await response.json()) as { members: readonly ListedMember[] };
    return members;
  }

  async #until<Found>(what: string, find: () => Promise<Found | undefined>): Promise<Found> {
    const startMs = systemClock.monotonicMs();
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      if (systemClock.monotonicMs() - startMs > READY_MS_MAX)
        throw new Error(`The members of Patroni do not ${what}\n${this.describe()}`);
      await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
    }
  }

  /** A test that crashes must not leave servers running. */
  #kill(): void {
    for (const { name, patroni } of this.#members) {
      patroni?.kill("SIGKILL");
      const pid = patroni === undefined ? undefined : this.#postmasterOf(name);
      if (pid !== undefined) signal(pid, "SIGKILL");
    }
    this.#etcd?.kill("SIGKILL");
  }
}

function configurationPath({ directory }: RunningMember): string {
  return join(directory, "patroni.json");
}

/** Undefined if nobody answers. */
async function answerOf(port: number, path: string): Promise<Response | undefined> {
  try {
    return await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(2_000) });
  } catch {
    return undefined;
  }
}

/** A process that has ended meanwhile is what was wanted. */
function signal(pid: number, name: "SIGKILL" | "SIGQUIT"): void {
  try {
    process.kill(pid, name);
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== "ESRCH") throw failure;
  }
}
