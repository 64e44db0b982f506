/**
 * What an operation costs when one of four nodes has load, and when all four have
 * the same load each, on a database of their own: processor time of the nodes
 * and of PostgreSQL, and statements that append to a journal. Clients use the owners.
 *
 * On one machine four nodes cannot show four times the rate. So each has a fixed
 * load that leaves both cores idle for a part of the time, and the growth is the
 * ratio of processor time for each operation: with machines of their own, four nodes
 * do 4 x ratio as much as one before their processors are busy. PostgreSQL does
 * the sum for all, so its cost for each operation must stay the same. Nodes
 * also send what they send at rest, which is in the processor times.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { httpRequest } from "../harness/http-load.ts";
import { RawClient } from "../harness/raw-client.ts";
import { spreadOf } from "../harness/statistics.ts";
import { figure, spreadText, table } from "../harness/table.ts";
import type { PostgresPeer } from "../peers/postgres.ts";
import { ClusterDatabase, type PeerNode, type PeerOptions, startPeer, until } from "./cluster-peers.ts";

export interface GrowthOptions extends PeerOptions {
  readonly postgres: PostgresPeer;
}

const NAMES = ["a", "b", "c", "d"] as const;
const VALUE = "v".repeat(100);
const GOAL = 0.8;

interface Work {
  readonly name: string;
  /** Of each node. */
  readonly connections: number;
  readonly perSecond: number;
  /** Whether PostgreSQL commits it. */
  readonly isCommitted: boolean;
  command(number: number): readonly string[];
}

const set = (i: number): readonly string[] => ["SET", `key:${i}`, VALUE];
const get = (i: number): readonly string[] => ["GET", `key:${i}`];

const WORK: readonly Work[] = [
  // Each is a commit of its own. Those of several connections share commits, the more the longer a commit takes.
  { name: "SET, 1 connection, 50/s", connections: 1, perSecond: 50, isCommitted: true, command: set },
  { name: "SET, 8 connections, 300/s", connections: 8, perSecond: 300, isCommitted: true, command: set },
  { name: "GET, 8 connections, 1,000/s", connections: 8, perSecond: 1_000, isCommitted: false, command: get },
];

interface Cost {
  readonly nodeUs: number;
  readonly postgresUs: number;
  readonly statements: number;
  readonly p50Ms: number;
}

const tokenOf = (name: string): string => `store-of-${name}-that-nobody-else-knows`;

export async function measureGrowth(options: GrowthOptions): Promise<string> {
  const config = join(options.parent, "growth.json");
  const databases = NAMES.map((name) => ({ name, token: tokenOf(name), readOnlyToken: `reader-${tokenOf(name)}` }));
  writeFileSync(config, JSON.stringify({ store: { databases: [{ name: "main" }, ...databases] } }), { mode: 0o600 });
  const database = await ClusterDatabase.open(options.url);
  const nodes: PeerNode[] = [];
  for (const name of NAMES) nodes.push(await startPeer(options, name, ["--config", config]));
  await placeDatabases(database);
  const rounds = WORK.map((): [one: Cost[], four: Cost[]] => [[], []]);
  for (let round = 0; round < options.rounds; round += 1)
    for (const [i, work] of WORK.entries())
      for (const count of round % 2 === 0 ? ([1, 4] as const) : ([4, 1] as const)) {
        const cost = await costOf(options, { work, nodes: nodes.slice(0, count), database });
        rounds[i]?.[count === 1 ? 0 : 1].push(cost);
      }
  for (const node of nodes) await node.process.stop();
  await database.close();
  const rows = WORK.flatMap((work, i) => rowsOf(work, rounds[i] ?? [[], []]));
  return table(["for each operation", "1 of 4 nodes has load", "4 nodes have load", "1 / 4", "goal"], rows);
}

/** Gives each node the shard of the database with its name, and waits until it owns it. */
async function placeDatabases(database: ClusterDatabase): Promise<void> {
  await database.rows(`UPDATE larder.shard s SET pin = t.name FROM larder.tenant t
    WHERE t.area = 'store' AND t.shard = s.id AND t.name <> 'main'`);
  const text = `SELECT 1 FROM larder.tenant t JOIN larder.shard s ON t.area = 'store' AND t.shard = s.id
    WHERE t.name <> 'main' AND (s.owner_name IS DISTINCT FROM t.name OR s.owner IS NULL OR s.tries > 0)`;
  await until(async () => ((await database.rows(text)).length === 0 ? true : undefined));
}

/** Processor time and appends for each operation on these nodes. */
async function costOf(
  { seconds, postgres }: GrowthOptions,
  { work, nodes, database }: { work: Work; nodes: readonly PeerNode[]; database: ClusterDatabase },
): Promise<Cost> {
  const appends = await database.appends();
  const cpuMs = (): number => nodes.reduce((sum, { process }) => sum + (process.cpuMs() ?? 0), 0);
  const [nodeMs, postgresMs] = [cpuMs(), postgres.cpuMs()];
  const clients = nodes.map((node) => clientOf(node, work));
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  for (const client of clients) client.stop();
  const results = await Promise.all(clients.map(({ done }) => done));
  const [nodeUs, postgresUs] = [(cpuMs() - nodeMs) * 1_000, (postgres.cpuMs() - postgresMs) * 1_000];
  const statements = (await database.appends()) - appends;
  const failed = results.find(({ failed: count }) => count > 0);
  if (failed !== undefined) throw new Error(`a request failed: ${failed.failure}`);
  const requests = results.reduce((sum, each) => sum + each.requests, 0);
  const p50Ms = spreadOf(results.map((each) => each.p50Ms)).median;
  console.error(`${work.name}, ${nodes.length} nodes: ${figure(requests / seconds)}/s, p50 ${figure(p50Ms)} ms`);
  return { nodeUs: nodeUs / requests, postgresUs: postgresUs / requests, statements: statements / requests, p50Ms };
}

function clientOf({ name, ports }: PeerNode, { command, perSecond, connections }: Work): RawClient {
  const headers = [
    ["host", "127.0.0.1"],
    ["authorization", `Bearer ${tokenOf(name)}`],
  ] as const;
  const requests = Array.from({ length: 1_000 }, (_, i) =>
    httpRequest({ method: "POST", path: "/", headers, body: JSON.stringify(command(i)) }),
  );
  return new RawClient({ port: ports.store, connections, requests, perSecondMax: perSecond });
}

function rowsOf(
  { name, isCommitted }: Work,
  [one, four]: readonly [readonly Cost[], readonly Cost[]],
): readonly (readonly string[])[] {
  const row = (what: string, read: (cost: Cost) => number, goal?: number): readonly string[] => {
    const [before, after] = [one.map(read), four.map(read)];
    const ratio = spreadOf(before.map((cost, round) => cost / (after[round] ?? Number.NaN)));
    const isMet = goal === undefined || ratio.median >= goal;
    return [
      `${name}: ${what}`,
      spreadText(spreadOf(before)),
      spreadText(spreadOf(after)),
      `${ratio.median.toFixed(2)} [${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)}]`,
      goal === undefined ? "" : `at least ${goal}${isMet ? "" : ", NOT MET"}`,
    ];
  };
  const ofPostgres = [
    row("µs of PostgreSQL", ({ postgresUs }) => postgresUs),
    row("appends of PostgreSQL", ({ statements }) => statements, GOAL),
    row("µs together", ({ nodeUs, postgresUs }) => nodeUs + postgresUs, GOAL),
  ];
  return [
    row("µs of the nodes", ({ nodeUs }) => nodeUs, GOAL),
    ...(isCommitted ? ofPostgres : []),
    row("p50 in ms", ({ p50Ms }) => p50Ms),
  ];
}
