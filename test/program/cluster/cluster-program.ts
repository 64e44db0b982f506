/** Nodes of a cluster as real processes on a real PostgreSQL, for tests from outside. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { runHere } from "../../harness/command-runner.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { cleanEnvironment, programFile, type RunningProgram, startProgram } from "../program-process.ts";

/** PostgreSQL asks for no password here, so that any one is accepted and can be looked for. */
export const PASSWORD = "correct-horse-7391";

/** What a node needs besides the URL: in a cluster no secret of a tenant is generated. */
export const secrets: Readonly<Record<string, string>> = {
  LARDER_STORE_TOKEN: "store-token-8f2d1c7b6a5e4f30",
  LARDER_STORE_READ_ONLY_TOKEN: "store-reader-1c7b6a5e4f308f2d",
  LARDER_VECTOR_TOKEN: "vector-token-6a5e4f308f2d1c7b",
  LARDER_VECTOR_READ_ONLY_TOKEN: "vector-reader-4f308f2d1c7b6a5e",
  LARDER_MESSAGING_TOKEN: messagingToken("main", "0f1e2d3c4b5a69788796a5b4"),
  LARDER_MESSAGING_READ_ONLY_TOKEN: messagingToken("main", "788796a5b40f1e2d3c4b5a69"),
  LARDER_CURRENT_SIGNING_KEY: "sig_3kYjw48mhY7kAjqNGcy6cr29RJ6r",
  LARDER_NEXT_SIGNING_KEY: "sig_6ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
  LARDER_ADMIN_TOKEN: "admin-token-2d1c7b6a5e4f308f",
};

export function messagingToken(user: string, password: string): string {
  return Buffer.from(JSON.stringify({ UserID: user, Password: password })).toString("base64");
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class TestCluster {
  /** With the password. */
  readonly url: string;
  readonly directory: string;
  /** The server of `start`. */
  readonly #postgres: PostgresProcess | undefined;
  readonly #nodes: RunningProgram[] = [];
  /** The program of commands, and of nodes that start from now on: the file that Node runs. */
  program: string = programFile;

  private constructor(connectionString: string, postgres?: PostgresProcess) {
    this.url = connectionString.replace("larder@", `larder:${PASSWORD}@`);
    this.directory = mkdtempSync(join(tmpdir(), "larder-cluster-"));
    this.#postgres = postgres;
  }

  /** On a server, or on several members of one, that the caller starts and stops. Its superuser needs no password. */
  static on(connectionString: string): TestCluster {
    return new TestCluster(connectionString);
  }

  /** On a server of its own, which `stop` ends. */
  static async start(settings: readonly string[] = []): Promise<TestCluster> {
    const postgres = await startPostgres(["fsync=off", ...settings]);
    return new TestCluster(postgres.connectionString, postgres);
  }

  /** Runs a command of the program to its end. */
  async larder(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
    const options = { env: { ...cleanEnvironment(), LARDER_CLUSTER_URL: this.url, ...env } };
    try {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [this.program, ...words], options);
      return { code: 0, stdout, stderr };
    } catch (fault) {
      const { code, stdout, stderr } = fault as CommandEnd;
      return { code, stdout, stderr };
    }
  }

  /** As `larder`, in this process and in a fraction of the time: for commands whose process is not the subject of a test. */
  async here(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
    const { code, output, log } = await runHere(words, { LARDER_CLUSTER_URL: this.url, ...env });
    return { code: code ?? 0, stdout: output, stderr: log };
  }

  /**
   * Starts a node in its own process group, so that `killGroup` ends it as the end of a machine does. Resolves when it has
   * registered.
   */
  async startNode(
    name: string,
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningProgram> {
    const node = await startProgram("serve", {
      args: ["--data-dir", this.dataDirectory(name), "--cluster-node", name, "--log-format", "json", ...args],
      env: { ...secrets, LARDER_CLUSTER_URL: this.url, ...env },
      entry: this.program,
      hasOwnGroup: true,
    });
    this.#nodes.push(node);
    return node;
  }

  dataDirectory(name: string): string {
    return join(this.directory, name);
  }

  /** Ends all nodes at once, those of a test that failed too, and removes their directories. */
  async stop(): Promise<void> {
    // Rejects if a node printed a secret; everything else ends nevertheless.
    const ends = await Promise.allSettled(this.#nodes.map((node) => node.killGroup()));
    await this.#postgres?.stop();
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The areas of a node, called with their tokens. */
export class NodeClient {
  readonly #node: RunningProgram;
  readonly #urls: Readonly<Record<"store" | "vector" | "messaging", string>>;

  constructor(node: RunningProgram) {
    const { environment, storeUrl } = node;
    this.#node = node;
    this.#urls = {
      store: storeUrl,
      vector: environment["UPSTASH_VECTOR_REST_URL"] ?? "",
      messaging: environment["QSTASH_URL"] ?? "",
    };
  }

  store(...command: readonly string[]): Promise<Answer> {
    return this.#ask("store", "/", "LARDER_STORE_TOKEN", { body: JSON.stringify(command) });
  }

  vector(path: string, body: unknown): Promise<Answer> {
    return this.#ask("vector", path, "LARDER_VECTOR_TOKEN", { body: JSON.stringify(body) });
  }

  messaging(path: string, init: RequestInit = {}): Promise<Answer> {
    return this.#ask("messaging", path, "LARDER_MESSAGING_TOKEN", init);
  }

  /** Resolves when the node serves all areas. */
  async untilServing(): Promise<void> {
    for (const area of ["store", "vector", "messaging"])
      await this.#node.untilPrinted(new RegExp(`"area is served","area":"${area}"`));
  }

  async #ask(area: "store" | "vector" | "messaging", path: string, token: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(`${this.#urls[area]}${path}`, {
      method: "POST",
      ...init,
      headers: { authorization: `Bearer ${secrets[token]}`, ...init.headers },
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }
}
