/**
 * How far one database, or one user of messaging, can grow with more fronts: the
 * processor time of its owner for a request of a client, and for one that a front
 * passes on, a node that serves nothing.
 *
 * Read `share`: the owner's time through fronts to that of requests that come directly. An owner
 * whose thread is full does 1 / share times as much through fronts, if there
 * are enough of them. The times are processor times without what the node uses at rest, so the
 * processes may share cores; a rate says nothing here. Requests of a turn share a write, and those that wait for
 * PostgreSQL a commit. Commits follow each other, so their number in a second has a limit, and the more requests
 * share one, the less of it each one pays: read SET beside the requests for each commit, and with many connections.
 * `publish` is a message with a delay, which nothing delivers meanwhile.
 */
import { httpRequest } from "../harness/http-load.ts";
import { RawClient } from "../harness/raw-client.ts";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { figure, spreadText, table } from "../harness/table.ts";
import { ClusterDatabase, type PeerNode, type PeerOptions, startPeer, until } from "./cluster-peers.ts";

const CONNECTIONS = 64;
const MANY_CONNECTIONS = 512;
const FRONTS = 2;
const COMMANDS_OF_A_PIPELINE = 100;
const VALUE = "v".repeat(100);
const SHARE_GOAL = 0.4;

export interface FrontsOptions extends PeerOptions {
  /** Of the store and of messaging. */
  readonly tokens: { readonly store: string; readonly messaging: string };
  /** A part of the names of what is measured; absent: all. */
  readonly subject?: string;
}

interface Subject {
  readonly name: string;
  readonly area: "store" | "messaging";
  readonly request: Buffer;
  readonly connections: number;
  /** Of single commands. */
  readonly goal?: number;
}

interface Cost {
  readonly ownerUs: number;
  /** Of all fronts together. */
  readonly frontUs: number;
  readonly requests: number;
  readonly commits: number;
}

/** Requests go to the owner, to one front, or to all fronts in equal parts. */
type Way = "directly" | "one front" | "all fronts";
const WAYS: readonly Way[] = ["directly", "one front", "all fronts"];

export async function measureFronts(options: FrontsOptions): Promise<string> {
  const flags = ["--destinations", "any"];
  const owner = await startPeer(options, "owner", flags);
  const subjects = subjectsOf(options.tokens).filter(({ name }) => name.includes(options.subject ?? ""));
  await until(() => answers(owner, subjects));
  const fronts: PeerNode[] = [];
  for (let i = 1; i <= FRONTS; i += 1) fronts.push(await startPeer(options, `front${i}`, [...flags, "--front", "on"]));
  for (const front of fronts) await until(() => answers(front, subjects));
  const database = await ClusterDatabase.open(options.url);
  const costs = subjects.map((): Record<Way, Cost[]> => ({ directly: [], "one front": [], "all fronts": [] }));
  for (let round = 0; round < options.rounds; round += 1)
    for (const [i, subject] of subjects.entries()) {
      const nodes = { owner, fronts, database };
      const rest = await costOf(options, nodes, () => []);
      for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
        const cost = await costOf(options, nodes, () => clientsOf(subject, way, nodes), rest);
        console.error(`${subject.name}, ${way}: ${figure(cost.ownerUs)} µs of the owner`);
        costs[i]?.[way].push(cost);
      }
    }
  await database.close();
  for (const { process } of [...fronts, owner]) await process.stop();
  return table(
    ["for each request", "µs of the owner", "share (goal)", "µs of the fronts", "requests for each commit"],
    subjects.flatMap((subject, i) => WAYS.map((way) => rowOf(subject, way, costs[i] as Record<Way, Cost[]>))),
  );
}

function subjectsOf(tokens: FrontsOptions["tokens"]): readonly Subject[] {
  const headersOf = (token: string) =>
    [
      ["host", "127.0.0.1"],
      ["authorization", `Bearer ${token}`],
    ] as const;
  const store = (path: string, body: unknown): Buffer =>
    httpRequest({ method: "POST", path, headers: headersOf(tokens.store), body: JSON.stringify(body) });
  const pipeline = Array.from({ length: COMMANDS_OF_A_PIPELINE }, () => ["GET", "key"]);
  const publish = httpRequest({
    ...{ method: "POST", path: "/v2/publish/http://127.0.0.1:9/late", body: VALUE },
    headers: [...headersOf(tokens.messaging), ["upstash-delay", "7d"]],
  });
  const single = (words: readonly string[], connections: number): Subject => ({
    ...{ name: `${words[0]}, ${connections} connections`, area: "store", request: store("/", words), connections },
    goal: SHARE_GOAL,
  });
  const batch = { area: "store", request: store("/pipeline", pipeline), connections: CONNECTIONS } as const;
  return [
    ...[CONNECTIONS, MANY_CONNECTIONS].flatMap((connections) => [
      single(["SET", "key", VALUE], connections),
      single(["GET", "key"], connections),
    ]),
    { name: `pipeline of ${COMMANDS_OF_A_PIPELINE} GETs`, ...batch },
    { name: "publish", area: "messaging", request: publish, connections: CONNECTIONS },
  ];
}

async function answers(node: PeerNode, subjects: readonly Subject[]): Promise<true | undefined> {
  const results = subjects.map(
    ({ area, request }) =>
      new RawClient({ port: node.ports[area], connections: 1, requests: [request], isOnce: true }).done,
  );
  return (await Promise.all(results)).every(({ failed }) => failed === 0) ? true : undefined;
}

interface Nodes {
  readonly owner: PeerNode;
  readonly fronts: readonly PeerNode[];
  readonly database: ClusterDatabase;
}

function clientsOf(
  { area, request, connections: all }: Subject,
  way: Way,
  { owner, fronts }: Nodes,
): readonly RawClient[] {
  const asked = way === "directly" ? [owner] : fronts.slice(0, way === "one front" ? 1 : undefined);
  const connections = all / asked.length;
  return asked.map(({ ports }) => new RawClient({ port: ports[area], connections, requests: [request] }));
}

/** For each request, without `rest`; at rest, without clients, for a run of this length. */
async function costOf(
  { seconds }: FrontsOptions,
  { owner, fronts, database }: Nodes,
  start: () => readonly RawClient[],
  rest: Cost = { ownerUs: 0, frontUs: 0, requests: 0, commits: 0 },
): Promise<Cost> {
  const commits = await database.appends();
  const cpuUs = (nodes: readonly PeerNode[]): number =>
    nodes.reduce((sum, { process }) => sum + (process.cpuMs() ?? Number.NaN) * 1_000, 0);
  const before = [cpuUs([owner]), cpuUs(fronts)] as const;
  const clients = start();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  for (const client of clients) client.stop();
  const results = await Promise.all(clients.map(({ done }) => done));
  const [ownerUs, frontUs] = [cpuUs([owner]) - before[0], cpuUs(fronts) - before[1]];
  const failed = results.find(({ failed: count }) => count > 0);
  if (failed !== undefined) throw new Error(`a request failed: ${failed.failure}`);
  const requests = clients.length === 0 ? 1 : results.reduce((sum, each) => sum + each.requests, 0);
  return {
    ownerUs: (ownerUs - rest.ownerUs) / requests,
    frontUs: (frontUs - rest.frontUs) / requests,
    requests,
    commits: (await database.appends()) - commits,
  };
}

function rowOf({ name, goal }: Subject, way: Way, costs: Record<Way, Cost[]>): readonly string[] {
  const spread = (read: (cost: Cost) => number): string => spreadText(spreadOf(costs[way].map(read)));
  const share = spreadOf(costs[way].map(({ ownerUs }, i) => ownerUs / (costs.directly[i]?.ownerUs ?? Number.NaN)));
  const isMet = goal === undefined || share.median <= goal;
  const wanted = goal === undefined ? "" : ` (at most ${goal}${isMet ? "" : ", NOT MET"})`;
  return [
    `${name}, ${way}`,
    spread(({ ownerUs }) => ownerUs),
    way === "directly" ? "" : `${ratioText(share)}${wanted}`,
    way === "directly" ? "" : spread(({ frontUs }) => frontUs),
    costs[way].every(({ commits }) => commits > 0) ? spread(({ requests, commits }) => requests / commits) : "",
  ];
}

function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} [${min.toFixed(2)} to ${max.toFixed(2)}]`;
}
