/** With a real server in this process, on loopback. The clock records pauses instead of waiting. */
import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { Clock } from "../../kernel/clock.ts";
import type { VectorFailure } from "../../vector/mod.ts";
import { HttpEmbedder, type HttpProvider } from "./http.ts";

const TIMEOUT_MS = 30_000;
const KEY = "sk-canary";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: { model: string; input: string[]; dimensions?: number };
  readonly response: ServerResponse;
}

/** A pause between attempts ends at once and advances the time; only `expire` runs the timeouts of attempts. */
class RecordingClock implements Clock {
  readonly pausesMs: number[] = [];
  readonly real: Clock = this;
  readonly #limits = new Set<() => void>();
  #elapsedMs = 0;

  nowMs(): number {
    return Date.UTC(2026, 0, 1) + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  threadCpuMs(): number {
    return this.monotonicMs();
  }

  at(): () => void {
    throw new Error("at is not used here");
  }

  housekeep(): () => void {
    throw new Error("housekeep is not used here");
  }

  after(delayMs: number, task: () => void): () => void {
    if (delayMs === TIMEOUT_MS) {
      this.#limits.add(task);
      return () => this.#limits.delete(task);
    }
    this.pausesMs.push(Math.round(delayMs));
    this.#elapsedMs += delayMs;
    queueMicrotask(task);
    return () => {};
  }

  expire(): void {
    for (const limit of [...this.#limits]) limit();
  }
}

interface Setup {
  readonly embedder: HttpEmbedder;
  readonly clock: RecordingClock;
  readonly received: Received[];
}

/** Calls `answer` with each request and its number, from 1. */
async function setUp(
  context: TestContext,
  answer: (request: Received, number: number, clock: RecordingClock) => void,
  change: Partial<HttpProvider> = {},
): Promise<Setup> {
  const received: Received[] = [];
  const clock = new RecordingClock();
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Received["body"];
    const request = { headers: incoming.headers, body, response };
    received.push(request);
    answer(request, received.length, clock);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const embedder = new HttpEmbedder({
    model: "BGE_M3",
    provider: {
      url: `http://embedding.test:${(server.address() as AddressInfo).port}/v1/embeddings?api-version=1`,
      modelName: "BAAI/bge-m3",
      key: KEY,
      timeoutMs: TIMEOUT_MS,
      textsPerRequestMax: 64,
      queryPrefix: "",
      documentPrefix: "",
      ...change,
    },
    dimension: 2,
    resolver: { resolve: async () => [{ address: "127.0.0.1", family: 4 }] },
    clock,
    random: { unit: () => 1, below: () => 0 },
  });
  context.after(async () => {
    await embedder.close();
    server.closeAllConnections();
    server.close();
  });
  return { embedder, clock, received };
}

/** The vector of a text `n` is [n, -n]. In reverse order, which is allowed. */
function answerWell({ body, response }: Received): void {
  const data = body.input.map((text, index) => ({ index, embedding: [Number(text), -Number(text)] }));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ object: "list", data: data.reverse() }));
}

function answerStatus(status: number, headers: Record<string, string> = {}): (request: Received) => void {
  return ({ response }) => response.writeHead(status, headers).end(`{"error":"wrong key ${KEY}"}`);
}

async function failureOf(call: Promise<unknown>): Promise<string> {
  const failure = await call.then(
    () => assert.fail("it was not refused"),
    (thrown: VectorFailure) => thrown,
  );
  assert.doesNotMatch(JSON.stringify(failure), /canary/);
  return `${failure.kind}: ${failure.text}`;
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));

test("sends texts in batches and returns their vectors in order", async (context) => {
  const { embedder, received } = await setUp(context, answerWell, { textsPerRequestMax: 3 });

  const vectors = await embedder.embed(numbers(8), "document");

  assert.deepEqual(
    vectors.map((vector) => [...vector]),
    numbers(8).map((text) => [Number(text), -Number(text)]),
  );
  assert.deepEqual(received.map(({ body }) => body.input.length).sort(), [2, 3, 3]);
  const [first] = received;
  assert.equal(first?.body.model, "BAAI/bge-m3");
  assert.equal(first?.body.dimensions, undefined);
  assert.equal(first?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(first?.headers["content-type"], "application/json");
});

test("sends long texts in separate requests", async (context) => {
  const { embedder, received } = await setUp(context, answerWell);
  const long = "1".padStart(700_000);

  await embedder.embed([long, long, "3", "4"], "document");

  assert.deepEqual(received.map(({ body }) => body.input.length).sort(), [1, 3]);
});

test("sends prefixes and the number of dimensions", async (context) => {
  const change = { dimensions: 2, queryPrefix: "1", documentPrefix: "2" };
  const { embedder, received } = await setUp(context, answerWell, change);

  assert.deepEqual(await embedder.embed(["7"], "query"), [new Float32Array([17, -17])]);
  assert.deepEqual(await embedder.embed(["7"], "document"), [new Float32Array([27, -27])]);
  assert.equal(received[0]?.body.dimensions, 2);
});

test("sends no request without texts", async (context) => {
  const { embedder, received } = await setUp(context, answerWell);
  assert.deepEqual(await embedder.embed([], "document"), []);
  assert.equal(received.length, 0);
});

test("sends at most four requests at the same time", async (context) => {
  const held: Received[] = [];
  const full = Promise.withResolvers<void>();
  const { embedder, received } = await setUp(
    context,
    (request) => {
      held.push(request);
      if (held.length === 4) full.resolve();
      if (held.length > 4) answerWell(request);
    },
    { textsPerRequestMax: 1 },
  );

  const call = embedder.embed(numbers(9), "document");
  await full.promise;
  assert.equal(received.length, 4);
  for (const request of held.slice(0, 4)) answerWell(request);

  assert.equal((await call).length, 9);
});

test("retries transient failures with growing pauses", async (context) => {
  const statuses = [500, 429, 503, 408];
  const { embedder, clock, received } = await setUp(context, (request, number) => {
    const status = statuses[number - 1];
    if (status === undefined) answerWell(request);
    else answerStatus(status)(request);
  });

  assert.deepEqual(await embedder.embed(["5"], "query"), [new Float32Array([5, -5])]);
  assert.deepEqual(clock.pausesMs, [250, 500, 1_000, 2_000]);
  assert.equal(received.length, 5);
});

test("fails after five attempts", async (context) => {
  const { embedder, received } = await setUp(context, answerStatus(503));
  assert.equal(
    await failureOf(embedder.embed(["5"], "query")),
    "bad gateway: The embedding endpoint of the model BGE_M3 answered 503",
  );
  assert.equal(received.length, 5);
});

test("waits for Retry-After, in seconds and as a date", async (context) => {
  const { embedder, clock } = await setUp(context, (request, number) => {
    if (number === 1) answerStatus(429, { "retry-after": "7" })(request);
    else if (number === 2) answerStatus(429, { "retry-after": "Thu, 01 Jan 2026 00:00:20 GMT" })(request);
    else answerWell(request);
  });

  await embedder.embed(["5"], "query");

  assert.deepEqual(clock.pausesMs, [7_000, 13_000]);
});

test("fails at once if Retry-After is too long", async (context) => {
  const { embedder, clock, received } = await setUp(context, answerStatus(429, { "retry-after": "61" }));
  assert.match(await failureOf(embedder.embed(["5"], "query")), /BGE_M3 answered 429$/);
  assert.deepEqual(clock.pausesMs, []);
  assert.equal(received.length, 1);
});

test("retries after a broken connection", async (context) => {
  const { embedder, clock } = await setUp(context, (request, number) => {
    if (number === 1) request.response.socket?.destroy();
    else answerWell(request);
  });
  assert.deepEqual(await embedder.embed(["5"], "query"), [new Float32Array([5, -5])]);
  assert.deepEqual(clock.pausesMs, [250]);
});

test("names the system's code of an unreachable endpoint", async (context) => {
  const { embedder } = await setUp(context, answerWell, { url: "http://127.0.0.1:1/" });
  assert.equal(
    await failureOf(embedder.embed(["5"], "query")),
    "bad gateway: The embedding endpoint of the model BGE_M3 cannot be reached (ECONNREFUSED)",
  );
});

test("ends a slow attempt at its timeout, before its headers and in its body", async (context) => {
  const { embedder, received } = await setUp(context, ({ response }, number, clock) => {
    if (number === 2) response.write('{"data":[');
    // Lets the client read the written bytes before its timeout.
    setImmediate(() => clock.expire());
  });
  assert.equal(
    await failureOf(embedder.embed(["5"], "query")),
    "bad gateway: The embedding endpoint of the model BGE_M3 did not answer within 30 s",
  );
  assert.equal(received.length, 5);
});

test("stops reading an answer that is too long", async (context) => {
  const { embedder, received } = await setUp(context, ({ response }) => {
    response.on("error", () => {});
    response.end(Buffer.alloc(1_000_000, " "));
  });
  assert.equal(
    await failureOf(embedder.embed(["5"], "query")),
    "bad gateway: The embedding endpoint of the model BGE_M3 answered more than 66624 bytes",
  );
  assert.equal(received.length, 1);
});

const lasting: readonly (readonly [name: string, answer: (request: Received) => void, text: string])[] = [
  ["a refused key", answerStatus(401), "answered 401"],
  ["a wrong request", answerStatus(422), "answered 422"],
  ["a redirect", answerStatus(302, { location: "/x" }), "answered 302, and redirects are not followed"],
  [
    "another dimension",
    ({ response }) => response.end('{"data":[{"embedding":[1,2,3]}]}'),
    "answered a vector of 3 dimensions instead of 2",
  ],
  ["a page", ({ response }) => response.end("<html>"), "answered something that is not JSON"],
];

for (const [name, answer, text] of lasting) {
  test(`${name} is a failure at once`, async (context) => {
    const { embedder, received } = await setUp(context, answer);
    assert.equal(
      await failureOf(embedder.embed(["5"], "query")),
      `bad gateway: The embedding endpoint of the model BGE_M3 ${text}`,
    );
    assert.equal(received.length, 1);
  });
}

test("a failed batch ends only the other batches of its call", async (context) => {
  const arrived = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { embedder, received } = await setUp(
    context,
    (request) => {
      if (request.body.input[0] === "1") {
        void arrived.promise.then(() => answerStatus(400)(request));
      } else if (request.body.input[0] === "2") {
        request.response.on("close", held.resolve);
        arrived.resolve();
      } else {
        answerWell(request);
      }
    },
    { textsPerRequestMax: 1 },
  );

  const other = embedder.embed(["9"], "query");
  assert.match(await failureOf(embedder.embed(["2", "1"], "document")), /answered 400$/);

  await held.promise;
  assert.deepEqual(await other, [new Float32Array([9, -9])]);
  assert.equal(received.length, 3);
});

test("close ends running calls and refuses new ones", async (context) => {
  const arrived = Promise.withResolvers<void>();
  const { embedder } = await setUp(context, () => arrived.resolve(), { textsPerRequestMax: 1 });
  const call = failureOf(embedder.embed(numbers(6), "document"));
  await arrived.promise;

  await embedder.close();

  assert.equal(await call, "unavailable: The embedding model is closing; try again");
  assert.equal(
    await failureOf(embedder.embed(["1"], "query")),
    "unavailable: The embedding model is closing; try again",
  );
});
