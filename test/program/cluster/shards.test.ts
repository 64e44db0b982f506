/** Several shards of each area: they are added to a cluster, and every tenant stays on its own. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freePort } from "../../harness/free-port.ts";
import { RawPeer } from "../../harness/raw-peer.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { secrets, TestCluster } from "./cluster-program.ts";
import { ask, configOf, contents, nodesOf, sql, storeToken, untilServed, write, written } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0", "--owner-header", "on"];
const OLD = ["one", "two"];
const NEW = ["red", "tan"];
const ALL = [...OLD, ...NEW];

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function add(...operands: readonly string[]): Promise<readonly [code: number, text: string]> {
  const { code, stdout, stderr } = await cluster.here(["cluster", "add-shards", ...operands]);
  return [code, stdout + stderr];
}

function admin({ adminUrl }: RunningProgram, target: string, method = "GET"): Promise<Response> {
  const headers = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
  return fetch(`${adminUrl}/v1/clients${target}`, { method, headers });
}

interface ListedClients {
  /** Their databases. */
  readonly clients: readonly string[];
  readonly cursor: string | undefined;
  readonly node: string | undefined;
}

async function clientsOf(node: RunningProgram, query = ""): Promise<ListedClients> {
  const answer = (await (await admin(node, query)).json()) as {
    readonly clients: readonly { readonly database: string }[];
    readonly cursor?: string;
    readonly node?: string;
  };
  return { clients: answer.clients.map(({ database }) => database), cursor: answer.cursor, node: answer.node };
}

test("shards are added while a node runs, and new tenants get them", { skip }, async () => {
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  await sql(cluster, "UPDATE larder.shard SET are_tenants_known = false");
  const [refused, reason] = await add("store", "1");
  assert.equal(refused, 1);
  assert.match(reason, /The tenants of shard 1 are not known yet: start a node of this version/);
  assert.deepEqual(await add("shop", "1"), [
    2,
    'larder: "shop" is not an area: name one of store, messaging, vector\n',
  ]);
  assert.deepEqual(await add("store", "x"), [2, 'larder: the number of shards must be a number from 1 to 64: "x"\n']);

  const a = await cluster.startNode("a", [...ADDRESS, ...configOf(cluster, OLD)]);
  await untilServed(a, [1, 2, 3]);
  await write(a, OLD, "first");
  const first = await add("store", "1");
  assert.deepEqual(first, [0, `shard 4: store\n${first[1].split("\n")[1]}\n`]);
  for (const area of ["messaging", "vector"]) assert.equal((await add(area, "1"))[0], 0);

  const respPort = await freePort();
  const respArguments = ["--resp-port", String(respPort)];
  const b = await cluster.startNode("b", [...ADDRESS, ...configOf(cluster, ALL), ...respArguments, ...oneThread]);
  await untilServed(b, [4, 5, 6]);
  const tenants = await sql<{ shard: number; names: string }>(
    cluster,
    "SELECT shard, string_agg(name, ' ' ORDER BY name) AS names FROM larder.tenant GROUP BY shard ORDER BY shard",
  );
  assert.deepEqual(tenants, [
    ...[1, 2, 3].map((shard) => ({ shard, names: "main one two" })),
    ...[4, 5, 6].map((shard) => ({ shard, names: "red tan" })),
  ]);
  await write(b, ALL, "second");
  const { seen, owners } = await contents(b, ALL);
  assert.deepEqual(seen, { ...written(OLD, ["first", "second"]), ...written(NEW, ["second"]) });
  assert.deepEqual(await nodesOf(cluster, owners), ["a", "b"]);
  assert.equal((await ask(`${b.storeUrl}/get/k`, "a-token-of-nobody")).status, 401);
  assert.equal((await fetch(`${b.storeUrl}/get/k`)).status, 401);
  const metrics = await (await fetch(`${b.adminUrl}/metrics`)).text();
  assert.match(metrics, /^larder_cluster_shard_state\{area="store",shard="1",state="standby"\} 1$/m);
  assert.match(metrics, /^larder_cluster_shard_state\{area="store",shard="4",state="serving"\} 1$/m);
  assert.match(metrics, /^larder_store_keys\{area="store",shard="4",[^}]*\} 1$/m);

  // Node a serves the database `one`, and has no RESP port.
  using client = await RawPeer.open(respPort);
  assert.equal(await client.ask(`AUTH ${storeToken("one")}\r\nLINDEX list 0\r\n`, 20), "+OK\r\n$9\r\none first\r\n");
  using local = await RawPeer.open(respPort);
  assert.equal(await local.ask(`AUTH ${storeToken("red")}\r\nLINDEX list 0\r\n`, 22), "+OK\r\n$10\r\nred second\r\n");

  // Each node lists the clients of the databases that it serves, whichever port they came to.
  assert.deepEqual(await clientsOf(a), { clients: ["one"], cursor: undefined, node: "a" });
  assert.deepEqual(await clientsOf(b), { clients: ["red"], cursor: undefined, node: "b" });

  await a.kill();
  assert.equal(await client.hearAll(), "");
  await untilServed(b, [1, 2, 3]);
  const after = await contents(b, ALL);
  assert.deepEqual(after.seen, seen);
  assert.deepEqual(await nodesOf(cluster, after.owners), ["b"]);
  using other = await RawPeer.open(respPort);
  assert.equal(await other.ask(`AUTH ${storeToken("one")}\r\n`, 5), "+OK\r\n");
  // A page of one client of two shards.
  const { clients, cursor } = await clientsOf(b, "?count=1");
  assert.deepEqual(clients, ["red"]);
  const { clients: rest } = await clientsOf(b, `?cursor=${cursor}`);
  assert.deepEqual(rest, ["one"]);
  assert.equal((await admin(b, `/${cursor}`, "DELETE")).status, 200);
  assert.equal(await local.hearAll(), "");
  assert.deepEqual((await clientsOf(b)).clients, ["one"]);

  // Each engine has the tenants of its shard, and no others.
  const taken = await (await fetch(`${b.adminUrl}/metrics`)).text();
  const tenantsOf = (shard: number): readonly string[] =>
    [...taken.matchAll(/^larder_tenant_memory_bytes\{area="\w+",shard="(\d)",tenant="(\w+)"\}/gm)]
      .filter(([, number]) => Number(number) === shard)
      .map(([, , name = ""]) => name)
      // It may have no bytes, and then no series.
      .filter((name) => name !== "main")
      .toSorted();
  for (const shard of [1, 2, 3]) assert.deepEqual(tenantsOf(shard), OLD);
  for (const shard of [4, 5, 6]) assert.deepEqual(tenantsOf(shard), NEW);
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
});
