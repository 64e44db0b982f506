/** A front and a thread with engines, at the two ends of a channel: requests, answers, event streams and ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { reply } from "../../../../../test/harness/listener-bench.ts";
import type { Handler, HttpReply, HttpRequest, HttpStream, StreamSink } from "../../../../edge/handler.ts";
import { ByteBudget } from "../../../../edge/limits/byte-budget.ts";
import { systemClock } from "../../../../kernel/clock.ts";
import { VirtualClock } from "../../../../kernel/clock.virtual.ts";
import { createLog } from "../../../../kernel/log.ts";
import type { HostedState } from "../hosted-shard.ts";
import { ThreadClient, type ThreadOutcome } from "./thread-client.ts";
import { ThreadServer } from "./thread-server.ts";

interface Seam {
  readonly client: ThreadClient;
  readonly server: ThreadServer;
  readonly budget: ByteBudget;
  readonly clock: VirtualClock;
  readonly log: string[];
  /** The next report of a shard. */
  readonly reported: Promise<readonly [shard: number, state: HostedState]>;
  /** Ends the thread. */
  end(): void;
  send(over?: Partial<HttpRequest>): Promise<ThreadOutcome>;
}

interface TestContext {
  after(task: () => unknown): void;
}

function start(context: TestContext, handle: Handler | undefined, budgetBytes = 64_000_000): Seam {
  const { port1, port2 } = new MessageChannel();
  context.after(() => port1.close());
  const clock = new VirtualClock();
  const log: string[] = [];
  const reported = Promise.withResolvers<readonly [shard: number, state: HostedState]>();
  const client = new ThreadClient({ port: port1, clock, onShard: (...report) => reported.resolve(report) });
  const budget = new ByteBudget(budgetBytes);
  const forms = { refusal: ({ text }: { text: string }): HttpReply => ({ ...reply(text), status: 503 }) };
  const server = new ThreadServer({
    ...{ port: port2, budget, clock, forms },
    log: createLog({ level: "error", format: "text", clock: systemClock, sink: (line) => void log.push(line) }),
    serving: () => handle && { handle, bodyBytesMax: () => 1_000 },
  });
  const send = (over: Partial<HttpRequest> = {}): Promise<ThreadOutcome> =>
    client.send({
      ...{ method: "POST", target: "/set/k", rawHeaders: ["Host", "a", "X-A", "1", "x-a", "2"], id: "r-1" },
      ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9, body: Buffer.alloc(0) },
      ...over,
    });
  return { client, server, budget, clock, log, reported: reported.promise, end: () => port2.close(), send };
}

function answered(outcome: ThreadOutcome): HttpReply {
  assert.ok(outcome.kind === "answered" && "body" in outcome.reply, outcome.kind);
  return outcome.reply;
}

test("a request arrives as it was sent, and its reply comes back as the engine made it", async (context) => {
  let seen: unknown;
  const { send, budget } = start(context, (request) => {
    const { method, target, remoteAddress, remotePort, id, trace, body } = request;
    seen = [method, target, request.header("x-a"), remoteAddress, remotePort, id, trace, body.toString(), request.memo];
    return { status: 201, headers: ["X-B", "3"], body: "caf\u00e9", bodyIsBytes: true, route: "A1" };
  });
  const body = Buffer.from("..body..").subarray(2, 6);
  const outcome = await send({ body, trace: { parent: "00-1" } });
  assert.deepEqual(seen, ["POST", "/set/k", "1, 2", "192.0.2.7", 9, "r-1", { parent: "00-1" }, "body", undefined]);
  const expected = { status: 201, headers: ["X-B", "3"], body: "caf\u00e9", bodyIsBytes: true, route: "A1" };
  assert.deepEqual(answered(outcome), expected);
  assert.equal(body.toString(), "body");
  assert.equal(budget.usedBytes, 0);
});

test("the bytes of a reply are copied, so the engine keeps its buffer", async (context) => {
  const kept = Buffer.from("kept by the engine");
  const { send } = start(context, async () => ({ status: 200, headers: [], body: kept.subarray(0, 4) }));
  const { body } = answered(await send());
  assert.deepEqual(body, Buffer.from("kept"));
  assert.equal(kept.toString(), "kept by the engine");
});

test("many requests of a turn are answered each with its own reply", async (context) => {
  const { send } = start(context, async ({ body }) => reply(body.toString()));
  const bodies = Array.from({ length: 100 }, (_, number) => `body ${number}`);
  const replies = await Promise.all(bodies.map((body) => send({ body: Buffer.from(body) })));
  assert.deepEqual(
    replies.map((outcome) => answered(outcome).body),
    bodies,
  );
});

test("failed commands of a watched request are reported, and of another one are not", async (context) => {
  const { send } = start(context, (request) => {
    request.commandFailed?.("ERR one");
    request.commandFailed?.("ERR two");
    return reply(String(request.commandFailed === undefined));
  });
  const failed: string[] = [];
  assert.equal(answered(await send({ commandFailed: (text) => void failed.push(text) })).body, "false");
  assert.deepEqual(failed, ["ERR one", "ERR two"]);
  assert.equal(answered(await send()).body, "true");
});

test("a thread that serves no shard for a request says that it was not carried out", async (context) => {
  const { send } = start(context, undefined);
  assert.deepEqual((await send()).kind, "not executed");
});

test("the bytes of a request count in the budget of the thread until it is answered, for its tenant", async (context) => {
  const tenant = { name: "red" };
  const during: unknown[] = [];
  const { send, budget } = start(context, async (request) => {
    request.claim?.(tenant);
    during.push(budget.owners.get(tenant), request.takeReply?.(1_000), budget.owners.get(tenant));
    return reply("done");
  });
  assert.equal(answered(await send({ body: Buffer.alloc(500) })).body, "done");
  assert.deepEqual(during, [500, true, 1_500]);
  assert.equal(budget.usedBytes, 0);
});

test("a thread without room for a body refuses it", async (context) => {
  const { send } = start(context, () => reply("done"), 1_000);
  const { status } = answered(await send({ body: Buffer.alloc(950) }));
  assert.equal(status, 503);
});

test("a large answer for which the front has no room is lost, since it was carried out", async (context) => {
  const { send } = start(context, () => reply("x".repeat(100_000)));
  const taken: number[] = [];
  const takeReply = (bytes: number): boolean => {
    taken.push(bytes);
    return false;
  };
  assert.deepEqual(await send({ takeReply }), { kind: "lost" });
  assert.deepEqual(taken, [100_000]);
});

test("a fault of an engine is answered with the id of the request, which the log has too", async (context) => {
  for (const fail of [
    (): HttpReply => {
      throw new Error("planted");
    },
    async (): Promise<HttpReply> => {
      throw new Error("planted");
    },
  ]) {
    const { send, log } = start(context, fail);
    const { status, body, route } = answered(await send());
    assert.deepEqual([status, body, route], [503, "ERR internal error. See request r-1 in the log", "failed"]);
    assert.match(log.join("\n"), /request failed.*r-1.*planted/s);
  }
});

test("requests under way and later ones are lost when the thread ends", async (context) => {
  const { send, end } = start(context, () => new Promise(() => {}));
  const underWay = send();
  end();
  assert.deepEqual(await underWay, { kind: "lost" });
  assert.deepEqual(await send(), { kind: "lost" });
});

test("the state of a shard is reported", async (context) => {
  const { server, reported } = start(context, undefined);
  server.became(4, "serving");
  assert.deepEqual(await reported, [4, "serving"]);
});

/** An event stream of an engine, and its peer at the front. */
interface Streamed {
  readonly seam: Seam;
  /** The engine's end. */
  readonly source: StreamSink;
  /** The bytes that the peer has not taken, which the test sets. */
  readonly peer: { queuedBytes: number };
  readonly events: string[];
  /** Resolves when the engine learns that the stream is closed. */
  readonly closed: Promise<void>;
  /** The peer has gone. */
  close(): void;
  /** Resolves with the next event. */
  next(): Promise<string | undefined>;
}

async function stream(context: TestContext): Promise<Streamed> {
  const opened = Promise.withResolvers<StreamSink>();
  const closed = Promise.withResolvers<void>();
  const seam = start(context, () => ({
    status: 200,
    headers: ["Content-Type", "text/event-stream"],
    route: "S1",
    open: (sink) => {
      opened.resolve(sink);
      return () => closed.resolve();
    },
  }));
  const outcome = await seam.send();
  assert.ok(outcome.kind === "answered" && "open" in outcome.reply);
  const { status, headers, route, open }: HttpStream = outcome.reply;
  assert.deepEqual([status, headers, route], [200, ["Content-Type", "text/event-stream"], "S1"]);
  const peer = { queuedBytes: 0 };
  const events: string[] = [];
  let wake = (): void => {};
  const note = (event: string): void => {
    events.push(event);
    wake();
  };
  const close = open({
    write: (chunk) => {
      note(chunk.toString());
      return true;
    },
    get queuedBytes() {
      return peer.queuedBytes;
    },
    end: () => note("end"),
    abort: () => note("abort"),
  });
  const next = async (): Promise<string | undefined> => {
    if (events.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return events.shift();
  };
  return { seam, source: await opened.promise, peer, events, closed: closed.promise, close, next };
}

test("an event stream passes on text and bytes in order, and its end", async (context) => {
  const { source, next } = await stream(context);
  source.write("data: 1\n\n");
  source.write(Buffer.from("data: 2\n\n"));
  source.end();
  assert.deepEqual([await next(), await next(), await next()], ["data: 1\n\n", "data: 2\n\n", "end"]);
});

test("the engine learns that the peer of its stream has gone", async (context) => {
  const { close, closed } = await stream(context);
  close();
  await closed;
});

test("an engine aborts a stream, and so does the end of its thread", async (context) => {
  const first = await stream(context);
  first.source.abort();
  assert.equal(await first.next(), "abort");
  const second = await stream(context);
  second.seam.end();
  assert.equal(await second.next(), "abort");
});

test("what the peer of a stream has not taken counts as queued at the engine, until it takes it", async (context) => {
  const { seam, source, peer, next } = await stream(context);
  peer.queuedBytes = 60_000;
  assert.equal(source.write("x".repeat(60_000)), true);
  assert.equal(source.write("x".repeat(10_000)), false);
  assert.equal(source.queuedBytes, 70_000);
  await next();
  peer.queuedBytes = 0;
  await next();
  // The front has looked after the second chunk, and found that the peer has taken both.
  source.write("y");
  assert.equal(await next(), "y");
  await settled(() => source.queuedBytes === 0);

  peer.queuedBytes = 5;
  source.write("later");
  assert.equal(await next(), "later");
  assert.equal(source.queuedBytes, 5);
  peer.queuedBytes = 0;
  await seam.clock.advance(20);
  await settled(() => source.queuedBytes === 0);
});

test("a stream whose peer has gone before it begins is closed at the engine", async (context) => {
  const seam = start(context, () => ({ status: 200, headers: [], open: () => () => {} }));
  const outcome = await seam.send({ isAbandoned: true });
  assert.equal(answered(outcome).status, 499);
});

/** Messages between the ends of a channel take turns of the event loop. */
async function settled(isSettled: () => boolean): Promise<void> {
  for (let turns = 0; !isSettled(); turns += 1) {
    assert.ok(turns < 1_000, "not settled");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
