/**
 * A node that is cut off from PostgreSQL while clients reach it, and a token that is revoked through another node: when
 * that answers, the node that is cut off serves the token no more.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CuttingProxy } from "../harness/cutting-proxy.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { oneThread, type RunningProgram } from "../program/program-process.ts";

const skip = missingProgram("postgres");
const KEY = { LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=" };
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
/** A read that waits for the lease is not answered. */
const ANSWER_MS_MAX = 1_000;

let cluster: TestCluster;
let proxy: CuttingProxy;

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  proxy = await CuttingProxy.start(Number(new URL(cluster.url.replace("postgres:", "http:")).port));
});

after(async () => {
  if (skip !== false) return;
  await cluster.stop();
  proxy.close();
});

interface Changed {
  readonly token: string;
  readonly reachedAllNodes: boolean;
  readonly missingNodes?: readonly string[];
}

async function change({ adminUrl }: RunningProgram, path: string, body?: object): Promise<Changed> {
  const answer = await fetch(`${adminUrl}/v1/databases${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Changed;
}

/** The status of a read; undefined: it was not answered. */
async function read({ storeUrl }: RunningProgram, token: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const answer = await fetch(`${storeUrl}/get/key`, { headers, signal }).catch(() => undefined);
  return answer?.status;
}

for (const [how, reads] of [
  ["its connections end", "lease"],
  ["nothing passes", "lease"],
  ["nothing passes", "confirm"],
] as const)
  test(`a revoked token is not served by a node that is cut off when the change is answered (${how}, --reads ${reads})`, {
    skip,
  }, async () => {
    const name = `${how.split(" ").at(-1)}-${reads}`;
    const LARDER_CLUSTER_URL = cluster.url.replace(/:\d+\//, `:${proxy.port}/`);
    const args = [...ADDRESS, ...oneThread, "--reads", reads];
    const cut = await cluster.startNode(`cut-${name}`, args, { ...KEY, LARDER_CLUSTER_URL });
    await new NodeClient(cut).untilServing();
    const other = await cluster.startNode(`other-${name}`, args, KEY);
    const before = await change(other, "", { name });
    assert.equal(await read(cut, before.token), 200);

    if (how === "nothing passes") proxy.silence();
    else proxy.cutNow();
    let isAnswered = false;
    const late: (number | undefined)[] = [];
    const reading = (async () => {
      // Some that began before the answer end after it.
      for (let left = 5; left > 0; left -= isAnswered ? 1 : 0) {
        const status = await read(cut, before.token);
        if (isAnswered) late.push(status);
      }
    })();
    const changed = await change(other, `/${name}/reset-password`);
    isAnswered = true;
    // A node that is silent for a lease is declared dead, which is before the bound of the answer.
    assert.deepEqual([changed.reachedAllNodes, changed.missingNodes], [true, undefined]);
    await reading;
    assert.ok(
      late.every((status) => status !== 200),
      `answered with ${late.join(", ")}`,
    );

    await new NodeClient(other).untilServing();
    assert.equal(await read(other, before.token), 401);
    assert.equal(await read(other, changed.token), 200);
    // When it reaches PostgreSQL again, it finds that it was declared dead.
    proxy.restore();
    assert.deepEqual(await cut.ended, { code: 3, signal: null });
    assert.deepEqual(await other.stop(), { code: 0, signal: null });
  });
