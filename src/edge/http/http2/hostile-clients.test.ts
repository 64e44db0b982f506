/** HTTP/2 against hostile clients (threats S-17), with frames that no client of Node would send. */
import assert from "node:assert/strict";
import {
  errorCode,
  FramePeer,
  type FramePeerOptions,
  fieldBlock,
  flag,
  frame,
  GET,
  request,
  reset,
  setting,
  type,
  uint32,
} from "../../../../test/harness/http2-frames.ts";
import {
  type Bench,
  type EachCase,
  reply,
  startEach,
  testHttp2,
  untilOpen,
} from "../../../../test/harness/listener-bench.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import type { Handler, HttpReply } from "../../handler.ts";
import { CONTROL_RATE, RESET_RATE, STREAMS_MAX } from "./session.ts";

const INITIAL_WINDOW_SIZE = 4;

function open(context: EachCase, { listener }: Bench, options?: FramePeerOptions): FramePeer {
  const peer = new FramePeer(listener.port, options);
  context.after(() => peer.socket.destroy());
  return peer;
}

/** Ids of the first streams of a client. */
function ids(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => 2 * i + 1);
}

/** A client of the same listener is served. */
async function assertServes(bench: Bench): Promise<void> {
  assert.match(await bench.open().send("GET /good HTTP/1.1\r\nHost: a\r\n\r\n").untilClosed(), /\r\n\r\n\/good$/);
}

testHttp2("S-17: rapid reset ends the connection, and few of its requests are handled", async (context) => {
  let handledCount = 0;
  const clock = new VirtualClock();
  const handle: Handler = ({ target }) => {
    handledCount += 1;
    return reply(target);
  };
  const bench = await startEach(context, handle, { clock });
  const peer = open(context, bench);
  peer.send(...ids(RESET_RATE.burst + 100).flatMap((id) => [request(id), reset(id)]));

  await peer.untilClosed();
  assert.ok(handledCount <= RESET_RATE.burst + 1, `${handledCount} were handled`);
  await untilOpen(bench.listener, 0);
  await assertServes(bench);
});

testHttp2("S-17: requests that make the server reset their streams end the connection", async (context) => {
  const bench = await startEach(context, ({ target }) => reply(target), { clock: new VirtualClock() });
  const peer = open(context, bench);
  // A window that grows by nothing is an error of its stream.
  peer.send(...ids(RESET_RATE.burst + 100).flatMap((id) => [request(id), frame(type.window, id, uint32(0))]));

  await peer.untilClosed();
  await untilOpen(bench.listener, 0);
  await assertServes(bench);
});

for (const [name, flood] of [
  ["SETTINGS", setting(INITIAL_WINDOW_SIZE, 1_000)],
  ["PING", frame(type.ping, 0, "12345678")],
] as const) {
  testHttp2(`S-17: a flood of ${name} ends the connection`, async (context) => {
    const bench = await startEach(context, ({ target }) => reply(target), { clock: new VirtualClock() });
    const peer = open(context, bench);
    peer.send(...new Array<Buffer>(CONTROL_RATE.burst + 100).fill(flood));

    await peer.untilClosed();
    await assertServes(bench);
  });
}

testHttp2(
  "S-17: a closed window keeps a response only for as long as an HTTP/1 client may not read",
  async (context) => {
    const bench = await startEach(context, () => reply("x".repeat(1_000)), { limits: { stalledTimeoutMs: 50 } });
    const peer = open(context, bench, { settings: setting(INITIAL_WINDOW_SIZE, 0) }).send(
      ...ids(50).map((id) => request(id)),
    );

    assert.equal(await peer.endOf(1), `reset ${errorCode.cancel}`);
    await untilOpen(bench.listener, 0);
    assert.equal(bench.budget.usedBytes, 0);
  },
);

testHttp2("S-17: a client that opens 500 streams has no more requests in the area than the limit", async (context) => {
  const answer = Promise.withResolvers<HttpReply>();
  let handledCount = 0;
  const bench = await startEach(context, () => {
    handledCount += 1;
    return answer.promise;
  });
  const peer = open(context, bench).send(...ids(500).map((id) => request(id)));

  // More streams than the connection has ever been allowed are an error of the connection.
  await peer.untilClosed();
  assert.ok(handledCount <= STREAMS_MAX, `${handledCount} were handled`);
  answer.resolve(reply("late"));
  await untilOpen(bench.listener, 0);
});

testHttp2("S-17: a head with too many or too large fields is 431 or a reset, never handled", async (context) => {
  const bench = await startEach(context, () => assert.fail("handled"), { limits: { headerBytesMax: 8_192 } });
  const peer = open(context, bench);
  // The limits are valid when they are acknowledged.
  await peer.opened();
  const many = (count: number): readonly (readonly [string, string])[] =>
    Array.from({ length: count }, (_, i) => [`x-${i}`, ""] as const);

  peer.send(request(1, [...GET, ["x", "y".repeat(9_000)]]));
  const large = fieldBlock([...GET, ["x", "y".repeat(40_000)], ["z", "y".repeat(40_000)]]);
  peer.send(frame(type.headers, 3, large.subarray(0, 15_000), flag.endStream));
  for (let at = 15_000; at < large.length; at += 15_000)
    peer.send(frame(type.more, 3, large.subarray(at, at + 15_000), at + 15_000 < large.length ? 0 : flag.endHeaders));
  peer.send(request(5, [...GET, ...many(400)]));
  assert.match(await peer.endOf(1), /^\{"error":"ERR max header size exceeded\. Limit: 8192 bytes"\}$/);
  assert.equal(await peer.endOf(3), `reset ${errorCode.calm}`);
  assert.match(await peer.endOf(5), /ERR max header size exceeded/);
});

testHttp2("S-17: a block that decompresses to megabytes is a reset, and the server continues", async (context) => {
  const bench = await startEach(context, ({ target }) => reply(target));
  // One field of 4 000 bytes in the table, then 12 000 references to it (RFC 7541 section 6.1).
  const entry = Buffer.concat([Buffer.from([0x40]), fieldBlock([["x", "y".repeat(4_000)]]).subarray(1)]);
  const block = Buffer.concat([fieldBlock(GET), entry, Buffer.alloc(12_000, 0x80 | 62)]);
  const peer = open(context, bench).send(frame(type.headers, 1, block.subarray(0, 16_000), flag.endStream));
  peer.send(frame(type.more, 1, block.subarray(16_000), flag.endHeaders));

  assert.equal(await peer.endOf(1), `reset ${errorCode.calm}`);
  assert.equal(await peer.send(request(3)).endOf(3), "/");
});

testHttp2("S-17: a head in endless CONTINUATION frames ends the connection", async (context) => {
  const bench = await startEach(context, ({ target }) => reply(target));
  const peer = open(context, bench).send(frame(type.headers, 1, fieldBlock(GET), flag.endStream));
  for (let i = 0; i < 100; i += 1) peer.send(frame(type.more, 1, fieldBlock([["x", "y".repeat(100)]])));

  await peer.untilClosed();
  await assertServes(bench);
});

testHttp2("S-17: a connection that does not begin, or is idle, ends", async (context) => {
  const clock = new VirtualClock();
  const bench = await startEach(context, ({ target }) => reply(target), { clock });
  const silent = open(context, bench, { settings: Buffer.alloc(0), acknowledges: false });
  const idle = open(context, bench);
  // Its limit of the bytes of a head is only valid once it is acknowledged.
  const unruly = open(context, bench, { acknowledges: false });
  await Promise.all([idle.opened(), silent.find(() => true)]);
  await Promise.all([idle.send(request(1)).endOf(1), unruly.send(request(1)).endOf(1)]);
  await untilOpen(bench.listener, 0);

  for (let second = 0; second < 12; second += 1) clock.advance(1_000);
  await silent.untilClosed();
  await unruly.untilClosed();
  assert.equal(idle.isClosed, false);
  for (let second = 0; second < 64; second += 1) clock.advance(1_000);
  assert.equal(await idle.goaway(), errorCode.none);
  await idle.untilClosed();
});

testHttp2("S-17: a peer with open streams that does not answer PING is disconnected", async (context) => {
  const clock = new VirtualClock();
  const bench = await startEach(context, () => new Promise<HttpReply>(() => {}), { clock });
  const peer = open(context, bench).send(request(1));
  await untilOpen(bench.listener, 1);
  await peer.opened();

  for (let second = 0; second < 20; second += 1) clock.advance(1_000);
  await peer.find((each) => each.type === type.ping && each.flags === 0);
  for (let second = 0; second < 62; second += 1) clock.advance(1_000);
  await peer.untilClosed();
  await untilOpen(bench.listener, 0);
});
