/** Requests of HTTP/2 by frames, by clients that others wrote, and HTTP/1 on the same port. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { Agent, fetch } from "undici";
import {
  errorCode,
  FramePeer,
  fieldBlock,
  flag,
  frame,
  GET,
  request,
  setting,
  type,
  uint32,
} from "../../../../test/harness/http2-frames.ts";
import { reply, startEach, testHttp1, testHttp2, untilOpen } from "../../../../test/harness/listener-bench.ts";
import { localCertificates } from "../../../../test/harness/local-certificates.ts";
import { missingProgram } from "../../../../test/harness/required-programs.ts";
import type { HttpReply, HttpStream, StreamSink } from "../../handler.ts";

type Fields = readonly (readonly [string, string])[];

const [, , , AUTHORITY] = GET as readonly [unknown, unknown, unknown, readonly [string, string]];
const POST: Fields = [[":method", "POST"], ...GET.slice(1)];
const MALFORMED = '{"error":"ERR malformed HTTP request"}';
const TUNNEL = '{"error":"ERR HTTP method CONNECT is not allowed"}';
const TWO_TOKENS = '{"error":"WRONGPASS more than one Authorization header; send one"}';
const EXPECTATION = '{"error":"ERR only Expect: 100-continue is supported"}';
const COMPRESSED = `{"error":"ERR content encoding is not supported: 'gzip'. Send the body uncompressed"}`;
const TOO_LARGE = '{"error":"ERR max request size exceeded. Limit: 1000 bytes, Actual: 1001 bytes"}';
/** PROTOCOL_ERROR: nghttp2 refuses it before larder sees it. */
const REFUSED_BY_NGHTTP2 = "reset 1";

/** The fields of a request without a body, and its response or reset. */
const heads: readonly (readonly [string, Fields, string])[] = [
  ["a plain request", GET, "GET / a"],
  ["a Host that is the authority", [...GET, ["host", "A"]], "GET / A"],
  ["a Host without an authority", [...GET.slice(0, 3), ["host", "b"]], "GET / b"],
  ["a Host that is not the authority", [...GET, ["host", "b"]], MALFORMED],
  ["two Hosts", [...GET.slice(0, 3), ["host", "a"], ["host", "a"]], REFUSED_BY_NGHTTP2],
  ["neither Host nor authority", GET.slice(0, 3), REFUSED_BY_NGHTTP2],
  ["two tokens", [...GET, ["authorization", "Bearer a"], ["authorization", "Bearer b"]], TWO_TOKENS],
  ["Connection", [...GET, ["connection", "close"]], REFUSED_BY_NGHTTP2],
  ["Keep-Alive", [...GET, ["keep-alive", "timeout=1"]], REFUSED_BY_NGHTTP2],
  ["Proxy-Connection", [...GET, ["proxy-connection", "close"]], REFUSED_BY_NGHTTP2],
  ["Transfer-Encoding", [...GET, ["transfer-encoding", "chunked"]], REFUSED_BY_NGHTTP2],
  ["Upgrade", [...GET, ["upgrade", "websocket"]], REFUSED_BY_NGHTTP2],
  ["TE with gzip", [...GET, ["te", "gzip"]], REFUSED_BY_NGHTTP2],
  ["TE with trailers", [...GET, ["te", "trailers"]], "GET / a"],
  ["a name in upper case", [...GET, ["X-A", "1"]], REFUSED_BY_NGHTTP2],
  ["a value that is visible to the area", [...GET, ["x", "1"]], "GET / a 1"],
  ["a line end in a value, which nghttp2 drops with its field", [...GET, ["x", "1\r\nhost: b"]], "GET / a"],
  ["a repeated method", [...GET, [":method", "GET"]], REFUSED_BY_NGHTTP2],
  ["an unknown pseudo-header", [...GET, [":x", "1"]], REFUSED_BY_NGHTTP2],
  ["a pseudo-header after a field", [...GET.slice(0, 3), ["x", "1"], AUTHORITY], REFUSED_BY_NGHTTP2],
  ["no path", GET.filter(([name]) => name !== ":path"), REFUSED_BY_NGHTTP2],
  ["an empty path", GET.map(([name, value]) => [name, name === ":path" ? "" : value]), REFUSED_BY_NGHTTP2],
  ["a space in the path", GET.map(([name, value]) => [name, name === ":path" ? "/a b" : value]), REFUSED_BY_NGHTTP2],
  ["bytes above 127 in the path", GET.map(([name, value]) => [name, name === ":path" ? "/\xe9" : value]), MALFORMED],
  ["a method in lower case", [[":method", "get"], ...GET.slice(1)], MALFORMED],
  ["OPTIONS of the asterisk", [[":method", "OPTIONS"], GET[1], [":path", "*"], AUTHORITY] as Fields, MALFORMED],
  [
    "CONNECT",
    [
      [":method", "CONNECT"],
      [":authority", "a:80"],
    ],
    TUNNEL,
  ],
  ["extended CONNECT", [[":method", "CONNECT"], [":protocol", "websocket"], ...GET.slice(1)], REFUSED_BY_NGHTTP2],
  ["a length without a body", [...GET, ["content-length", "1"]], REFUSED_BY_NGHTTP2],
  ["an unknown expectation", [...GET, ["expect", "tea"]], EXPECTATION],
];

testHttp2("S-02: the head of each stream is one request or refused, and the next stream is served", async (context) => {
  const { listener } = await startEach(context, (head) =>
    reply([head.method, head.target, head.header("host"), head.header("x")].join(" ").trimEnd()),
  );
  for (const [name, fields, end] of heads) {
    const peer = new FramePeer(listener.port).send(request(1, fields), request(3));
    assert.equal(await peer.endOf(1), end, name);
    assert.equal(await peer.endOf(3), "GET / a", name);
    peer.socket.destroy();
  }
});

/** The frames after the head of a POST with these fields, and the response or reset. */
const bodies: readonly (readonly [string, Fields, readonly Buffer[], string])[] = [
  ["a body without a length", [], [frame(type.data, 1, "abc"), frame(type.data, 1, "d", flag.endStream)], "abcd"],
  ["a body with its length", [["content-length", "3"]], [frame(type.data, 1, "abc", flag.endStream)], "abc"],
  ["a body with trailers", [], [frame(type.data, 1, "abc"), trailers([["x-sum", "1"]])], "abc"],
  ["only trailers", [], [trailers([["x-sum", "1"]])], ""],
  ["a pseudo-header in trailers", [], [frame(type.data, 1, "abc"), trailers([[":path", "/b"]])], REFUSED_BY_NGHTTP2],
  ["less than its length", [["content-length", "4"]], [frame(type.data, 1, "abc", flag.endStream)], REFUSED_BY_NGHTTP2],
  [
    "two lengths",
    [
      ["content-length", "1"],
      ["content-length", "1"],
    ],
    [],
    REFUSED_BY_NGHTTP2,
  ],
  ["a length with a sign", [["content-length", "+1"]], [], REFUSED_BY_NGHTTP2],
  ["a compressed body", [["content-encoding", "gzip"]], [], COMPRESSED],
  ["more than the limit", [], [frame(type.data, 1, "x".repeat(1_001))], TOO_LARGE],
];

function trailers(fields: Fields): Buffer {
  return frame(type.headers, 1, fieldBlock(fields), flag.endHeaders | flag.endStream);
}

testHttp2("S-02: a body ends with its stream and has its length, or is refused", async (context) => {
  const { listener } = await startEach(context, ({ body }) => reply(body.toString()));
  for (const [name, fields, frames, end] of bodies) {
    const peer = new FramePeer(listener.port);
    peer.send(frame(type.headers, 1, fieldBlock([...POST, ...fields]), flag.endHeaders), ...frames, request(3));
    assert.equal(await peer.endOf(1), end, name);
    assert.equal(await peer.endOf(3), "", name);
    peer.socket.destroy();
  }
});

testHttp2("S-02: more bytes than the length of a body end the connection", async (context) => {
  const { listener } = await startEach(context, () => assert.fail("handled"));
  const peer = new FramePeer(listener.port);
  const head = fieldBlock([...POST, ["content-length", "2"]]);
  peer.send(frame(type.headers, 1, head, flag.endHeaders), frame(type.data, 1, "abc", flag.endStream));
  await peer.untilClosed();
});

testHttp2("a peer is asked to send no more of a refused body, and its other streams continue", async (context) => {
  const { listener } = await startEach(context, ({ target }) => reply(target));
  const peer = new FramePeer(listener.port);
  const head = fieldBlock([...POST, ["content-length", "1001"]]);
  peer.send(frame(type.headers, 1, head, flag.endHeaders), frame(type.data, 1, "x".repeat(500)));

  assert.match(await peer.endOf(1), /Limit: 1000 bytes, Actual: 1001 bytes/);
  const stop = await peer.find((each) => each.type === type.reset);
  assert.deepEqual([stop?.stream, stop?.payload.readUInt32BE(0)], [1, errorCode.none]);
  assert.equal(await peer.send(request(3)).endOf(3), "/");
  peer.socket.destroy();
});

testHttp2("a stop sends GOAWAY, and lets the requests of the connection finish", async (context) => {
  const answer = Promise.withResolvers<HttpReply>();
  const bench = await startEach(context, () => answer.promise);
  const peer = new FramePeer(bench.listener.port).send(request(1));
  await untilOpen(bench.listener, 1);

  const closed = bench.listener.close(60_000);
  assert.equal(await peer.goaway(), errorCode.none);
  answer.resolve(reply("done"));
  assert.equal(await peer.endOf(1), "done");
  await closed;
  await peer.untilClosed();
});

const OTHER: Fields = GET.map(([name, value]) => [name, name === ":path" ? "/other" : value]);

testHttp2("an event stream leaves other streams alone, and stops while its window is closed", async (context) => {
  const opened = Promise.withResolvers<StreamSink>();
  const stream: HttpStream = {
    status: 200,
    headers: [],
    open(sink) {
      opened.resolve(sink);
      return () => {};
    },
  };
  const bench = await startEach(context, ({ target }) => (target === "/" ? stream : reply("other")));
  const peer = new FramePeer(bench.listener.port, { settings: setting(4, 3) }).send(request(1));
  const sink = await opened.promise;
  sink.write("abcdef");
  await peer.find((each) => each.type === type.data);
  assert.equal(sink.queuedBytes, 6);
  peer.send(frame(type.headers, 3, fieldBlock(OTHER), flag.endHeaders | flag.endStream));
  peer.send(frame(type.window, 3, uint32(2)));
  assert.equal(await peer.endOf(3), "other");
  peer.socket.destroy();
  await untilOpen(bench.listener, 0);
});

testHttp1("clients that do not offer HTTP/2 are served as before on the same port", async (context) => {
  const bench = await startEach({ ...context, isHttp2: true }, ({ target }) => reply(target));
  for (const ALPNProtocols of [["http/1.1"], undefined]) {
    const socket = connect({
      host: "127.0.0.1",
      port: bench.listener.port,
      servername: "localhost",
      ca: localCertificates[0].certificate,
      ...(ALPNProtocols === undefined ? {} : { ALPNProtocols }),
    });
    socket.setEncoding("latin1");
    let received = "";
    socket.on("data", (text) => (received += String(text)));
    socket.write("GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    assert.match(received, /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n\/oneHTTP\/1\.1 200 OK[\s\S]*\r\n\r\n\/two$/);
  }
});

testHttp2(
  "undici speaks HTTP/2 with the listener: bodies, a megabyte, HEAD and a hundred requests at once",
  async (context) => {
    const versions = new Set<string>();
    const { listener } = await startEach(
      context,
      ({ method, body, target }) => (target === "/large" ? reply("x".repeat(1_000_000)) : reply(`${method} ${body}`)),
      { budgetBytes: 100_000_000 },
    );
    const dispatcher = new Agent({ allowH2: true, connections: 1, connect: { ca: localCertificates[0].certificate } });
    context.after(() => dispatcher.destroy());
    const send = async (path: string, init: RequestInit = {}): Promise<string> => {
      const response = await fetch(`https://localhost:${listener.port}${path}`, { ...init, dispatcher } as object);
      versions.add(String(response.headers.get("connection")));
      return response.text();
    };

    assert.equal(await send("/", { method: "POST", body: "hello" }), "POST hello");
    assert.equal(await send("/", { method: "HEAD" }), "");
    assert.equal((await send("/large")).length, 1_000_000);
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, i) => send("/", { method: "PUT", body: `${i}` })),
    );
    assert.deepEqual(replies.slice(0, 3), ["PUT 0", "PUT 1", "PUT 2"]);
    // A response of HTTP/1 has the field.
    assert.deepEqual([...versions], ["null"]);
  },
);

test("curl speaks HTTP/2 with the listener, and HTTP/1.1 on the same port", {
  skip: missingProgram("curl"),
}, async (context) => {
  const after = (task: () => unknown): void => context.after(async () => void (await task()));
  const { listener } = await startEach({ transport: "larder", isHttp2: true, after }, ({ method, body }) =>
    reply(`${method} ${body}`),
  );
  const url = `https://localhost:${listener.port}/`;
  const ask = async (version: string, ...more: readonly string[]): Promise<string> =>
    (await promisify(execFile)("curl", ["-sk", "-w", " %{http_version}", `--http${version}`, ...more, url])).stdout;

  assert.equal(await ask("2", "-d", "hello"), "POST hello 2");
  assert.equal(await ask("1.1", "-d", "hello"), "POST hello 1.1");
});

testHttp1("S-01: a client that does not offer HTTP/2 has the timeouts of HTTP/1", async (context) => {
  const limits = { headersTimeoutMs: 50, requestTimeoutMs: 50 };
  const { listener } = await startEach({ ...context, isHttp2: true }, () => reply("never"), { limits });
  const { certificate: ca } = localCertificates[0];
  const socket = connect({ host: "127.0.0.1", port: listener.port, servername: "localhost", ca });
  socket.setEncoding("latin1");
  let received = "";
  socket.on("data", (text) => (received += String(text)));
  socket.write("GET / HTTP/1.1\r\nHost: a\r\nX-");
  await new Promise((resolve) => socket.once("end", resolve));
  socket.destroy();
  assert.match(received, /^HTTP\/1\.1 408 /);
});
