/** Nodes of one cluster for the parts that need several of them, and what they have in PostgreSQL. */
import { join } from "node:path";
import { Client } from "pg";
import { type PinnedProcess, startPinned } from "../harness/pinned-process.ts";

export interface PeerOptions {
  /** Of the cluster. */
  readonly url: string;
  readonly program: string;
  /** For the data directories. */
  readonly parent: string;
  /** Secrets that a node needs, as variables. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly seconds: number;
}

export interface PeerNode {
  readonly name: string;
  readonly process: PinnedProcess;
  readonly ports: { readonly store: number; readonly messaging: number; readonly resp: number };
}

const LOOK_MS = 200;

/** A node that forwards and has a RESP port. `flags`: further ones. */
export async function startPeer(options: PeerOptions, name: string, flags: readonly string[] = []): Promise<PeerNode> {
  const { url, program, parent, secrets } = options;
  const running = await startPinned({
    command: [
      ...[process.execPath, program, "serve", "--data-dir", join(parent, `peer-${name}`), "--cluster-node", name],
      ...["--cluster-address", "127.0.0.1:0", "--threads", "one", ...flags],
    ],
    core: "any",
    env: {
      ...secrets,
      ...{ LARDER_CLUSTER_URL: url, LARDER_STORE_PORT: "0", LARDER_VECTOR_PORT: "0" },
      ...{ LARDER_MESSAGING_PORT: "0", LARDER_ADMIN_PORT: "0", LARDER_RESP_PORT: "0" },
    },
    until: /running at[\s\S]*UPSTASH_REDIS_REST_URL="[^"]+"/,
  });
  const portOf = (pattern: RegExp): number => Number(pattern.exec(running.output())?.[1]);
  return {
    name,
    process: running,
    ports: {
      store: portOf(/UPSTASH_REDIS_REST_URL="http:\/\/[^"]*:(\d+)"/),
      messaging: portOf(/QSTASH_URL="http:\/\/[^"]*:(\d+)"/),
      resp: portOf(/redis:\/\/[^\s]*:(\d+) \(store over RESP\)/),
    },
  };
}

/** Resolves with the value of `look` when it is not undefined. */
export async function until<Value>(look: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** The database of a cluster, for counts and for questions. */
export class ClusterDatabase {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(url: string): Promise<ClusterDatabase> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new ClusterDatabase(client);
  }

  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return (await this.#client.query(text, [...values])).rows as Row[];
  }

  /** The rows of all journals: each is a statement of its own, and none is removed before a snapshot. */
  async appends(): Promise<number> {
    const text = "SELECT count(*)::float8 AS appends FROM larder.log";
    return (await this.rows<{ appends: number }>(text))[0]?.appends ?? 0;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
