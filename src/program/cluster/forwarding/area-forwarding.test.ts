/** The two sides of forwarding in one node, over real sockets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnerAddress, SendOutcome } from "../../../edge/forward/front.ts";
import { PoolSender } from "../../../edge/forward/pool-sender.ts";
import type { HttpReply, HttpRequest } from "../../../edge/handler.ts";
import type { NamedKey } from "../../../edge/http/shared-key.ts";
import { ByteBudget } from "../../../edge/limits/byte-budget.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { createLog } from "../../../kernel/log.ts";
import { Metrics } from "../../../kernel/metrics.ts";
import { measureListeners } from "../../listeners/listener.ts";
import { AreaForwarding } from "./area-forwarding.ts";

const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(3) };
const NEXT: NamedKey = { name: "larder-1", secret: new Uint8Array(32).fill(4) };
const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });

const request: HttpRequest = {
  ...{ method: "POST", target: "/incr/k", rawHeaders: ["Host", "a"], body: Buffer.from("1"), id: "1" },
  ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
};

interface Started {
  readonly node: AreaForwarding;
  readonly at: OwnerAddress;
}

async function start(name: string, context: { after(task: () => unknown): void }): Promise<Started> {
  const plan = {
    keys: { offered: KEY, accepted: [KEY] },
    ...{ host: "127.0.0.1", port: 0, place: "--cluster-address", waitMs: 0 },
    transport: "larder",
  } as const;
  const service = { bodyBytesMax: () => 100 };
  const node = new AreaForwarding({ area: "store", shard: 1, plan, limits: { headerBytesMax: 10_000 }, service, log });
  const environment = { clock: systemClock, log, budget: new ByteBudget(1_000_000) };
  const port = await node.bind({ ...environment, figures: measureListeners(new Metrics()) });
  context.after(() => node.close(0));
  return { node, at: { node: name, host: "127.0.0.1", port } };
}

function serve({ node }: Started, text: string): void {
  node.serve({ handle: () => ({ status: 200, headers: [], body: text }), bodyBytesMax: () => 100 });
}

async function forwardTo(
  at: OwnerAddress,
  context: { after(task: () => unknown): void },
  key = KEY,
): Promise<SendOutcome> {
  const sender = new PoolSender({ key, clock: systemClock });
  context.after(() => sender.close(0));
  return sender.send(at, request);
}

test("a request of a client goes to the node that serves the area", async (context) => {
  const [a, b] = await Promise.all([start("a", context), start("b", context)]);
  serve(a, "from a");
  b.node.frontOf().follow({ kind: "node", at: a.at });
  const reply = (await b.node.frontOf().handle(request)) as HttpReply;
  assert.deepEqual([reply.status, String(reply.body)], [200, "from a"]);
});

test("a forwarded request is not forwarded again, although the node knows who serves the area", async (context) => {
  const [a, b] = await Promise.all([start("a", context), start("b", context)]);
  serve(a, "from a");
  b.node.frontOf().follow({ kind: "node", at: a.at });
  assert.deepEqual(await forwardTo(b.at, context), { kind: "not executed" });
});

test("two nodes that take each other for the owner refuse a request", async (context) => {
  const [a, b] = await Promise.all([start("a", context), start("b", context)]);
  a.node.frontOf().follow({ kind: "node", at: b.at });
  b.node.frontOf().follow({ kind: "node", at: a.at });
  const reply = (await a.node.frontOf().handle(request)) as HttpReply;
  assert.equal(reply.status, 503);
});

test("a node that withdraws refuses requests before it closes its port", async (context) => {
  const a = await start("a", context);
  serve(a, "from a");
  assert.equal((await forwardTo(a.at, context)).kind, "answered");
  await a.node.withdraw(1_000);
  assert.equal((await forwardTo(a.at, context)).kind, "not executed");
  await a.node.close(1_000);
  assert.equal((await forwardTo(a.at, context)).kind, "not executed");
});

test("a node forwards with the key that it offers, and accepts the others that it was given", async (context) => {
  const [a, b] = await Promise.all([start("a", context), start("b", context)]);
  serve(a, "from a");
  b.node.frontOf().follow({ kind: "node", at: a.at });
  a.node.replaceKeys({ offered: KEY, accepted: [NEXT, KEY] });
  assert.equal(((await b.node.frontOf().handle(request)) as HttpReply).status, 200);
  assert.equal((await forwardTo(a.at, context, NEXT)).kind, "answered");
  b.node.replaceKeys({ offered: NEXT, accepted: [NEXT, KEY] });
  a.node.replaceKeys({ offered: NEXT, accepted: [NEXT] });
  assert.equal(((await b.node.frontOf().handle(request)) as HttpReply).status, 200);
  assert.equal((await forwardTo(a.at, context, KEY)).kind, "not executed");
});
