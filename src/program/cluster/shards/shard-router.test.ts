/** Which shard a request goes to: by its token, by the user in its path, and by asking each node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TokenOwner, TokenTable, tokenOwnerOf } from "../../../edge/auth.ts";
import type { AreaOwner } from "../../../edge/forward/front.ts";
import type { HttpReply, HttpRequest, HttpService, RequestHead } from "../../../edge/handler.ts";
import type { AreaHttp, StoreShard } from "../../services/service.ts";
import { type RoutedShard, ShardRouter } from "./shard-router.ts";

const key = Buffer.alloc(32, 1);
const TENANTS: Readonly<Record<number, readonly string[]>> = { 1: ["red"], 4: ["tan"], 7: ["sky"] };
const at = (node: string): AreaOwner => ({ kind: "node", at: { node, host: node, port: 1 } });

interface ShardFacts {
  readonly number: number;
  readonly isServed?: boolean;
  readonly owner?: AreaOwner;
  /** The other thread of this node that hosts it. */
  readonly thread?: number;
  /** A token that a user of one of its databases has made. */
  readonly userToken?: string;
  /** Whether its area has such tokens. */
  readonly isStore?: boolean;
  /** The status of its answers. */
  readonly status?: number;
}

class FakeShard implements RoutedShard {
  readonly number: number;
  readonly plan: RoutedShard["plan"];
  readonly http: HttpService;
  readonly serving: HttpService | undefined;
  readonly owner: AreaOwner;
  readonly thread?: number;
  readonly parts: RoutedShard["parts"];

  constructor(facts: ShardFacts, asked: number[]) {
    const { number, isServed = false, owner = { kind: "nobody" }, userToken, isStore = true, status = 200 } = facts;
    this.number = number;
    this.owner = owner;
    if (facts.thread !== undefined) this.thread = facts.thread;
    const names = TENANTS[number] ?? [];
    this.plan = {
      tenants: names.map((name) => ({ name, tokens: [{ token: tokenOf(name), access: "standard" }] })),
    };
    this.http = {
      bodyBytesMax: () => number,
      handle: (): HttpReply => {
        asked.push(number);
        return { status, headers: [], body: String(number) };
      },
    };
    this.serving = isServed ? this.http : undefined;
    const tokens = new TokenTable(key);
    if (userToken !== undefined) tokens.add(userToken, { tenant: names[0] ?? "", access: "standard" });
    const resp = { tokens } as unknown as StoreShard;
    const area: AreaHttp = {
      ...this.http,
      tokenOwner({ target }: RequestHead, table: TokenTable): TokenOwner {
        const token = /^\/token\/(.+)$/.exec(target)?.[1];
        return token === undefined ? { kind: "none" } : tokenOwnerOf(table.find(token));
      },
      userIdIn: (target) => /^\/hook\/(.+)$/.exec(target)?.[1],
    };
    this.parts = { service: { http: area, ...(isStore && { resp }) } };
  }
}

/** Users of messaging with the same `UserID` have tokens that name it. */
function tokenOf(name: string): string {
  return Buffer.from(JSON.stringify({ UserID: name === "sky" ? "tan" : name, Password: name })).toString("base64url");
}

function requestTo(target: string): HttpRequest {
  return {
    method: "GET",
    target,
    rawHeaders: [],
    header: () => undefined,
    remoteAddress: "",
    remotePort: 1,
    id: "",
    body: Buffer.alloc(0),
  };
}

/** The shards that were asked, in order, and the status of the answer. */
async function route(
  facts: readonly ShardFacts[],
  target: string,
  { isForwarded = false } = {},
): Promise<readonly [asked: readonly number[], status: number | undefined]> {
  const asked: number[] = [];
  const router = new ShardRouter(facts.map((each) => new FakeShard(each, asked)));
  const request = requestTo(target);
  const service = isForwarded ? router.servingFor(request) : router;
  return [asked, (await service?.handle(request))?.status];
}

const SPREAD: readonly ShardFacts[] = [
  { number: 1, owner: at("b") },
  { number: 4, isServed: true, userToken: "of-a-user" },
  { number: 7, owner: at("b") },
];

test("a token of the configuration leads to the shard of its tenant, wherever that is served", async () => {
  assert.deepEqual(await route(SPREAD, `/token/${tokenOf("red")}`), [[1], 200]);
  assert.deepEqual(await route(SPREAD, `/token/${tokenOf("tan")}`), [[4], 200]);
  assert.deepEqual(await route(SPREAD, `/token/${tokenOf("sky")}`), [[7], 200]);
});

test("a tenant that is made, changed and removed at run time is found by its tokens of the moment", async () => {
  const asked: number[] = [];
  const shards = SPREAD.map((each) => new FakeShard(each, asked));
  const [first] = shards as [FakeShard];
  const router = new ShardRouter(shards);
  const ask = async (token: string): Promise<readonly number[]> => {
    asked.length = 0;
    await router.handle(requestTo(`/token/${token}`));
    return [...asked];
  };
  const put = (token: string): void =>
    router.setTenant(first, { name: "new", tokens: [{ token, access: "standard" }] });
  put("one");
  assert.deepEqual(await ask("one"), [1]);
  put("two");
  assert.deepEqual(await ask("two"), [1]);
  // Unknown tokens are taken to the other node, at another shard.
  assert.deepEqual(await ask("one"), [7]);
  router.removeTenant("new");
  assert.deepEqual(await ask("two"), [7]);
  assert.equal(router.tokens.find("two"), undefined);
  assert.equal(router.findShard("new"), undefined);
});

test("a request that waits for a shard belongs elsewhere when its tenant has moved", () => {
  const shards = SPREAD.map((each) => new FakeShard(each, []));
  const [, , last] = shards as [FakeShard, FakeShard, FakeShard];
  const router = new ShardRouter(shards);
  const request = requestTo(`/token/${tokenOf("red")}`);
  assert.equal(router.elsewhere(1, request), undefined);
  router.setTenant(last, { name: "red", tokens: [{ token: tokenOf("red"), access: "standard" }] });
  assert.equal(router.elsewhere(1, request), last.http);
  // Of a token that this node does not know it cannot say that.
  assert.equal(router.elsewhere(1, requestTo("/token/unknown")), undefined);
  assert.equal(router.elsewhere(1, requestTo("/none")), undefined);
});

test("a token of a user leads to the engine that knows it", async () => {
  assert.deepEqual(await route(SPREAD, "/token/of-a-user"), [[4], 200]);
});

test("an unknown token is taken to each other node once, until one does not answer 401", async () => {
  const refusing = [
    { number: 1, owner: at("b"), status: 401 },
    { number: 4, owner: at("c") },
    { number: 7, isServed: true, status: 401 },
  ];
  assert.deepEqual(await route(refusing, "/token/unknown"), [[1, 4], 200]);
  const others = [...refusing.slice(0, 1), { number: 4, owner: at("b"), status: 401 }, ...refusing.slice(2)];
  assert.deepEqual(await route(others, "/token/unknown"), [[4], 401]);
  const all = [1, 4, 7].map((number) => ({ number, isServed: true, status: 401 }));
  assert.deepEqual(await route(all, "/token/unknown"), [[1], 401]);
});

test("an unknown token is taken to each other thread once, also one that another node has forwarded", async () => {
  const threads: readonly ShardFacts[] = [
    { number: 1, isServed: true, status: 401 },
    { number: 4, isServed: true, thread: 1, status: 401 },
    { number: 7, isServed: true, thread: 1, status: 401 },
    { number: 10, isServed: true, thread: 2 },
    { number: 13, isServed: true, thread: 2 },
    { number: 16, owner: at("b") },
  ];
  for (const isForwarded of [false, true])
    assert.deepEqual(await route(threads, "/token/unknown", { isForwarded }), [[4, 10], 200]);
  const refusing = threads.map((facts) => ({ ...facts, status: 401 }));
  assert.deepEqual(await route(refusing, "/token/unknown"), [[4, 10, 16], 401]);
  assert.deepEqual(await route(refusing, "/token/unknown", { isForwarded: true }), [[4, 10], 401]);
});

test("a token of the configuration leads to its shard in another thread", async () => {
  const threads = [
    { number: 1, isServed: true },
    { number: 4, isServed: true, thread: 1 },
  ];
  assert.deepEqual(await route(threads, `/token/${tokenOf("tan")}`), [[4], 200]);
  assert.deepEqual(await route(threads, `/token/${tokenOf("tan")}`, { isForwarded: true }), [[4], 200]);
});

test("a request without a token is refused by a shard that is served, rather in this thread", async () => {
  const elsewhere: ShardFacts = { number: 4, isServed: true, thread: 1 };
  assert.deepEqual(await route([{ number: 1, owner: at("b") }, elsewhere], "/"), [[4], 200]);
  assert.deepEqual(await route([elsewhere, { number: 7, isServed: true }], "/"), [[7], 200]);
});

test("an unknown token stays here in an area whose users make no tokens, and so does a request without one", async () => {
  const area = SPREAD.map((facts) => ({ ...facts, isStore: false, status: 401 }));
  assert.deepEqual(await route(area, "/token/unknown"), [[4], 401]);
  assert.deepEqual(await route(SPREAD, "/"), [[4], 200]);
});

test("a path that names a user is tried on each shard with such a user, until one does not answer 404", async () => {
  const shards = [{ number: 1 }, { number: 4, isServed: true, status: 404 }, { number: 7, owner: at("b") }];
  assert.deepEqual(await route(shards, "/hook/red"), [[1], 200]);
  assert.deepEqual(await route(shards, "/hook/tan"), [[4, 7], 200]);
  assert.deepEqual(await route(shards, "/hook/nobody"), [[4], 404]);
});

test("a forwarded request is answered by engines of this node only", async () => {
  const options = { isForwarded: true };
  assert.deepEqual(await route(SPREAD, `/token/${tokenOf("tan")}`, options), [[4], 200]);
  assert.deepEqual(await route(SPREAD, `/token/${tokenOf("red")}`, options), [[], undefined]);
  assert.deepEqual(await route(SPREAD, "/token/unknown", options), [[4], 200]);
  assert.deepEqual(await route(SPREAD, "/hook/tan", options), [[4], 200]);
  const both = [{ number: 1 }, { number: 4, isServed: true, status: 404 }, { number: 7, isServed: true }];
  assert.deepEqual(await route(both, "/hook/tan", options), [[4, 7], 200]);
});
