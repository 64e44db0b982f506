/** The clock of `start()`: jumps over schedules and delays, and a frozen clock. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Larder, type StartOptions, start } from "../../src/mod.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LOOKS_MAX = 1_000;

interface Destination {
  readonly url: string;
  /** Each call as it arrives; the consumer answers it. */
  readonly calls: AsyncIterator<ServerResponse>;
  count: number;
}

/** A server that answers at once or, if `isSlow`, when the test does. */
async function listen(context: TestContext, { isSlow = false, status = 200, onCall = (): void => {} } = {}) {
  const waiting: ServerResponse[] = [];
  let arrival = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    destination.count += 1;
    onCall();
    if (!isSlow) {
      response.writeHead(status).end();
      return;
    }
    waiting.push(response);
    arrival.resolve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  async function* arrivals(): AsyncGenerator<ServerResponse> {
    for (;;) {
      const response = waiting.shift();
      if (response !== undefined) yield response;
      else {
        await arrival.promise;
        arrival = Promise.withResolvers();
      }
    }
  }
  const { port } = server.address() as AddressInfo;
  const destination: Destination = { url: `http://127.0.0.1:${port}/`, calls: arrivals(), count: 0 };
  return destination;
}

async function send(larder: Larder, route: string, headers: Record<string, string> = {}): Promise<unknown> {
  const [method = "", path = ""] = route.split(" ");
  const reply = await fetch(`${larder.messaging.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${larder.messaging.token}`, ...headers },
  });
  assert.ok(reply.status < 300, `${route}: ${reply.status}`);
  return reply.json();
}

async function started(context: TestContext, options: StartOptions, isPersistent: boolean): Promise<Larder> {
  const directory = isPersistent ? mkdtempSync(join(tmpdir(), "larder-time-")) : undefined;
  const larder = await start({ ...options, ...(directory !== undefined && { dataDir: directory }) });
  context.after(async () => {
    await larder.stop();
    if (directory !== undefined) rmSync(directory, { recursive: true });
  });
  return larder;
}

for (const isPersistent of [false, true]) {
  const where = isPersistent ? "in a data directory" : "in memory";

  test(`a jump over a month fires a daily schedule at thirty times, ${where}`, async (context) => {
    const larder = await started(context, { clock: "frozen" }, isPersistent);
    const momentsMs: number[] = [];
    const destination = await listen(context, { onCall: () => momentsMs.push(larder.clock.now()) });
    // To the next hour, so that the month has thirty noons at any start time.
    await larder.clock.advance(HOUR_MS - (larder.clock.now() % HOUR_MS));
    const startMs = larder.clock.now();
    await send(larder, `POST /v2/schedules/${destination.url}`, { "upstash-cron": "0 12 * * *" });
    await larder.clock.advance(30 * DAY_MS);

    const noonMs = Math.floor(startMs / DAY_MS) * DAY_MS + 12 * HOUR_MS;
    const firstMs = noonMs > startMs ? noonMs : noonMs + DAY_MS;
    assert.equal(momentsMs.length, 30);
    for (const [index, ms] of momentsMs.entries()) assert.equal(ms, firstMs + index * DAY_MS);
    assert.equal(larder.clock.now(), startMs + 30 * DAY_MS);
  });

  test(`a jump waits for each call and its retry before time continues, ${where}`, async (context) => {
    const larder = await started(context, { clock: "frozen" }, isPersistent);
    const { url, calls } = await listen(context, { isSlow: true });
    const startMs = larder.clock.now();
    await send(larder, `POST /v2/publish/${url}`, { "upstash-delay": "1h", "upstash-retry-delay": "60000" });
    await send(larder, `POST /v2/publish/${url}`, { "upstash-delay": "3h" });
    const jump = larder.clock.advance(DAY_MS);
    const passedMs: number[] = [];
    for (const status of [500, 200, 200]) {
      const { value: response } = await calls.next();
      passedMs.push(larder.clock.now() - startMs);
      response.writeHead(status).end();
    }
    await jump;

    assert.deepEqual(passedMs, [HOUR_MS, HOUR_MS + 60_000, 3 * HOUR_MS]);
  });
}

test("a frozen clock does not move until advance()", async (context) => {
  const larder = await started(context, { clock: "frozen" }, false);
  const destination = await listen(context);
  const startMs = larder.clock.now();
  await send(larder, `POST /v2/publish/${destination.url}`, { "upstash-delay": "1s" });
  await send(larder, `POST /v2/publish/${destination.url}`);
  await larder.clock.advance(0);
  assert.equal(destination.count, 1);
  assert.equal(larder.clock.now(), startMs);

  await larder.clock.advance(999);
  assert.equal(destination.count, 1);
  await larder.clock.advance(1);
  assert.equal(destination.count, 2);
  assert.equal(larder.clock.now(), startMs + 1_000);
});

test("stops an endless script while the clock is frozen", async (context) => {
  const larder = await started(context, { clock: "frozen", scriptTimeLimit: "20ms" }, false);
  const reply = await fetch(larder.store.url, {
    method: "POST",
    headers: { authorization: `Bearer ${larder.store.token}` },
    body: JSON.stringify(["EVAL", "while true do end", "0"]),
  });
  assert.equal(reply.status, 400);
});

test("ids of dead letters have whole milliseconds after jumps", async (context) => {
  const larder = await started(context, {}, false);
  const { url } = await listen(context, { status: 500 });
  await larder.clock.advance(1_000);
  await send(larder, `POST /v2/publish/${url}`, { "upstash-retries": "1" });
  await larder.clock.advance(DAY_MS);
  const { messages } = (await send(larder, "GET /v2/dlq")) as { messages: { dlqId: string }[] };

  assert.equal(messages.length, 1);
  assert.match(messages[0]?.dlqId ?? "", /^\d+-\d+$/);
});

for (const isPersistent of [false, true]) {
  // C6.retention
  test(`removes logs that a jump makes too old, ${isPersistent ? "in a file" : "in memory"}`, async (context) => {
    const larder = await started(context, { clock: "frozen", logRetention: "2d" }, isPersistent);
    const { url } = await listen(context);
    await send(larder, `POST /v2/publish/${url}`);
    await larder.clock.advance(DAY_MS);
    const logs = async (): Promise<number> => ((await send(larder, "GET /v2/logs")) as { logs: unknown[] }).logs.length;
    assert.ok((await logs()) > 0);

    await larder.clock.advance(2 * DAY_MS);
    // The history in a file has its own thread, which may take a moment.
    let left = await logs();
    for (let look = 0; left > 0 && look < LOOKS_MAX; look += 1) left = await logs();
    assert.equal(left, 0);
  });
}

test("refuses an unknown clock, a frozen clock in production and a jump back", async () => {
  const refused: readonly (readonly [StartOptions, string])[] = [
    [{ clock: "fast" as "frozen" }, 'clock in start(): "fast" is neither "running" nor "frozen"'],
    [
      { command: "serve", clock: "frozen", dataDir: "/nonexistent" },
      "clock in start(): only the time of a development server stands still",
    ],
  ];
  for (const [options, message] of refused) await assert.rejects(start(options), { name: "StartRefusal", message });
  await using larder = await start();
  await assert.rejects(larder.clock.advance(-1), {
    message: "advance(-1): time moves forward by a number of milliseconds",
  });
});
