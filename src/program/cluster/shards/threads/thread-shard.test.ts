/** A shard that another thread hosts: its requests go to that thread, or to its owner. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { reply } from "../../../../../test/harness/listener-bench.ts";
import { type AreaOwner, Front } from "../../../../edge/forward/front.ts";
import type { HttpReply, HttpRequest } from "../../../../edge/handler.ts";
import { VirtualClock } from "../../../../kernel/clock.virtual.ts";
import type { AreaPlan } from "../../../areas/area.ts";
import type { AreaHttp } from "../../../services/service.ts";
import type { ThreadOutcome } from "./thread-client.ts";
import { ThreadShard } from "./thread-shard.ts";

const B: AreaOwner = { kind: "node", at: { node: "b", host: "b", port: 1 } };
const REQUEST: HttpRequest = {
  ...{ method: "GET", target: "/get/k", rawHeaders: [], id: "r-1", body: Buffer.alloc(0) },
  ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
};
const http = {
  handle: () => reply(""),
  bodyBytesMax: () => 1_000,
  refusal: ({ kind, text }: { kind: string; text: string }): HttpReply => ({
    ...reply(text),
    status: kind === "misdirected" ? 421 : kind === "bad gateway" ? 502 : 503,
  }),
} as unknown as AreaHttp;

interface Made {
  readonly shard: ThreadShard;
  /** The outcome of the next requests at the thread. */
  readonly thread: { send: () => Promise<ThreadOutcome> };
}

/** With forwarding, node `b` answers what is sent to it. */
function make({ forwards }: { readonly forwards: boolean }): Made {
  const thread = { send: async (): Promise<ThreadOutcome> => ({ kind: "answered", reply: reply("of the thread") }) };
  const sender = {
    send: async () => ({ kind: "answered", reply: reply("of node b") }) as const,
    probe: async () => true,
    openTunnel: async () => undefined,
    follow: () => {},
    close: async () => {},
  };
  const front = forwards
    ? new Front({ area: "store", service: http, sender, clock: new VirtualClock(), waitMs: 0 })
    : undefined;
  const plan = { area: "store", tenants: [] } as unknown as AreaPlan;
  const client = { send: () => thread.send() };
  return { shard: new ThreadShard({ number: 4, plan, thread: 1, client, front, http }), thread };
}

async function ask({ http: service }: Pick<ThreadShard, "http">): Promise<readonly [number, unknown]> {
  const answer = await service.handle(REQUEST);
  return [answer.status, "body" in answer ? answer.body : undefined];
}

test("requests go to the thread while it serves the shard, and to the owner before and after", async () => {
  const { shard } = make({ forwards: true });
  shard.follow(B);
  assert.deepEqual(await ask(shard), [200, "of node b"]);
  assert.equal(shard.serving, undefined);
  shard.became("opening");
  assert.deepEqual(await ask(shard), [200, "of node b"]);
  shard.became("serving");
  assert.deepEqual(await ask(shard), [200, "of the thread"]);
  shard.became("draining");
  assert.deepEqual(await ask(shard), [200, "of node b"]);
});

test("a request that comes too late at the thread goes on to the next owner", async () => {
  const { shard, thread } = make({ forwards: true });
  shard.follow(B);
  shard.became("serving");
  thread.send = async () => {
    shard.became("draining");
    return { kind: "not executed" };
  };
  assert.deepEqual(await ask(shard), [200, "of node b"]);
});

test("a request that another node has forwarded is not forwarded again", async () => {
  const { shard, thread } = make({ forwards: true });
  shard.follow(B);
  shard.became("serving");
  const { serving } = shard;
  assert.ok(serving !== undefined);
  assert.deepEqual(await ask({ http: serving as ThreadShard["http"] }), [200, "of the thread"]);
  thread.send = async () => {
    shard.became("draining");
    return { kind: "not executed" };
  };
  const [status] = await ask({ http: serving as ThreadShard["http"] });
  assert.equal(status, 421);
});

test("a lost answer is 502, because the request may have been carried out", async () => {
  const { shard, thread } = make({ forwards: true });
  shard.became("serving");
  thread.send = async () => ({ kind: "lost" });
  const [status, text] = await ask(shard);
  assert.equal(status, 502);
  assert.match(String(text), /may have been carried out/);
});

test("a node that does not forward answers 421 while it waits, and 503 while the thread recovers the shard", async () => {
  const { shard } = make({ forwards: false });
  const statuses: number[] = [(await ask(shard))[0]];
  for (const state of ["opening", "serving", "draining", "standby"] as const) {
    shard.became(state);
    statuses.push((await ask(shard))[0]);
  }
  assert.deepEqual(statuses, [421, 503, 200, 421, 421]);
});
