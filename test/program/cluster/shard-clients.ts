/** Tenants of clusters with several shards of an area, and what their clients see. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Client } from "pg";
import type { RunningProgram } from "../program-process.ts";
import { messagingToken, type TestCluster } from "./cluster-program.ts";

const SIGNING = {
  currentSigningKey: "sig_3kYjw48mhY7kAjqNGcy6cr29RJ6r",
  nextSigningKey: "sig_6ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
};

export const storeToken = (name: string): string => `store-of-${name}-8f2d1c7b6a5e4f30`;
const vectorToken = (name: string): string => `vector-of-${name}-6a5e4f308f2d1c7b`;
export const userToken = (name: string): string => messagingToken(name, `${name}-0f1e2d3c4b5a69788796a5b4`);

/** The arguments for a configuration with `main` and these tenants in each area. */
export function configOf({ directory }: TestCluster, names: readonly string[]): readonly string[] {
  const path = `${directory}/tenants-${names.join("-")}.json`;
  const both = (token: string) => ({ token, readOnlyToken: `${token}-reader` });
  const users = names.map((name) => ({
    ...{ name, token: userToken(name), ...SIGNING },
    readOnlyToken: messagingToken(name, `reader-of-${name}-788796a5b40f1e2d`),
  }));
  const tenants = {
    store: { databases: [{ name: "main" }, ...names.map((name) => ({ name, ...both(storeToken(name)) }))] },
    vector: { indexes: [{ name: "main" }, ...names.map((name) => ({ name, ...both(vectorToken(name)) }))] },
    messaging: { users: [{ name: "main" }, ...users] },
  };
  writeFileSync(path, JSON.stringify(tenants), { mode: 0o600 });
  return ["--config", path];
}

export async function sql<Row>({ url }: TestCluster, text: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** What the node that answered calls itself, with `--owner-header on`. */
  readonly owner: string | null;
}

/** The nodes that these headers of answers name, in alphabetical order. */
export async function nodesOf(cluster: TestCluster, owners: readonly (string | null)[]): Promise<readonly string[]> {
  const { stdout } = await cluster.here(["cluster", "status", "--json"]);
  const { nodes } = JSON.parse(stdout) as { nodes: readonly { name: string; ownerName: string }[] };
  const names = new Map(nodes.map(({ name, ownerName }) => [ownerName, name]));
  return owners.map((owner) => names.get(owner ?? "") ?? `unknown ${owner}`).toSorted();
}

export async function ask(url: string, token: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  const answer = await fetch(url, { method: "POST", ...init, headers });
  const text = await answer.text();
  const owner = answer.headers.get("larder-owner");
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text), owner };
}

function urlsOf({ environment, storeUrl }: RunningProgram): { store: string; vector: string; messaging: string } {
  return {
    store: storeUrl,
    vector: environment["UPSTASH_VECTOR_REST_URL"] ?? "",
    messaging: environment["QSTASH_URL"] ?? "",
  };
}

/** Writes to each area of each tenant. */
export async function write(node: RunningProgram, names: readonly string[], round: string): Promise<void> {
  const { store, vector, messaging } = urlsOf(node);
  const done = async (answer: Promise<Answer>): Promise<void> => {
    const { status, body } = await answer;
    assert.equal(status, 200, JSON.stringify(body));
  };
  for (const name of names) {
    await done(ask(store, storeToken(name), { body: JSON.stringify(["RPUSH", "list", `${name} ${round}`]) }));
    const record = JSON.stringify({ id: `${name} ${round}`, vector: [1, 2, 3] });
    await done(ask(`${vector}/upsert`, vectorToken(name), { body: record }));
    const headers = { "upstash-cron": "0 0 1 1 *", "upstash-schedule-id": `${name}-${round}` };
    await done(ask(`${messaging}/v2/schedules/https://example.com/hook`, userToken(name), { headers }));
  }
}

export interface Seen {
  readonly list: unknown;
  readonly records: readonly string[];
  readonly schedules: readonly string[];
}

/** What the clients of a node see of each tenant, and what the nodes that answered call themselves. */
export async function contents(
  node: RunningProgram,
  names: readonly string[],
): Promise<{ readonly seen: Readonly<Record<string, Seen>>; readonly owners: readonly (string | null)[] }> {
  const { store, vector, messaging } = urlsOf(node);
  const owners = new Set<string | null>();
  const resultOf = async <Body>(answer: Promise<Answer>): Promise<Body> => {
    const { status, body, owner } = await answer;
    assert.equal(status, 200, JSON.stringify(body));
    owners.add(owner);
    return body as Body;
  };
  type Range = { result: { vectors: readonly { id: string }[] } };
  const seen: Record<string, Seen> = {};
  for (const name of names) {
    const list = await resultOf<{ result: unknown }>(ask(`${store}/lrange/list/0/-1`, storeToken(name)));
    const body = JSON.stringify({ cursor: "0", limit: 10 });
    const range = await resultOf<Range>(ask(`${vector}/range`, vectorToken(name), { body }));
    const listed = ask(`${messaging}/v2/schedules`, userToken(name), { method: "GET" });
    const schedules = await resultOf<readonly { scheduleId: string }[]>(listed);
    seen[name] = {
      list: list.result,
      records: range.result.vectors.map(({ id }) => id),
      schedules: schedules.map(({ scheduleId }) => scheduleId).toSorted(),
    };
  }
  return { seen, owners: [...owners].toSorted() };
}

/** What was written for each tenant in these rounds, which are in alphabetical order. */
export function written(names: readonly string[], rounds: readonly string[]): Readonly<Record<string, Seen>> {
  const seenOf = (name: string): Seen => ({
    list: rounds.map((round) => `${name} ${round}`),
    records: rounds.map((round) => `${name} ${round}`),
    schedules: rounds.map((round) => `${name}-${round}`),
  });
  return Object.fromEntries(names.map((name) => [name, seenOf(name)]));
}

/** Resolves when a node has served these shards. */
export async function untilServed(node: RunningProgram, shards: readonly number[]): Promise<void> {
  for (const shard of shards) await node.untilPrinted(new RegExp(`"area is served","area":"\\w+","shard":${shard},`));
}
