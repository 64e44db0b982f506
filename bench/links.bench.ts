/**
 * Question: what does a request between two nodes cost, over a link
 * (src/edge/forward/link/), over HTTP/1.1 by undici, and over HTTP/2 by
 * `node:http2`?
 *
 * Method: both nodes in one thread, over a real connection with the key of a cluster.
 * The owner answers at once with a short text. Heads are those of the official
 * client; for a link, each of the clients has one head that repeats. So many
 * clients ask at a time, each the next request after its answer. The ways take
 * turns in rounds; medians [min to max] of the processor time of the process.
 *
 * Read: µs for each request, of both nodes together, without the clients' own connections.
 *
 * Run: npm run bench -- links [--rounds 9] [--requests 20000]
 */
import type { ClientHttp2Session } from "node:http2";
import { parseArgs } from "node:util";
import type { Sender, SendOutcome } from "../src/edge/forward/front.ts";
import { innerService } from "../src/edge/forward/inner-service.ts";
import { LinkSender } from "../src/edge/forward/link/sender.ts";
import { withLinks } from "../src/edge/forward/link/transport.ts";
import { PoolSender } from "../src/edge/forward/pool-sender.ts";
import type { HttpRequest } from "../src/edge/handler.ts";
import { type Listener, listen } from "../src/edge/http/listener.ts";
import { connectWithKey, type NamedKey, SharedKeys } from "../src/edge/http/shared-key.ts";
import { ByteBudget } from "../src/edge/limits/byte-budget.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { createLog } from "../src/kernel/log.ts";
import { spreadOf } from "./harness/statistics.ts";
import { spreadText, table } from "./harness/table.ts";

const { values: options } = parseArgs({
  options: { rounds: { type: "string", default: "9" }, requests: { type: "string", default: "20000" } },
});
const rounds = Number(options.rounds);
const requestsOfRound = Number(options.requests);

const CLIENTS = [1, 32, 256];
const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };
const BODY = Buffer.from('["GET","key"]');
const headers: readonly string[] = [
  ...["Host", "127.0.0.1:8079", "Content-Type", "application/json", "Upstash-Encoding", "base64"],
  ...["Authorization", "Bearer AXl0AAIjcDE2ZjA1NGI1ZTQ3ZjA0ZjQ4YmEwY2Q5YjM3ZTc5ZTk5ZHAxMA"],
  ...["upstash-sync-token", "m3fz9q:1234567", "accept", "*/*", "user-agent", "node"],
];

const log = createLog({ level: "error", format: "json", clock: systemClock, sink: console.error });

function startOwner(http2: boolean): Promise<Listener> {
  const area = {
    handle: () => ({
      status: 200,
      headers: ["Content-Type", "application/json"],
      body: `{"result":"${"v".repeat(100)}"}`,
    }),
    bodyBytesMax: () => 1_000,
  };
  return listen({
    area: innerService({ area: "store", service: area, serving: () => area }),
    ...{ host: "127.0.0.1", port: 0, clock: systemClock, log, budget: new ByteBudget(100_000_000), idPrefix: "b" },
    ...{ tls: new SharedKeys([KEY]), http2 },
    ...(!http2 && { besideHttp1: withLinks(log) }),
  });
}

function requestOf(client: number): HttpRequest {
  return {
    ...{ method: "POST", target: "/", rawHeaders: headers, body: BODY, id: "1", memo: { learnt: undefined } },
    ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: client },
  };
}

/** A way to send a request of this client and read its answer. */
type Way = (client: number) => Promise<unknown>;

function wayOf(sender: Sender, { host, port }: Listener): Way {
  const at = { node: "b", host, port };
  const requests = Array.from({ length: Math.max(...CLIENTS) }, (_, client) => requestOf(client));
  return (client) => sender.send(at, requests[client] as HttpRequest).then(checked);
}

function checked(outcome: SendOutcome): void {
  if (outcome.kind !== "answered" || outcome.reply.status !== 200) throw new Error(`A request was ${outcome.kind}`);
}

function wayOfHttp2(session: ClientHttp2Session): Way {
  const fields: Record<string, string> = { ":method": "POST", ":path": "/", ":authority": "127.0.0.1:8079" };
  for (let i = 2; i < headers.length; i += 2) fields[(headers[i] as string).toLowerCase()] = headers[i + 1] as string;
  return (client) =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ...fields, "larder-forwarded": `2;${client};192.0.2.7` });
      const pieces: Buffer[] = [];
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.once("error", reject);
      stream.once("end", () => resolve(Buffer.concat(pieces)));
      stream.end(BODY);
    });
}

async function measure(way: Way, clients: number): Promise<number> {
  let left = requestsOfRound;
  const before = process.cpuUsage();
  const client = async (number: number): Promise<void> => {
    for (; left > 0; left -= 1) await way(number);
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requestsOfRound;
}

const [owner, http2Owner] = [await startOwner(false), await startOwner(true)];
const [links, pool] = [LinkSender, PoolSender].map((Kind) => new Kind({ key: KEY, clock: systemClock }));
const session = process.getBuiltinModule("node:http2").connect("https://127.0.0.1", {
  createConnection: () => connectWithKey({ host: "127.0.0.1", port: http2Owner.port }, KEY, ["h2"]),
});
const ways: readonly (readonly [string, Way])[] = [
  ["a link", wayOf(links as Sender, owner)],
  ["HTTP/1.1 by undici", wayOf(pool as Sender, owner)],
  ["HTTP/2 by node:http2", wayOfHttp2(session)],
];
const figures = ways.map(() => CLIENTS.map((): number[] => []));
for (let round = -1; round < rounds; round += 1)
  for (const [i, [, way]] of ways.entries())
    for (const [j, clients] of CLIENTS.entries()) {
      // A connection of HTTP/2 has a hundred streams at most.
      const us = await measure(way, i === 2 ? Math.min(clients, 100) : clients);
      // The first round warms up.
      if (round >= 0) figures[i]?.[j]?.push(us);
    }
const rows = ways.map(([name], i) => [name, ...(figures[i] ?? []).map((list) => spreadText(spreadOf(list)))]);
console.log(table(["µs for each request", ...CLIENTS.map((clients) => `${clients} clients`)], rows));
session.destroy();
await Promise.all([links?.close(0), pool?.close(0), owner.close(0), http2Owner.close(0)]);
