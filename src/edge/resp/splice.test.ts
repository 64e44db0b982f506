/** Two sockets as one connection, with a test at either end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { Splice } from "./splice.ts";

interface Scene {
  /** The ends that the test has. */
  readonly client: Socket;
  readonly owner: Socket;
  /** The ends that are spliced. */
  readonly near: Socket;
  readonly tunnel: Socket;
  readonly splice: Splice;
  readonly clock: VirtualClock;
  /** Bytes from the client, and to it. */
  readonly counts: { received: number; sent: number };
}

/** A server, and both ends of a connection to it. */
async function pairOf(context: TestContext): Promise<readonly [accepted: Socket, made: Socket]> {
  const server: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const made = connect({ host: "127.0.0.1", port: address.port, allowHalfOpen: true });
  const [accepted] = (await once(server, "connection")) as [Socket];
  for (const socket of [accepted, made]) socket.on("error", () => {});
  context.after(() => {
    made.destroy();
    accepted.destroy();
    server.close();
  });
  return [accepted, made];
}

async function start(context: TestContext, first = "", hasEnded = false): Promise<Scene> {
  const [near, client] = await pairOf(context);
  const [owner, tunnel] = await pairOf(context);
  const clock = new VirtualClock();
  const counts = { received: 0, sent: 0 };
  const splice = new Splice({
    ...{ client: near, owner: tunnel, first: Buffer.from(first), hasEnded, clock },
    received: (bytes) => {
      counts.received += bytes;
    },
    sent: (bytes) => {
      counts.sent += bytes;
    },
  });
  owner.resume();
  return { client, owner, near, tunnel, splice, clock, counts };
}

async function hear(socket: Socket, length: number): Promise<string> {
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.length >= length) break;
  }
  return text;
}

test("what the client has sent before comes first, and both directions are counted", async (context) => {
  const { client, owner, counts } = await start(context, "first ");
  client.write("second");
  assert.equal(await hear(owner, 12), "first second");
  owner.write("answer");
  assert.equal(await hear(client, 6), "answer");
  assert.deepEqual(counts, { received: 6, sent: 6 });
});

test("the end of one side passes on, and the other side goes on", async (context) => {
  const { client, owner } = await start(context);
  const heard = hear(owner, Number.POSITIVE_INFINITY);
  client.end("last");
  assert.equal(await heard, "last");
  owner.end("answer");
  assert.equal(await hear(client, Number.POSITIVE_INFINITY), "answer");
});

test("a client that had ended its side before is not waited for", async (context) => {
  const { owner } = await start(context, "all", true);
  assert.equal(await hear(owner, Number.POSITIVE_INFINITY), "all");
});

test("when one socket breaks, the other one is closed", async (context) => {
  for (const broken of ["client", "owner"] as const) {
    const scene = await start(context);
    const other = broken === "client" ? scene.owner : scene.client;
    const closed = once(other, "end");
    other.resume();
    scene[broken].resetAndDestroy();
    await closed;
    while (!scene.near.closed || !scene.tunnel.closed) await new Promise((resolve) => setImmediate(resolve));
  }
});

test("a client that does not read stops the owner, after the buffers of the system", async (context) => {
  const { client, owner } = await start(context);
  client.pause();
  const piece = "x".repeat(100_000);
  let count = 0;
  while (owner.writableLength < 1_000_000 && count < 2_000) {
    owner.write(piece);
    count += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(count < 2_000, "the owner has to wait");
  const length = count * piece.length;
  assert.equal((await hear(client, length)).length, length);
});

test("a client that does not take its last bytes is cut off after a minute", async (context) => {
  const { client, owner, tunnel, near, clock } = await start(context);
  client.pause();
  // More than the system takes while nobody reads.
  owner.write("x".repeat(20_000_000));
  while (!tunnel.isPaused()) await new Promise((resolve) => setImmediate(resolve));
  tunnel.destroy();
  await once(tunnel, "close");
  clock.advance(59_999);
  assert.equal(near.destroyed, false);
  clock.advance(1);
  assert.equal(near.destroyed, true);
});

test("in a drain nothing more is taken of the client, and the answers still come", async (context) => {
  const { client, owner, splice } = await start(context, "before ");
  splice.drain();
  client.write("after");
  assert.equal(await hear(owner, Number.POSITIVE_INFINITY), "before ");
  owner.end("answer");
  assert.equal(await hear(client, Number.POSITIVE_INFINITY), "answer");
});
