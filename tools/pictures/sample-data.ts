/**
 * A server with the data of a small shop, for the pictures of the console: what a visitor sees after a day of work. Its
 * workflows and destinations are an application in this process.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client as MessagingClient } from "@upstash/qstash";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client, serve, type WorkflowContext } from "@upstash/workflow";
import { systemClock } from "../../src/kernel/clock.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { type Larder, start } from "../../src/mod.ts";

const HOUR_S = 3_600;
const TRAFFIC_MS = 250;

const random = seededRandom(7);
const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));
/** What a step of a workflow does, as long as it takes. */
const takes = async <Result>(ms: number, result: Result): Promise<Result> => {
  await pause(ms);
  return result;
};
const pick = <Item>(items: readonly [Item, ...Item[]]): Item => items[random.below(items.length)] ?? items[0];

const people = ["ada", "grace", "linus", "margaret", "edsger", "barbara", "donald", "radia"] as const;
const kinds = {
  coffee: ["Ethiopian filter roast", "Espresso beans", "Decaf beans", "Cold brew bottle", "Moka pot", "Paper filters"],
  tea: ["Green sencha", "Earl Grey", "Chamomile flowers", "Iron kettle", "Matcha whisk", "Rooibos"],
  bakery: ["Sourdough starter", "Rye flour", "Proofing basket", "Bread knife", "Baking stone", "Dough scraper"],
} as const;
const kindNames = ["coffee", "tea", "bakery"] as const;
const adjectives = ["small", "large", "organic", "fair trade", "limited", "gift-wrapped"] as const;

interface Product {
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly price: number;
}

const products: readonly Product[] = kindNames.flatMap((kind) =>
  kinds[kind].flatMap((title) =>
    adjectives.map((adjective) => ({
      id: `${kind}-${title}-${adjective}`.toLowerCase().replaceAll(" ", "-"),
      title: `${title}, ${adjective}`,
      kind,
      price: 4 + random.below(60),
    })),
  ),
);

export interface Shop {
  readonly larder: Larder;
  /** Stops the traffic, the application and the server. */
  stop(): Promise<void>;
}

/** Resolves when the data is there; visitors keep coming until it is stopped. */
export async function startShop(): Promise<Shop> {
  const application = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => application.listen(0, "127.0.0.1", resolve));
  const { port } = application.address() as AddressInfo;
  const larder = await start({ outboundMap: `shop.example=127.0.0.1:${port}`, logLevel: "error" });
  const clients = clientsOf(larder);
  await fillStore(clients.redis);
  await fillVector(clients.index);
  const traffic = startTraffic(clients);
  await fillWorkflows(clients);
  await fillMessaging(clients);
  return {
    larder,
    stop: async () => {
      await traffic.stop();
      await larder.stop();
      application.closeAllConnections();
      await new Promise((resolve) => application.close(resolve));
    },
  };
}

interface Clients {
  readonly redis: Redis;
  readonly index: Index;
  readonly messaging: MessagingClient;
  readonly workflows: Client;
}

function clientsOf({ store, vector, messaging }: Larder): Clients {
  const { url: baseUrl, token } = messaging;
  return {
    redis: new Redis({ url: store.url, token: store.token, enableTelemetry: false }),
    index: new Index({ url: vector.url, token: vector.token, enableTelemetry: false }),
    messaging: new MessagingClient({ baseUrl, token, devMode: false }),
    workflows: new Client({ baseUrl, token, devMode: false }),
  };
}

async function fillStore(redis: Redis): Promise<void> {
  const batch = redis.pipeline();
  for (const [index, name] of people.entries()) {
    const cart = { name, visits: 3 + index, city: pick(["London", "Oslo", "Berlin"]), newsletter: index % 2 };
    batch.hset(`user:${name}`, cart);
    batch.set(`session:${name}`, { user: name, signedInAt: "2026-03-01T08:00:00Z" }, { ex: HOUR_S });
    batch.zadd("leaderboard", { score: 100 + random.below(900), member: name });
    batch.sadd("newsletter", name);
    batch.pfadd("visitors:today", name, `${name}-phone`);
    batch.setbit("days:active", 10 * index, 1);
  }
  for (const product of products) batch.json.set(`product:${product.id}`, "$", { ...product });
  for (let order = 1_001; order <= 1_024; order += 1) {
    batch.xadd("orders", "*", { order, user: pick(people), total: 10 + random.below(90) });
    batch.rpush("recently-viewed", pick([products[0], ...products] as [Product, ...Product[]]).id);
  }
  batch.set("feature:checkout", "new");
  batch.set("stock:espresso-beans", 41);
  batch.xgroup("orders", { type: "CREATE", group: "shipping", id: "0" });
  await batch.exec();
  await redis.xreadgroup("shipping", "packer-1", "orders", ">", { count: 5 });
  await redis.exec([
    ...["SEARCH.CREATE", "products", "ON", "JSON", "PREFIX", "1", "product:", "SCHEMA"],
    ...["title", "TEXT", "kind", "KEYWORD", "price", "F64", "FAST"],
  ] as [string, ...string[]]);
}

async function fillVector(index: Index): Promise<void> {
  const records = products.map(({ id, title, kind, price }) => ({ id, data: title, metadata: { kind, price } }));
  await index.upsert(records);
  await index.upsert(records.slice(0, 20), { namespace: "recipes" });
}

const routes = new Map<string, (request: Request) => Promise<Response>>();

function workflow(
  name: string,
  messaging: MessagingClient,
  run: (context: WorkflowContext) => Promise<unknown>,
): string {
  const { handler } = serve(run, { qstashClient: messaging, disableTelemetry: true, env: {} } as never);
  routes.set(`/${name}`, handler);
  return `http://shop.example/${name}`;
}

async function fillWorkflows({ messaging, workflows }: Clients): Promise<void> {
  const checkout = workflow("checkout", messaging, async (context) => {
    const total = await context.run("add up the cart", () => takes(120, 42.5));
    await Promise.all([
      context.run("charge the card", () => takes(480, { charged: total })),
      context.run("reserve the stock", () => takes(260, { reserved: 3 })),
      context.run("write the invoice", () => takes(340, "invoice-1042.pdf")),
    ]);
    await context.sleep("wait for the packer", 1);
    await context.call("tell the warehouse", { url: "http://shop.example/ok", method: "POST", body: '{"order":1042}' });
    return await context.run("thank the customer", () => takes(90, { mail: "sent" }));
  });
  const onboarding = workflow("onboarding", messaging, async (context) => {
    await context.run("send a welcome mail", () => takes(60, "sent"));
    await context.waitForEvent("wait for the first order", "first-order-ada", { timeout: "2d" });
  });
  const refund = workflow("refund", messaging, async (context) => {
    await context.run("pay back", async () => {
      throw new Error("The bank does not answer");
    });
  });
  await workflows.trigger({ url: onboarding, label: "onboarding" });
  await workflows.trigger({ url: refund, retries: 0, label: "refund" });
  await workflows.trigger({ url: checkout, label: "checkout" });
  await pause(5_000);
}

async function fillMessaging({ messaging }: Clients): Promise<void> {
  const url = (path: string): string => `http://shop.example/${path}`;
  await messaging.queue({ queueName: "mails" }).upsert({ parallelism: 2 });
  await messaging.queue({ queueName: "mails" }).enqueueJSON({ url: url("ok"), body: { to: "ada" }, delay: HOUR_S });
  await messaging.queue({ queueName: "invoices" }).upsert({ parallelism: 1 });
  const schedules = { nightly: "0 3 * * *", "hourly-report": "0 * * * *", "weekly-stock-check": "30 6 * * 1" };
  for (const [scheduleId, cron] of Object.entries(schedules))
    await messaging.schedules.create({ scheduleId, destination: url("ok"), cron, body: `{"job":"${scheduleId}"}` });
  const endpoints = ["mail", "search", "statistics"].map((name) => ({ name, url: url(`ok?for=${name}`) }));
  await messaging.urlGroups.addEndpoints({ name: "order-placed", endpoints });
  await messaging.publishJSON({ url: url("down"), body: { order: 1_007 }, retries: 0, label: "stock" });
  await messaging.publishJSON({ url: url("ok"), body: { reminder: "cart" }, delay: HOUR_S, label: "reminder" });
  for (const order of [1_040, 1_041])
    await messaging.publishJSON({
      url: url("ok"),
      body: { order },
      delay: HOUR_S,
      flowControl: { key: "bank", rate: 10, parallelism: 2 },
    });
  await messaging.publishJSON({ urlGroup: "order-placed", body: { order: 1_042, total: 42.5 } });
  await messaging.publishJSON({ url: url("flaky"), body: { order: 1_042 }, retryDelay: "200", label: "shipping" });
  await pause(1_500);
}

interface Traffic {
  stop(): Promise<void>;
}

/** Requests of some visitors, so that the charts have lines. */
function startTraffic({ redis, index }: Clients): Traffic {
  let isRunning = true;
  const visit = async (): Promise<void> => {
    while (isRunning) {
      const name = pick(people);
      const count = 4 + random.below(12);
      const gets = Array.from({ length: count }, () => redis.hgetall(`user:${name}`));
      const query = index.query({ data: `a ${pick(adjectives)} ${pick(kindNames)}`, topK: 3 });
      await Promise.all([...gets, redis.incr("visits"), query]);
      await pause(TRAFFIC_MS);
    }
  };
  const visits = visit();
  return {
    stop: () => {
      isRunning = false;
      return visits;
    },
  };
}

let flakyCalls = 0;

/** `/flaky` fails twice, `/down` always; workflows answer for themselves, and everything else succeeds. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString("utf8");
  const path = (request.url ?? "").split("?")[0] ?? "";
  const handler = routes.get(path);
  if (handler !== undefined) {
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const reply = await handler(new Request(`http://shop.example${path}`, { method: "POST", headers, body }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    response.end(await reply.text());
    return;
  }
  flakyCalls += path === "/flaky" ? 1 : 0;
  const fails = path === "/down" || (path === "/flaky" && flakyCalls <= 2);
  response.writeHead(fails ? 503 : 200, { "content-type": "application/json" });
  response.end(fails ? '{"error":"closed for maintenance"}' : '{"ok":true}');
}
