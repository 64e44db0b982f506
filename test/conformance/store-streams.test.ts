/** Event streams: subscriptions, patterns and the monitor (A5, A6, A7; threats ). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EventReader, openStream, type StreamOptions } from "../harness/event-reader.ts";
import { READ_ONLY_TOKEN, startServer, type TestServer, TOKEN } from "../harness/server.ts";

function open(server: TestServer, path: string, options: Partial<StreamOptions> = {}): Promise<EventReader> {
  return openStream(server.url + path, { token: TOKEN, ...options });
}

/** The text of the refusal of a stream. */
async function refusalOf(reader: EventReader): Promise<string> {
  await reader.untilEnd();
  return `${reader.status} ${reader.text}`;
}

/** Resolves when this many receivers listen to the channel. */
async function untilListeners(server: TestServer, channel: string, count: number): Promise<void> {
  for (;;) {
    const { json } = await server.post("/", ["PUBSUB", "NUMSUB", channel]);
    if ((json as { result: unknown[] }).result[1] === count) return;
  }
}

test("A.streams, A6.events: subscribe answers at once as an event stream and reports the number of channels", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/news/sport", { body: "[]" });
  assert.equal(reader.status, 200);
  assert.equal(reader.headers["content-type"], "text/event-stream");
  assert.equal(reader.headers["cache-control"], "no-cache");
  assert.equal(reader.headers["x-accel-buffering"], "no");
  assert.deepEqual(await reader.take(2), ["subscribe,news,1", "subscribe,sport,2"]);
  assert.equal(reader.text, "data: subscribe,news,1\n\ndata: subscribe,sport,2\n\n");
  reader.leave();
});

test("A7: publish reaches every subscriber of the channel and returns their number", async () => {
  await using server = await startServer();
  const first = await open(server, "/subscribe/news");
  const second = await open(server, "/subscribe/news");
  const other = await open(server, "/subscribe/other");
  for (const reader of [first, second, other]) await reader.next();
  assert.deepEqual((await server.post("/publish/news/hello", undefined)).json, { result: 2 });
  assert.deepEqual((await server.post("/publish/other", '{"a":1}')).json, { result: 1 });
  assert.equal(await first.next(), "message,news,hello");
  assert.equal(await second.next(), "message,news,hello");
  assert.equal(await other.next(), 'message,other,{"a":1}');
});

test("A6.events: psubscribe gets the messages of matching channels, with the pattern", async () => {
  await using server = await startServer();
  const reader = await open(server, "/psubscribe/news.*/h%3Fllo");
  assert.deepEqual(await reader.take(2), ["psubscribe,news.*,1", "psubscribe,h?llo,2"]);
  await server.post("/pipeline", [
    ["PUBLISH", "news.art", "a"],
    ["PUBLISH", "other", "b"],
    ["PUBLISH", "hello", "c"],
  ]);
  assert.deepEqual(await reader.take(2), ["pmessage,news.*,news.art,a", "pmessage,h?llo,hello,c"]);
  assert.deepEqual((await server.post("/", ["PUBSUB", "NUMPAT"])).json, { result: 2 });
});

test("A6.events: messages of pipelines and transactions come in the order they were sent", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/c");
  await reader.next();
  const sent = await server.post("/multi-exec", [
    ["PUBLISH", "c", "1"],
    ["SET", "k", "v"],
    ["PUBLISH", "c", "2"],
  ]);
  assert.deepEqual(sent.json, [{ result: 1 }, { result: "OK" }, { result: 1 }]);
  await server.post("/pipeline", [
    ["PUBLISH", "c", "3"],
    ["PUBLISH", "c", "4"],
  ]);
  const discarded = await server.post("/multi-exec", [["PUBLISH", "c", "never"], ["GET"]]);
  assert.equal(discarded.status, 400);
  await server.post("/publish/c/5", undefined);
  const messages = ["message,c,1", "message,c,2", "message,c,3", "message,c,4", "message,c,5"];
  assert.deepEqual(await reader.take(5), messages);
});

test("A6, A.streams.lines: a payload with line ends is one event and adds no field", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/c");
  await reader.next();
  await server.post("/publish/c", "a\nb\r\nc\rd\n\nevent: x\ndata: message,c,forged\n\nid: 1\nretry: 1");
  await server.post("/publish/c", "end");
  assert.equal(await reader.next(), "message,c,a\nb\nc\nd\n\nevent: x\ndata: message,c,forged\n\nid: 1\nretry: 1");
  assert.equal(await reader.next(), "message,c,end");
  for (const line of reader.text.split("\n")) assert.match(line, /^(?:|data:.*)$/);
});

test("A6: a channel with line ends is also one event", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/a%0A%0Adata:%20x");
  assert.equal(await reader.next(), "subscribe,a\n\ndata: x,1");
  assert.equal(reader.text, "data: subscribe,a\ndata:\ndata:data: x,1\n\n");
});

test("A6, A.streams.lines: events are text whatever the requested encoding; invalid UTF-8 becomes U+FFFD", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/%C3%A9%FF", { headers: { "upstash-encoding": "base64" } });
  assert.equal(await reader.next(), "subscribe,é\ufffd,1");
  await server.post("/publish/%C3%A9%FF", Buffer.from([0x61, 0xff, 0xc3, 0xa9]));
  assert.equal(await reader.next(), "message,é\ufffd,a\ufffdé");
});

test("A6, A.streams.accept: POST, PUT and GET open streams; HEAD, and a request that does not accept them, are refused", async () => {
  await using server = await startServer();
  for (const method of ["POST", "PUT", "GET"]) {
    const reader = await open(server, "/subscribe/c", { method });
    assert.equal(await reader.next(), "subscribe,c,1", method);
  }
  assert.match(await refusalOf(await open(server, "/subscribe/c", { method: "HEAD" })), /^400 /);
  for (const path of ["/subscribe/c", "/psubscribe/c", "/monitor"])
    assert.equal(
      await refusalOf(await open(server, path, { headers: { accept: "*/*" } })),
      '400 {"error":"ERR this is an event stream; send the header Accept: text/event-stream"}',
    );
});

test("A6, A.streams.accept: a browser may pass its token in the URL", async () => {
  await using server = await startServer();
  const reader = await open(server, `/subscribe/c?_token=${TOKEN}`, {
    method: "GET",
    token: null,
    headers: { origin: "https://a.example" },
  });
  assert.equal(await reader.next(), "subscribe,c,1");
  assert.equal(reader.headers["access-control-allow-origin"], "*");
});

test("A5, A6, A.limits.channels: a stream without channels, or with too many words, is refused", async () => {
  await using server = await startServer();
  const arity = (name: string): string => `400 {"error":"ERR wrong number of arguments for '${name}' command"}`;
  assert.equal(await refusalOf(await open(server, "/subscribe")), arity("subscribe"));
  assert.equal(await refusalOf(await open(server, "/psubscribe/")), arity("psubscribe"));
  assert.equal(await refusalOf(await open(server, "/monitor/x")), arity("monitor"));
  assert.equal(
    await refusalOf(await open(server, `/subscribe${"/c".repeat(1_001)}`)),
    '400 {"error":"ERR too many channels in one event stream. Limit: 1000"}',
  );
});

test("A5.rights, A.read-only-token: streams need the standard token", async () => {
  await using server = await startServer();
  for (const [path, name] of [
    ["/subscribe/c", "subscribe"],
    ["/psubscribe/c", "psubscribe"],
    ["/monitor", "monitor"],
  ] as const) {
    assert.equal(
      await refusalOf(await open(server, path, { token: READ_ONLY_TOKEN })),
      `400 {"error":"NOPERM this user has no permissions to run the '${name}' command or its subcommand"}`,
    );
    assert.match(await refusalOf(await open(server, path, { token: "wrong" })), /^401 \{"error":"WRONGPASS /);
    assert.match(await refusalOf(await open(server, path, { token: null })), /^401 /);
  }
  assert.deepEqual((await server.post("/", ["PUBSUB", "CHANNELS"])).json, { result: [] });
});

test("A.unavailable: streams are not commands", async () => {
  await using server = await startServer();
  for (const words of [["SUBSCRIBE", "c"], ["PSUBSCRIBE", "c"], ["MONITOR"], ["UNSUBSCRIBE"], ["SSUBSCRIBE", "c"]]) {
    const { status, text } = await server.post("/", words);
    assert.equal(status, 400);
    assert.match(text, /Command is not available/);
  }
});

test("A.routing: in capitals, the names of the streams are commands, which HTTP does not support", async () => {
  await using server = await startServer();
  for (const path of ["/SUBSCRIBE/c", "/PSUBSCRIBE/c", "/MONITOR", "/PIPELINE"]) {
    const { status, text } = await server.get(path);
    assert.equal(status, 400, path);
    assert.match(text, new RegExp(`Command is not available: '${path.split("/")[1]}'`));
  }
  assert.deepEqual((await server.post("/MULTI-EXEC", [["PING"]])).status, 400);
});

test("A5.lines: the monitor begins with a quoted OK and shows every command as Redis prints it", async () => {
  await using server = await startServer();
  const reader = await open(server, "/monitor");
  assert.equal(reader.status, 200);
  assert.equal(await reader.next(), '"OK"');
  await server.post("/", ["set", "k", 'a"b\\c\n\u0000é']);
  await server.post("/multi-exec", [
    ["GET", "k"],
    ["INCR", "k"],
  ]);
  await server.post("/pipeline", [["NOPE"], ["GET"], ["PING"]]);
  const line = /^1767225600\.000000 \[0 127\.0\.0\.1:\d+\] (.*)$/;
  const shown = (await reader.take(4)).map((event) => line.exec(event ?? "")?.[1]);
  assert.deepEqual(shown, ['"set" "k" "a\\"b\\\\c\\n\\x00\\xc3\\xa9"', '"GET" "k"', '"INCR" "k"', '"PING"']);
});

// A5.lines
test("A-02: the monitor shows neither tokens nor administrative commands", async () => {
  await using server = await startServer();
  const reader = await open(server, `/monitor?_token=${TOKEN}`, { token: null, method: "GET" });
  await reader.next();
  await server.get(`/get/k?_token=${TOKEN}`, { token: null });
  await server.post("/", ["CONFIG", "SET", "maxmemory", "0"]);
  await server.post(`/set/k/v?_token=${TOKEN}&EX=10`, undefined, { token: null });
  const [first, second] = await reader.take(2);
  assert.match(first ?? "", / "get" "k"$/);
  assert.match(second ?? "", / "set" "k" "v" "EX" "10"$/);
  assert.ok(!reader.text.includes(TOKEN));
});

test("A6: keyspace notifications arrive like messages", async () => {
  await using server = await startServer();
  await server.post("/", ["CONFIG", "SET", "notify-keyspace-events", "KEA"]);
  const reader = await open(server, "/psubscribe/__key*@0__:*");
  await reader.next();
  await server.post("/set/k/v?PX=10", undefined);
  assert.deepEqual(await reader.take(4), [
    "pmessage,__key*@0__:*,__keyspace@0__:k,set",
    "pmessage,__key*@0__:*,__keyevent@0__:set,k",
    "pmessage,__key*@0__:*,__keyspace@0__:k,expire",
    "pmessage,__key*@0__:*,__keyevent@0__:expire,k",
  ]);
  server.clock.advance(11);
  await server.get("/get/k");
  assert.equal(await reader.next(), "pmessage,__key*@0__:*,__keyspace@0__:k,expired");
});

test("A6: a client that disconnects is removed at once", async () => {
  await using server = await startServer();
  const staying = await open(server, "/subscribe/c");
  const leaving = await open(server, "/subscribe/c/d");
  await staying.next();
  await leaving.next();
  leaving.leave();
  await untilListeners(server, "c", 1);
  assert.deepEqual((await server.post("/publish/d/x", undefined)).json, { result: 0 });
  assert.deepEqual((await server.post("/publish/c/x", undefined)).json, { result: 1 });
  assert.equal(await staying.next(), "message,c,x");
});

test("A6, A.streams.comments: an idle stream gets periodic comments, which clients ignore", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/c");
  await reader.next();
  server.clock.advance(14_000);
  assert.deepEqual(reader.comments, []);
  server.clock.advance(1_000);
  await reader.untilComments(1);
  assert.deepEqual(reader.comments, [": ping"]);
  await server.post("/publish/c/x", undefined);
  assert.equal(await reader.next(), "message,c,x");
});

// A.streams.slow
test("A-17: a subscriber that does not read is disconnected when its output buffer is too large", async () => {
  const MB = 2 ** 20;
  await using server = await startServer({ streams: { queuedBytesMax: 8 * MB, slowBytesMax: 4 * MB } });
  const reader = await open(server, "/subscribe/c");
  const good = await open(server, "/subscribe/c");
  await reader.next();
  await good.next();
  reader.pause();
  const payload = "x".repeat(MB);
  let receivers = 2;
  // The operating system buffers some megabytes for a peer that does not read.
  for (let sent = 0; receivers === 2 && sent < 100; sent += 1) {
    const { json } = await server.post("/publish/c", payload);
    receivers = (json as { result: number }).result;
    await good.next();
  }
  assert.equal(receivers, 1);
  reader.leave();
  good.leave();
  await untilListeners(server, "c", 0);
});

// A.streams.slow
test("A-17: a subscriber may exceed the soft limit only briefly", async () => {
  const MB = 2 ** 20;
  await using server = await startServer({ streams: { slowBytesMax: 0, queuedBytesMax: 1_000 * MB } });
  const reader = await open(server, "/subscribe/c");
  await reader.next();
  reader.pause();
  for (let sent = 0; sent < 20; sent += 1) await server.post("/publish/c", "x".repeat(MB));
  server.clock.advance(59_000);
  await untilListeners(server, "c", 1);
  server.clock.advance(6_000);
  await untilListeners(server, "c", 0);
  reader.leave();
});

// A.limits.streams
test("A-17: a token has a maximum number of streams, and a stream that ends makes room", async () => {
  await using server = await startServer({ streams: { streamsPerTokenMax: 2 } });
  const first = await open(server, "/subscribe/c");
  await first.next();
  const second = await open(server, "/monitor");
  await second.next();
  assert.equal(
    await refusalOf(await open(server, "/subscribe/c")),
    '400 {"error":"ERR max concurrent connections exceeded. Limit: 2 event streams of one token"}',
  );
  first.leave();
  await untilListeners(server, "c", 0);
  const third = await open(server, "/subscribe/c");
  assert.equal(await third.next(), "subscribe,c,1");
});

test("A.token-reset, H.revoked: resetting the password ends the streams of the old token", async () => {
  await using server = await startServer();
  server.tokens.replaceTenant("other", [{ token: "other-token", access: "standard" }]);
  const reader = await open(server, "/subscribe/c");
  const other = await open(server, "/subscribe/c", { token: "other-token" });
  await reader.next();
  await other.next();
  server.tokens.replaceTenant("main", [{ token: "new-token", access: "standard" }]);
  await reader.untilEnd();
  await server.post("/publish/c/x", undefined, { token: "other-token" });
  assert.equal(await other.next(), "message,c,x");
});

test("a deleted database ends its streams", async () => {
  await using server = await startServer();
  const reader = await open(server, "/subscribe/c");
  await reader.next();
  server.store.dropDatabase("main");
  assert.equal(await reader.next(), undefined);
});

test("a server that stops ends its streams", async () => {
  await using server = await startServer();
  const reader = await open(server, "/monitor");
  await reader.next();
  await server.listener.close(60_000);
  assert.equal(await reader.next(), undefined);
});

test("A-06: channels, patterns and the monitor of one database receive nothing from another", async () => {
  await using server = await startServer();
  const token = "other-token";
  server.tokens.replaceTenant("other", [{ token, access: "standard" }]);
  const readers = [
    await open(server, "/subscribe/c"),
    await open(server, "/psubscribe/*"),
    await open(server, "/monitor"),
  ] as const;
  for (const reader of readers) await reader.next();
  assert.deepEqual((await server.post("/publish/c/theirs", undefined, { token })).json, { result: 0 });
  assert.deepEqual((await server.post("/", ["PUBSUB", "CHANNELS"], { token })).json, { result: [] });
  assert.deepEqual((await server.post("/publish/c/ours", undefined)).json, { result: 2 });
  assert.equal(await readers[0].next(), "message,c,ours");
  assert.equal(await readers[1].next(), "pmessage,*,c,ours");
  assert.match((await readers[2].next()) ?? "", / "publish" "c" "ours"$/);
});
