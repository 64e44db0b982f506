/** The listener alone, over real sockets, with an area for each test. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { AssertionFailure } from "../../kernel/assert.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { pauseThread } from "../../store/commands/redis-compat.ts";
import { unauthorized } from "../errors.ts";
import type { Handler, HttpReply, HttpService, Observation, StreamSink } from "../handler.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import type { ListenerLimits } from "../limits/listener.ts";
import { failureReply } from "../respond.ts";
import type { IncomingRequest, RequestEnd, Tracer } from "../tracing.ts";
import { type Listener, listen } from "./listener.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

const BODY_BYTES_MAX = 1_000;

interface Bench {
  listener: Listener;
  budget: ByteBudget;
  observations: Observation[];
  logLines: string[];
  /** Opens a connection. */
  open(): Peer;
}

interface Options {
  area?: Partial<HttpService>;
  limits?: Partial<ListenerLimits>;
  budgetBytes?: number;
  tracer?: Tracer;
  clock?: Clock;
  proxies?: TrustedProxies;
}

async function start(context: TestContext, handle: Handler, options: Options = {}): Promise<Bench> {
  const budget = new ByteBudget(options.budgetBytes ?? 1_000_000);
  const observations: Observation[] = [];
  const logLines: string[] = [];
  const listener = await listen({
    area: { handle, bodyBytesMax: () => BODY_BYTES_MAX, ...options.area },
    host: "127.0.0.1",
    port: 0,
    clock: options.clock ?? systemClock,
    proxies: options.proxies,
    log: createLog({ level: "debug", format: "json", clock: systemClock, sink: (line) => logLines.push(line) }),
    budget,
    idPrefix: "t",
    observe: (observation) => observations.push(observation),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    tracer: options.tracer,
  });
  context.after(() => listener.close(0));
  return { listener, budget, observations, logLines, open: () => new Peer(listener.port) };
}

/** A client that sends exactly the given bytes. */
class Peer {
  readonly socket: Socket;
  received = "";
  readonly closed: Promise<void>;
  #wake = (): void => {};

  constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port });
    this.socket.setEncoding("latin1");
    this.socket.on("data", (chunk) => {
      this.received += chunk;
      this.#wake();
    });
    // A reset also closes.
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
  }

  send(bytes: string): this {
    this.socket.write(bytes, "latin1");
    return this;
  }

  /** Resolves with all received bytes once they match. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      assert.ok(!this.socket.closed, `closed before ${pattern}: ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.socket.once("close", () => resolve());
      });
    }
    return this.received;
  }

  async untilClosed(): Promise<string> {
    await this.closed;
    return this.received;
  }
}

function reply(body: string): HttpReply {
  return { status: 200, headers: ["Content-Type", "text/plain"], body, route: "test" };
}

/** Resolves when the listener has this number of open requests. */
async function untilOpen(listener: Listener, count: number): Promise<void> {
  while (listener.openRequestCount !== count) await new Promise((resolve) => setImmediate(resolve));
}

const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const post = (path: string, body: string, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;

/** A promise and its resolver. */
function gate<T>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

test("a reply has its length, no Server header, and leaves the connection open", async (context) => {
  const bench = await start(context, ({ target, body }) => reply(`${target} ${body}`));
  const peer = bench.open();

  const first = await peer.send(post("/a", "body")).until(/body$/);
  assert.match(first, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(first, /\r\nContent-Length: 7\r\n/);
  assert.match(first, /\r\nContent-Type: text\/plain\r\n/);
  assert.match(first, /\r\nConnection: keep-alive\r\n/);
  assert.doesNotMatch(first, /server:|x-powered-by:/i);
  await peer.send(get("/b")).until(/\/b $/);
  peer.socket.destroy();
});

test("text is sent as UTF-8 and bytes as they are", async (context) => {
  const bench = await start(context, ({ target }) =>
    target === "/text" ? reply("é") : { ...reply("\xe9"), bodyIsBytes: true },
  );

  assert.match(
    await bench.open().send(get("/text", "Connection: close\r\n")).untilClosed(),
    /Length: 2\r\n[\s\S]*\r\n\xc3\xa9$/,
  );
  assert.match(
    await bench.open().send(get("/bytes", "Connection: close\r\n")).untilClosed(),
    /Length: 1\r\n[\s\S]*\r\n\xe9$/,
  );
});

test("HEAD runs the handler and gets status and headers without a body", async (context) => {
  const methods: string[] = [];
  const bench = await start(context, ({ method }) => {
    methods.push(method);
    return reply("four");
  });

  const answer = await bench.open().send("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").untilClosed();

  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: 4\r\n[\s\S]*\r\n\r\n$/);
  assert.deepEqual(methods, ["HEAD"]);
});

test("replies to pipelined requests leave in the order of the requests", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await start(context, ({ target }) => (target === "/slow" ? slow.promise : reply(target)));
  const peer = bench.open().send(get("/slow") + get("/fast"));

  peer.send(get("/third"));
  slow.open(reply("/slow"));

  const answer = await peer.until(/\/third$/);
  assert.deepEqual(
    [...answer.matchAll(/\r\n\r\n(\/[a-z]+)/g)].map((match) => match[1]),
    ["/slow", "/fast", "/third"],
  );
  peer.socket.destroy();
});

test("handles a request after those before it, even while their bodies are being read", async (context) => {
  const handled: string[] = [];
  const bench = await start(context, ({ target }) => {
    handled.push(target);
    return reply(target);
  });
  const peer = bench.open().send(post("/a", "body") + get("/b") + get("/c") + post("/d", "body") + get("/e"));

  await peer.until(/\/e$/);

  assert.deepEqual(handled, ["/a", "/b", "/c", "/d", "/e"]);
  peer.socket.destroy();
});

test("handles no request after a refused one", async (context) => {
  const handled: string[] = [];
  const bench = await start(context, ({ target }) => {
    handled.push(target);
    return reply(target);
  });
  const noHost = "GET /refused HTTP/1.1\r\n\r\n";

  for (const first of [get("/a"), post("/a", "body")]) {
    const answer = await bench
      .open()
      .send(first + noHost + get("/b") + post("/c", "body"))
      .untilClosed();
    assert.deepEqual(
      [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
      ["200", "400"],
    );
  }
  assert.deepEqual(handled, ["/a", "/a"]);
});

test("H.body: a body in many chunks arrives whole, its headers joined by name", async (context) => {
  const bench = await start(context, (request) =>
    reply(`${request.body} ${request.header("x-a")} ${request.header("x-none")}`),
  );
  const peer = bench.open();
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const chunk of ["3\r\nabc\r\n", "2\r\nde\r\n", "0\r\n\r\n"]) peer.send(chunk);

  await peer.until(/\r\n\r\nabcde 1, 2 undefined$/);
  peer.socket.destroy();
});

test("A-13: refuses a body by its announced length, before it is sent", async (context) => {
  const bench = await start(context, () => reply("never"));
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");

  const answer = await peer.until(/\}$/);

  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.match(answer, /\r\nConnection: close\r\n/);
  assert.match(answer, /\r\n\r\n\{"error":"ERR max request size exceeded\. Limit: 1000 bytes, Actual: 1001 bytes"\}$/);
  peer.socket.destroy();
});

test("A-13: refuses a body of unknown length once it is too large", async (context) => {
  const bench = await start(context, () => reply("never"));
  const chunk = `190\r\n${"x".repeat(400)}\r\n`;
  const peer = bench.open().send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`);

  assert.match(await peer.until(/\}$/), /Limit: 1000 bytes, Actual: 1200 bytes"\}$/);
  peer.send("0\r\n\r\n");
  await peer.closed;
  assert.equal(bench.budget.usedBytes, 0);
});

test("A-13: a client that has sent the whole refused body can read the refusal", async (context) => {
  const bench = await start(context, () => reply("never"));
  const peer = bench.open().send(post("/", "x".repeat(500_000)));

  assert.match(await peer.untilClosed(), /^HTTP\/1\.1 400 [\s\S]*Actual: 500000 bytes"\}$/);
});

test("A-13: destroys a socket that continues to send a refused body", async (context) => {
  const bench = await start(context, () => reply("never"), { limits: { refusedBytesMax: 100_000 } });
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
  const flood = (): void => {
    while (!peer.socket.destroyed && peer.socket.write("x".repeat(65_536)));
    if (!peer.socket.destroyed) peer.socket.once("drain", flood);
  };
  flood();

  await peer.closed;
  assert.match(peer.received, /^(?:|HTTP\/1\.1 400 [\s\S]*)$/);
});

test("A-13: bodies of all connections share a budget, and release it", async (context) => {
  const bench = await start(context, ({ body }) => reply(`${body.length}`), { budgetBytes: 1_600 });
  const half = bench.open().send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\n${"x".repeat(700)}`);
  while (bench.budget.usedBytes !== 700) await new Promise((resolve) => setImmediate(resolve));

  const refused = await bench
    .open()
    .send(post("/", "x".repeat(300)))
    .untilClosed();
  assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1\r\n[\s\S]*\{"error":"ERR server is busy; try again"\}$/);

  await half.send("x".repeat(100)).until(/\r\n\r\n800$/);
  assert.equal(bench.budget.usedBytes, 0);
  half.socket.destroy();
});

test("a client that disconnects in the middle of its body releases its bytes", async (context) => {
  let calls = 0;
  const bench = await start(context, () => {
    calls += 1;
    return reply("");
  });
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\nxxx");
  while (bench.budget.usedBytes !== 3) await new Promise((resolve) => setImmediate(resolve));

  peer.socket.destroy();

  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
  assert.equal(calls, 0);
});

test("reads a large body only if the area accepts its head", async (context) => {
  const refusal = failureReply(unauthorized);
  const bench = await start(context, () => reply("in"), {
    area: { bodyBytesMax: () => 1_000_000, refuseEarly: (head) => (head.header("x-in") ? undefined : refusal) },
  });

  const large = "x".repeat(70_000);
  assert.match(await bench.open().send(post("/", large)).untilClosed(), /^HTTP\/1\.1 401 /);
  const peer = bench.open().send(post("/", large, "X-In: 1\r\n"));
  await peer.until(/\r\n\r\nin$/);
  await peer.send(post("/", "small")).until(/in[\s\S]*in$/);
  peer.socket.destroy();
});

test("Expect: asks for a body before reading it, and never for a refused body", async (context) => {
  const bench = await start(context, ({ body }) => reply(body.toString()));
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  await peer.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  await peer.send("body").until(/\r\n\r\nbody$/);
  peer.socket.destroy();

  const refused = bench
    .open()
    .send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  assert.match(await refused.untilClosed(), /^HTTP\/1\.1 400 /);

  const other = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 4\r\n\r\n");
  assert.match(await other.untilClosed(), /^HTTP\/1\.1 417 [\s\S]*\{"error":"ERR [^"]+"\}$/);
});

// H.body
test("S-03: a compressed body is refused with 415", async (context) => {
  const bench = await start(context, () => reply("never"));
  const peer = bench.open().send(post("/", "abc", "Content-Encoding: gzip\r\n"));

  assert.match(
    await peer.untilClosed(),
    /^HTTP\/1\.1 415 [\s\S]*\{"error":"ERR content encoding is not supported: 'gzip'\./,
  );
});

// A.limits.headers, H.statuses
test("A-18: a header block beyond the limit is 431 in JSON", async (context) => {
  const bench = await start(context, () => reply("never"), { limits: { headerBytesMax: 16_384 } });
  const peer = bench.open().send(get(`/${"x".repeat(20_000)}`));

  const answer = await peer.until(/\}$/);

  assert.match(answer, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\nContent-Type: application\/json\r\n/);
  assert.match(answer, /\{"error":"ERR max header size exceeded\. Limit: 16384 bytes"\}$/);
  peer.socket.destroy();
});

test("invalid HTTP is 400 in JSON, and CONNECT is 405", async (context) => {
  const bench = await start(context, () => reply("never"));

  for (const bytes of [
    "\x16\x03\x01 hello\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "* /\r\n\r\n",
  ]) {
    const peer = bench.open().send(bytes);
    assert.match(await peer.until(/\}$/), /^HTTP\/1\.1 400 [\s\S]*\{"error":"ERR malformed HTTP request"\}$/, bytes);
    peer.socket.destroy();
  }
  const tunnel = bench.open().send("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n");
  assert.match(await tunnel.until(/\}$/), /^HTTP\/1\.1 405 /);
  tunnel.socket.destroy();
});

test("a malformed request after an unanswered one ends the connection and is not answered", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await start(context, () => slow.promise);
  const peer = bench.open().send(get("/slow")).send("\x00garbage\r\n\r\n");

  assert.equal(await peer.untilClosed(), "");
  slow.open(reply("late"));
});

test("a connection may not have more unanswered requests than the limit", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await start(context, () => slow.promise, { limits: { requestsPerConnectionMax: 2 } });
  const peer = bench.open().send(get("/1") + get("/2") + get("/3"));
  while (bench.observations.length === 0) await new Promise((resolve) => setImmediate(resolve));

  slow.open(reply("ok"));

  const answer = await peer.untilClosed();
  assert.deepEqual(
    [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
    ["200", "200", "503"],
  );
});

// H.errors, H.statuses
test("S-10: a fault is a 500 with the id of its log line, and without details", async (context) => {
  const bench = await start(context, async ({ target }) => {
    if (target === "/late") await Promise.resolve();
    throw new Error("secret /etc/passwd");
  });
  for (const target of ["/late", "/now"]) {
    const answer = await bench.open().send(get(target, "Connection: close\r\n")).untilClosed();

    assert.match(answer, /^HTTP\/1\.1 500 /);
    const id = /See request (t-\w+) in the log"\}$/.exec(answer)?.[1] ?? "none";
    assert.doesNotMatch(answer, /secret|passwd|node:|\.ts/);
    assert.ok(bench.logLines.some((line) => line.includes(`"requestId":"${id}"`) && line.includes("secret")));
  }
});

test("the area chooses the form of a fault", async (context) => {
  const bench = await start(
    context,
    () => {
      throw new Error("secret");
    },
    { area: { refusal: ({ kind }, target) => reply(`${kind} at ${target}`) } },
  );

  const answer = await bench.open().send(get("/here", "Connection: close\r\n")).untilClosed();

  assert.match(answer, /\r\n\r\ninternal at \/here$/);
});

test("a failed assertion is answered and then stops the process", async (context) => {
  const bench = await start(context, () => {
    throw new AssertionFailure("something holds");
  });
  const thrown = gate<unknown>();
  process.setUncaughtExceptionCaptureCallback(thrown.open);
  context.after(() => process.setUncaughtExceptionCaptureCallback(null));

  assert.match(await bench.open().send(get("/", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 500 /);
  assert.ok((await thrown.promise) instanceof AssertionFailure);
});

test("close lets requests finish, closes their connections and accepts no new ones", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await start(context, () => slow.promise);
  const idle = bench.open();
  const busy = bench.open().send(get("/slow"));
  await untilOpen(bench.listener, 1);

  const closed = bench.listener.close(60_000);
  slow.open(reply("done"));

  assert.match(await busy.untilClosed(), /\r\nConnection: close\r\n[\s\S]*\r\n\r\ndone$/);
  await Promise.all([closed, idle.closed]);
  const late = bench.open();
  assert.equal(await late.untilClosed(), "");
});

test("close ends requests that do not finish within its grace period", async (context) => {
  const bench = await start(context, () => new Promise<HttpReply>(() => {}));
  const peer = bench.open().send(get("/never"));
  await untilOpen(bench.listener, 1);

  await bench.listener.close(10);

  assert.equal(await peer.untilClosed(), "");
});

test("a stream sends its chunks and is closed once when its peer disconnects", async (context) => {
  const opened = gate<StreamSink>();
  let goneCount = 0;
  const bench = await start(context, () => ({
    status: 200,
    headers: ["Content-Type", "text/event-stream"],
    route: "stream",
    open(sink) {
      opened.open(sink);
      return () => {
        goneCount += 1;
      };
    },
  }));
  const peer = bench.open().send(get("/"));
  const sink = await opened.promise;
  await peer.until(/\r\n\r\n$/);

  sink.write("data: é\n\n");
  await peer.until(/data: \xc3\xa9\n\n/);
  peer.socket.destroy();

  await untilOpen(bench.listener, 0);
  assert.equal(goneCount, 1);
  assert.equal(bench.observations[0]?.route, "stream");
});

test("a stream ends when the server drains, and when the area ends it", async (context) => {
  const sinks: StreamSink[] = [];
  let goneCount = 0;
  const bench = await start(context, () => ({
    status: 200,
    headers: [],
    open(sink) {
      sinks.push(sink);
      return () => {
        goneCount += 1;
      };
    },
  }));
  const first = bench.open().send(get("/"));
  await first.until(/\r\n\r\n/);
  sinks[0]?.end();
  await first.closed;
  assert.equal(goneCount, 1);

  const second = bench.open().send(get("/"));
  await second.until(/\r\n\r\n/);
  await bench.listener.close(60_000);
  await second.closed;
  assert.equal(goneCount, 2);
});

test("S-01: disconnects a peer that does not read its reply", async (context) => {
  const large = { ...reply("x".repeat(32 * 1024 * 1024)), bodyIsBytes: true };
  const bench = await start(context, () => large, { limits: { stalledTimeoutMs: 50 }, budgetBytes: 1_000_000_000 });
  const peer = bench.open();
  peer.socket.pause();
  peer.send(get("/"));
  while (bench.budget.usedBytes !== large.body.length) await new Promise((resolve) => setImmediate(resolve));

  await untilOpen(bench.listener, 0);

  assert.equal(bench.budget.usedBytes, 0);
  peer.socket.destroy();
});

test("handles no more requests of a connection with too many unread bytes until its peer reads", async (context) => {
  let handledCount = 0;
  const bench = await start(
    context,
    () => {
      handledCount += 1;
      return { ...reply("x".repeat(4 * 1024 * 1024)), bodyIsBytes: true };
    },
    { limits: { unsentPerConnectionMax: 10 * 1024 * 1024 }, budgetBytes: 1024 * 1024 * 1024 },
  );
  const peer = bench.open();
  peer.socket.pause();
  peer.send(get("/").repeat(20));
  await untilOpen(bench.listener, 20);
  assert.equal(handledCount, 3);

  peer.socket.removeAllListeners("data").resume();

  await untilOpen(bench.listener, 0);
  assert.equal(handledCount, 20);
  assert.equal(bench.budget.usedBytes, 0);
  peer.socket.destroy();
});

test("A-13: unread small replies delay only their own connection", async (context) => {
  const MB = 1024 * 1024;
  let handledCount = 0;
  const greedy = { name: "greedy" };
  const bench = await start(
    context,
    (request) => {
      const refusal = request.claim?.(request.target === "/other" ? { name: "other" } : greedy);
      if (refusal !== undefined) return failureReply(refusal);
      if (request.target === "/other") return reply("served");
      handledCount += 1;
      return { ...reply("x".repeat(60_000)), bodyIsBytes: true };
    },
    { budgetBytes: 256 * MB },
  );
  const peers = Array.from({ length: 20 }, () => bench.open());
  for (const peer of peers) {
    peer.socket.pause();
    peer.send(get("/").repeat(900));
  }
  while (bench.budget.usedBytes < 20 * MB) await new Promise((resolve) => setImmediate(resolve));

  assert.match(await bench.open().send(get("/other", "Connection: close\r\n")).untilClosed(), /served$/);
  assert.ok(handledCount < 20 * 150, `${handledCount} were handled`);
  assert.ok(bench.budget.usedBytes <= 20 * (MB + 61_000), `${bench.budget.usedBytes} bytes wait`);
  assert.deepEqual([...bench.budget.owners.keys()], [greedy]);

  for (const peer of peers) peer.socket.destroy();
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
});

test("A-13: refuses requests of a tenant with too many unsent bytes before handling them, and no others", async (context) => {
  const tenants = new Map(["/a", "/b"].map((target) => [target, { name: target }]));
  let handledCount = 0;
  const bench = await start(
    context,
    (request) => {
      const refusal = request.claim?.(tenants.get(request.target) ?? { name: "new" });
      if (refusal !== undefined) return failureReply(refusal);
      handledCount += 1;
      return reply("in");
    },
    { budgetBytes: 1_000_000 },
  );
  const held = tenants.get("/a") ?? assert.fail();
  bench.budget.add(600_000, held);

  assert.match(await bench.open().send(get("/a", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 503 /);
  assert.equal(handledCount, 0);
  assert.match(await bench.open().send(get("/b", "Connection: close\r\n")).untilClosed(), /in$/);
  bench.budget.release(200_000, held);
  assert.match(await bench.open().send(get("/a", "Connection: close\r\n")).untilClosed(), /in$/);
});

test("a finished reply that waits counts until it is sent", async (context) => {
  const made = Promise.withResolvers<HttpReply>();
  const bench = await start(context, (request) => {
    request.holdReply?.(5_000);
    return made.promise;
  });
  const peer = bench.open().send(get("/"));
  while (bench.budget.usedBytes !== 5_000) await new Promise((resolve) => setImmediate(resolve));
  made.resolve(reply("done"));
  await peer.until(/done$/);
  assert.equal(bench.budget.usedBytes, 0);
  peer.socket.destroy();
});

test("while many bytes are held, reads a small body only if the area accepts its head", async (context) => {
  const bench = await start(context, () => reply("in"), {
    area: { refuseEarly: (head) => (head.header("x-in") === undefined ? failureReply(unauthorized) : undefined) },
    budgetBytes: 1_000,
  });
  const request = (headers: string): string => `POST / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: 5\r\n\r\nabcde`;
  bench.budget.add(251, { name: "somebody" });

  assert.match(await bench.open().send(request("")).until(/\}$/), /^HTTP\/1\.1 401 /);
  assert.match(await bench.open().send(request("X-In: 1\r\nConnection: close\r\n")).untilClosed(), /in$/);
});

test("a large reply without room in the budget becomes 503, a small one is sent", async (context) => {
  const bench = await start(context, ({ target }) => reply("x".repeat(Number(target.slice(1)))), {
    budgetBytes: 114_286,
  });
  assert.match(await bench.open().send(get("/100001", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 503 /);
  assert.match(await bench.open().send(get("/99999", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 200 /);
  assert.equal(bench.budget.usedBytes, 0);
});

test("S-01: slow headers and bodies are ended with 408", async (context) => {
  const bench = await start(context, () => reply("never"), { limits: { headersTimeoutMs: 50, requestTimeoutMs: 50 } });
  const inHeaders = bench.open().send("GET / HTTP/1.1\r\nHost: a\r\nX-");
  const inBody = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");

  for (const peer of [inHeaders, inBody]) {
    assert.match(await peer.until(/\}$/), /^HTTP\/1\.1 408 [\s\S]*\{"error":"ERR request was not complete in time"\}$/);
    peer.socket.destroy();
  }
});

test("S-01: answers a request that came in time but is read late, after the thread was busy", async (context) => {
  const { open } = await start(context, () => reply("late"), {
    limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 },
  });
  const peers = [open(), open()];
  const [whole, half] = peers as [Peer, Peer];
  await Promise.all(peers.map(({ socket }) => once(socket, "connect")));
  // Both are accepted.
  await nextTurn();
  await nextTurn();
  whole.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  half.send("GET / HTTP/1.1\r\nHo");
  // Longer than the request timeout, and than the time between two checks.
  pauseThread(1_500);
  await whole.until(/late/);
  await half.until(/408/);
});

test("an observation names the route, the status and the bytes, never the target", async (context) => {
  const bench = await start(context, () => reply("four"));
  await bench
    .open()
    .send(post("/secret?_token=x", "abc", "Connection: close\r\n"))
    .untilClosed();
  await bench.open().send("GET * HTTP/1.1\r\nHost: a\r\n\r\n").untilClosed();

  const [served, refused] = bench.observations;
  assert.deepEqual(
    { ...served, durationMs: 0 },
    { route: "test", status: 200, durationMs: 0, bytesIn: 3, bytesOut: 4 },
  );
  assert.equal(refused?.route, "refused");
  assert.equal(refused?.status, 400);
});

test("each handled request has a span with the trace of its headers, ended once, and the area sees its trace", async (context) => {
  const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const OF_SPAN = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01" };
  const begun: IncomingRequest[] = [];
  const ended: RequestEnd[] = [];
  const tracer: Tracer = {
    request(request) {
      begun.push(request);
      return { trace: OF_SPAN, end: (end) => ended.push(end) };
    },
    call: () => assert.fail("nothing is called"),
    flush: async () => {},
  };
  const handle: Handler = ({ target, trace }) => {
    assert.deepEqual(trace, OF_SPAN);
    if (target === "/fault") throw new Error("a fault");
    if (target === "/stream") return { status: 200, headers: [], route: "/stream", open: endAtOnce };
    return { status: 200, headers: [], body: "", route: "A1 /path" };
  };
  const { open } = await start(context, handle, { tracer });
  const peer = open();
  peer.socket.write(
    `GET / HTTP/1.1\r\nHost: a\r\ntraceparent: ${PARENT}\r\ntracestate: a=1\r\ntracestate: b=2\r\n\r\n`,
  );
  peer.socket.write("PUT /fault HTTP/1.1\r\nHost: a\r\ntraceparent: broken\r\nContent-Length: 1\r\n\r\nx");
  peer.socket.write("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  await peer.closed;
  assert.deepEqual(begun, [
    { method: "GET", scheme: "http", parent: { parent: PARENT, state: "a=1,b=2" } },
    { method: "PUT", scheme: "http", parent: undefined },
    { method: "GET", scheme: "http", parent: undefined },
  ]);
  assert.deepEqual(ended, [
    { route: "A1 /path", status: 200 },
    { route: "failed", status: 500 },
    { route: "/stream", status: 200 },
  ]);
});

function endAtOnce(sink: StreamSink): () => void {
  queueMicrotask(() => sink.end());
  return () => {};
}

test("a drain waits only for complete requests: half a body is answered with 503, half a head and an idle connection end", async (context) => {
  const answer = gate<HttpReply>();
  const bench = await start(context, () => answer.promise);
  const whole = bench.open().send(post("/whole", "abc"));
  const body = bench.open().send(`POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na`);
  // After a complete request: that one is answered, and its answer is the last of the connection.
  const both = bench
    .open()
    .send(`${post("/whole", "abc")}POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na`);
  await untilOpen(bench.listener, 4);
  const head = bench.open().send("GET /half HTT");
  const idle = bench.open();
  await Promise.all([head, idle].map(({ socket }) => socket.readyState === "open" || once(socket, "connect")));

  const closed = bench.listener.close(60_000);
  assert.match(await body.untilClosed(), /^HTTP\/1\.1 503 /);
  assert.equal(await head.untilClosed(), "");
  assert.equal(await idle.untilClosed(), "");
  answer.open(reply("late"));
  assert.match(await whole.untilClosed(), /^HTTP\/1\.1 200 [\s\S]*Connection: close[\s\S]*late$/i);
  assert.match(await both.untilClosed(), /^HTTP\/1\.1 200 [\s\S]*late$/);
  await closed;
});

test("S-01: refuses a body below the least rate with 408", async (context) => {
  const clock = new VirtualClock();
  const bench = await start(context, () => reply("done"), { clock });
  const slow = bench.open().send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\na");
  await untilOpen(bench.listener, 1);
  for (let second = 0; second < 12; second += 1) clock.advance(1_000);
  assert.match(
    await slow.until(/}$/),
    /^HTTP\/1\.1 408 [\s\S]*ERR request body is too slow\. Minimum rate: 1024 bytes per second/,
  );
  assert.deepEqual(
    bench.observations.map(({ route, status }) => [route, status]),
    [["refused", 408]],
  );
  clock.advance(2_000);
  await slow.untilClosed();
});

test("the caller is the address from a trusted proxy, or else the peer", async (context) => {
  const callerReply = (request: { remoteAddress: string; remotePort: number }): HttpReply =>
    reply(`${request.remoteAddress} ${request.remotePort > 0}`);
  const headers = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n";
  const trusting = await start(context, callerReply, { proxies: new TrustedProxies(["127.0.0.0/8"]) });
  assert.match(await trusting.open().send(get("/", headers)).untilClosed(), /\r\n203\.0\.113\.9 false$/);
  const plain = await start(context, callerReply);
  assert.match(await plain.open().send(get("/", headers)).untilClosed(), /\r\n127\.0\.0\.1 true$/);
});
