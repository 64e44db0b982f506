/** The listener alone, over real sockets, with an area for each test. */
import assert from "node:assert/strict";
import {
  gate,
  get,
  post,
  reply,
  start,
  startEach,
  testEach,
  testHttp1,
  untilOpen,
} from "../../../test/harness/listener-bench.ts";
import { AssertionFailure } from "../../kernel/assert.ts";
import { unauthorized } from "../errors.ts";
import type { Handler, HttpReply, StreamSink } from "../handler.ts";
import { failureReply } from "../respond.ts";
import type { IncomingRequest, RequestEnd, Tracer } from "../tracing.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

testEach("a reply has its length, no Server header, and leaves the connection open", async (context) => {
  const bench = await startEach(context, ({ target, body }) => reply(`${target} ${body}`));
  const peer = bench.open();

  const first = await peer.send(post("/a", "body")).until(/body$/);
  assert.match(first, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(first, /\r\nContent-Length: 7\r\n/);
  assert.match(first, /\r\nContent-Type: text\/plain\r\n/);
  if (!context.isHttp2) assert.match(first, /\r\nConnection: keep-alive\r\n/);
  assert.doesNotMatch(first, /server:|x-powered-by:/i);
  await peer.send(get("/b")).until(/\/b $/);
  peer.destroy();
});

testEach("text is sent as UTF-8 and bytes as they are", async (context) => {
  const bench = await startEach(context, ({ target }) =>
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

testEach("HEAD runs the handler and gets status and headers without a body", async (context) => {
  const methods: string[] = [];
  const bench = await startEach(context, ({ method }) => {
    methods.push(method);
    return reply("four");
  });

  const answer = await bench.open().send("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").untilClosed();

  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: 4\r\n[\s\S]*\r\n\r\n$/);
  assert.deepEqual(methods, ["HEAD"]);
});

testHttp1("replies to pipelined requests leave in the order of the requests", async (context) => {
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
  peer.destroy();
});

testHttp1("handles a request after those before it, even while their bodies are being read", async (context) => {
  const handled: string[] = [];
  const bench = await start(context, ({ target }) => {
    handled.push(target);
    return reply(target);
  });
  const peer = bench.open().send(post("/a", "body") + get("/b") + get("/c") + post("/d", "body") + get("/e"));

  await peer.until(/\/e$/);

  assert.deepEqual(handled, ["/a", "/b", "/c", "/d", "/e"]);
  peer.destroy();
});

testHttp1("handles no request after a refused one", async (context) => {
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

testEach("H.body: a body in many chunks arrives whole, its headers joined by name", async (context) => {
  const bench = await startEach(context, (request) =>
    reply(`${request.body} ${request.header("x-a")} ${request.header("x-none")}`),
  );
  const peer = bench.open();
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const chunk of ["3\r\nabc\r\n", "2\r\nde\r\n", "0\r\n\r\n"]) peer.send(chunk);

  await peer.until(/\r\n\r\nabcde 1, 2 undefined$/);
  peer.destroy();
});

testEach("A-13: refuses a body by its announced length, before it is sent", async (context) => {
  const bench = await startEach(context, () => reply("never"));
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");

  const answer = await peer.until(/\}$/);

  assert.match(answer, /^HTTP\/1\.1 400 /);
  if (!context.isHttp2) assert.match(answer, /\r\nConnection: close\r\n/);
  assert.match(answer, /\r\n\r\n\{"error":"ERR max request size exceeded\. Limit: 1000 bytes, Actual: 1001 bytes"\}$/);
  peer.destroy();
});

testEach("A-13: refuses a body of unknown length once it is too large", async (context) => {
  const bench = await startEach(context, () => reply("never"));
  const chunk = `190\r\n${"x".repeat(400)}\r\n`;
  const peer = bench.open().send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`);

  assert.match(await peer.until(/\}$/), /Limit: 1000 bytes, Actual: 1200 bytes"\}$/);
  peer.send("0\r\n\r\n");
  await peer.closed;
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
});

testEach("A-13: a client that has sent the whole refused body can read the refusal", async (context) => {
  const bench = await startEach(context, () => reply("never"));
  const peer = bench.open().send(post("/", "x".repeat(500_000)));

  assert.match(await peer.untilClosed(), /^HTTP\/1\.1 400 [\s\S]*Actual: 500000 bytes"\}$/);
});

testHttp1("A-13: destroys a socket that continues to send a refused body", async (context) => {
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

testEach("a client that disconnects in the middle of its body releases its bytes", async (context) => {
  let calls = 0;
  const bench = await startEach(context, () => {
    calls += 1;
    return reply("");
  });
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\nxxx");
  while (bench.budget.usedBytes !== 3) await new Promise((resolve) => setImmediate(resolve));

  peer.destroy();

  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
  assert.equal(calls, 0);
});

testEach("reads a large body only if the area accepts its head", async (context) => {
  const refusal = failureReply(unauthorized);
  const bench = await startEach(context, () => reply("in"), {
    area: { bodyBytesMax: () => 1_000_000, refuseEarly: (head) => (head.header("x-in") ? undefined : refusal) },
  });

  const large = "x".repeat(70_000);
  assert.match(await bench.open().send(post("/", large)).untilClosed(), /^HTTP\/1\.1 401 /);
  const peer = bench.open().send(post("/", large, "X-In: 1\r\n"));
  await peer.until(/\r\n\r\nin$/);
  await peer.send(post("/", "small")).until(/in[\s\S]*in$/);
  peer.destroy();
});

testEach("Expect: asks for a body before reading it, and never for a refused body", async (context) => {
  const bench = await startEach(context, ({ body }) => reply(body.toString()));
  const peer = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  await peer.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  await peer.send("body").until(/\r\n\r\nbody$/);
  peer.destroy();

  const refused = bench
    .open()
    .send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  assert.match(await refused.untilClosed(), /^HTTP\/1\.1 400 /);

  const other = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 4\r\n\r\n");
  assert.match(await other.untilClosed(), /^HTTP\/1\.1 417 [\s\S]*\{"error":"ERR [^"]+"\}$/);
});

// H.body
testEach("S-03: a compressed body is refused with 415", async (context) => {
  const bench = await startEach(context, () => reply("never"));
  const peer = bench.open().send(post("/", "abc", "Content-Encoding: gzip\r\n"));

  assert.match(
    await peer.untilClosed(),
    /^HTTP\/1\.1 415 [\s\S]*\{"error":"ERR content encoding is not supported: 'gzip'\./,
  );
});

// A.limits.headers, H.statuses
testEach("A-18: a header block beyond the limit is 431 in JSON", async (context) => {
  const bench = await startEach(context, () => reply("never"), { limits: { headerBytesMax: 16_384 } });
  const peer = bench.open().send(get(`/${"x".repeat(20_000)}`));

  const answer = await peer.until(/\}$/);

  assert.match(answer, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\nContent-Type: application\/json\r\n/);
  assert.match(answer, /\{"error":"ERR max header size exceeded\. Limit: 16384 bytes"\}$/);
  peer.destroy();
});

testHttp1("invalid HTTP is 400 in JSON, and CONNECT is 405", async (context) => {
  const bench = await start(context, () => reply("never"));

  for (const bytes of [
    "\x16\x03\x01 hello\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "* /\r\n\r\n",
  ]) {
    const peer = bench.open().send(bytes);
    assert.match(await peer.until(/\}$/), /^HTTP\/1\.1 400 [\s\S]*\{"error":"ERR malformed HTTP request"\}$/, bytes);
    peer.destroy();
  }
  const tunnel = bench.open().send("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n");
  assert.match(await tunnel.until(/\}$/), /^HTTP\/1\.1 405 /);
  tunnel.destroy();
});

testHttp1("a malformed request after an unanswered one ends the connection and is not answered", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await start(context, () => slow.promise);
  const peer = bench.open().send(get("/slow")).send("\x00garbage\r\n\r\n");

  assert.equal(await peer.untilClosed(), "");
  slow.open(reply("late"));
});

testHttp1("a connection may not have more unanswered requests than the limit", async (context) => {
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
testEach("S-10: a fault is a 500 with the id of its log line, and without details", async (context) => {
  const bench = await startEach(context, async ({ target }) => {
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

testEach("the area chooses the form of a fault", async (context) => {
  const bench = await startEach(
    context,
    () => {
      throw new Error("secret");
    },
    { area: { refusal: ({ kind }, target) => reply(`${kind} at ${target}`) } },
  );

  const answer = await bench.open().send(get("/here", "Connection: close\r\n")).untilClosed();

  assert.match(answer, /\r\n\r\ninternal at \/here$/);
});

testEach("a failed assertion is answered and then stops the process", async (context) => {
  const bench = await startEach(context, () => {
    throw new AssertionFailure("something holds");
  });
  const thrown = gate<unknown>();
  process.setUncaughtExceptionCaptureCallback(thrown.open);
  context.after(() => process.setUncaughtExceptionCaptureCallback(null));

  assert.match(await bench.open().send(get("/", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 500 /);
  assert.ok((await thrown.promise) instanceof AssertionFailure);
});

testEach("close lets requests finish, closes their connections and accepts no new ones", async (context) => {
  const slow = gate<HttpReply>();
  const bench = await startEach(context, () => slow.promise);
  const idle = bench.open();
  const busy = bench.open().send(get("/slow"));
  await untilOpen(bench.listener, 1);

  const closed = bench.listener.close(60_000);
  slow.open(reply("done"));

  const answer = await busy.untilClosed();
  assert.match(answer, /\r\n\r\ndone$/);
  if (!context.isHttp2) assert.match(answer, /\r\nConnection: close\r\n/);
  await Promise.all([closed, idle.closed]);
  const late = bench.open();
  assert.equal(await late.untilClosed(), "");
});

testEach("close ends requests that do not finish within its grace period", async (context) => {
  const bench = await startEach(context, () => new Promise<HttpReply>(() => {}));
  const peer = bench.open().send(get("/never"));
  await untilOpen(bench.listener, 1);

  await bench.listener.close(10);

  assert.equal(await peer.untilClosed(), "");
});

testEach("a stream sends its chunks and is closed once when its peer disconnects", async (context) => {
  const opened = gate<StreamSink>();
  let goneCount = 0;
  const bench = await startEach(context, () => ({
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
  peer.destroy();

  await untilOpen(bench.listener, 0);
  assert.equal(goneCount, 1);
  assert.equal(bench.observations[0]?.route, "stream");
});

testEach("a stream ends when the server drains, and when the area ends it", async (context) => {
  const sinks: StreamSink[] = [];
  let goneCount = 0;
  const bench = await startEach(context, () => ({
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

testEach("an observation names the route, the status and the bytes, never the target", async (context) => {
  const bench = await startEach(context, () => reply("four"));
  await bench
    .open()
    .send(post("/secret?_token=x", "abc", "Connection: close\r\n"))
    .untilClosed();
  await bench
    .open()
    .send(post("/secret", "abc", "Content-Encoding: gzip\r\n"))
    .untilClosed();

  const [served, refused] = bench.observations;
  assert.deepEqual(
    { ...served, durationMs: 0 },
    { route: "test", status: 200, durationMs: 0, bytesIn: 3, bytesOut: 4 },
  );
  assert.equal(refused?.route, "refused");
  assert.equal(refused?.status, 415);
});

testEach(
  "each handled request has a span with the trace of its headers, ended once, and the area sees its trace",
  async (context) => {
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
    const { open } = await startEach(context, handle, { tracer });
    const peer = open();
    peer.send(`GET / HTTP/1.1\r\nHost: a\r\ntraceparent: ${PARENT}\r\ntracestate: a=1\r\ntracestate: b=2\r\n\r\n`);
    await peer.until(/200 OK/);
    peer.send("PUT /fault HTTP/1.1\r\nHost: a\r\ntraceparent: broken\r\nContent-Length: 1\r\n\r\nx");
    await peer.until(/ 500 /);
    peer.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    await peer.closed;
    const scheme = context.isHttp2 ? "https" : "http";
    assert.deepEqual(begun, [
      { method: "GET", scheme, parent: { parent: PARENT, state: "a=1,b=2" } },
      { method: "PUT", scheme, parent: undefined },
      { method: "GET", scheme, parent: undefined },
    ]);
    assert.deepEqual(ended, [
      { route: "A1 /path", status: 200 },
      { route: "failed", status: 500 },
      { route: "/stream", status: 200 },
    ]);
  },
);

function endAtOnce(sink: StreamSink): () => void {
  queueMicrotask(() => sink.end());
  return () => {};
}

testEach(
  "a drain waits only for complete requests: half a body is answered with 503, half a head and an idle connection end",
  async (context) => {
    const answer = gate<HttpReply>();
    const bench = await startEach(context, () => answer.promise);
    const whole = bench.open().send(post("/whole", "abc"));
    const body = bench.open().send(`POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na`);
    // After a complete request: that one is answered, and its answer is the last of the connection.
    const both = bench
      .open()
      .send(`${post("/whole", "abc")}POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na`);
    await untilOpen(bench.listener, 4);
    const head = bench.open().send("GET /half HTT");
    const idle = bench.open();
    await Promise.all([head, idle].map(({ opened }) => opened));

    const closed = bench.listener.close(60_000);
    assert.match(await body.untilClosed(), /^HTTP\/1\.1 503 /);
    assert.equal(await head.untilClosed(), "");
    assert.equal(await idle.untilClosed(), "");
    answer.open(reply("late"));
    const answer1 = await whole.untilClosed();
    assert.match(answer1, /^HTTP\/1\.1 200 [\s\S]*late$/);
    if (!context.isHttp2) assert.match(answer1, /\r\nConnection: close\r\n/i);
    assert.match(
      await both.untilClosed(),
      context.isHttp2 ? /200 [\s\S]*late[\s\S]*503 / : /^HTTP\/1\.1 200 [\s\S]*late$/,
    );
    await closed;
  },
);

testEach("the caller is the address from a trusted proxy, or else the peer", async (context) => {
  const callerReply = (request: { remoteAddress: string; remotePort: number }): HttpReply =>
    reply(`${request.remoteAddress} ${request.remotePort > 0}`);
  const headers = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n";
  const trusting = await startEach(context, callerReply, { proxies: new TrustedProxies(["127.0.0.0/8"]) });
  assert.match(await trusting.open().send(get("/", headers)).untilClosed(), /\r\n203\.0\.113\.9 false$/);
  const plain = await startEach(context, callerReply);
  assert.match(await plain.open().send(get("/", headers)).untilClosed(), /\r\n127\.0\.0\.1 true$/);
});
