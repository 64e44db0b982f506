/** The edge against broken and hostile clients (threats, S-01 to S-03, S-10), over raw sockets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TransportName, transportNames } from "../../src/edge/http/transport.ts";
import { notThroughFront } from "../harness/cluster/front-exceptions.ts";
import { startServer, TOKEN } from "../harness/server.ts";

const HEAD = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\n`;
/** Sent after each row: answered only if the row is answered, and never changed by it. */
const PROBE = `GET /echo/probe HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`;
const PING = '["PING"]';
const chunked = (body: string): string => `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${body}`;
const sized = (lengths: string, body = PING): string => `POST / HTTP/1.1\r\n${HEAD}${lengths}\r\n\r\n${body}`;

const refused: [string, string][] = [
  ["a length and a transfer encoding", sized("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n")],
  ["a transfer encoding and a length", sized("Transfer-Encoding: chunked\r\nContent-Length: 4", "0\r\n\r\n")],
  ["two lengths that differ", sized("Content-Length: 8\r\nContent-Length: 0")],
  ["two lengths that agree", sized("Content-Length: 8\r\nContent-Length: 8")],
  ["a list of lengths", sized("Content-Length: 8, 8")],
  ["a length with a sign", sized("Content-Length: +8")],
  ["a negative length", sized("Content-Length: -8")],
  ["a length in hex", sized("Content-Length: 0x8")],
  ["a length with a space inside", sized("Content-Length: 8 8")],
  ["an empty length", sized("Content-Length:")],
  ["a length beyond 64 bits", sized("Content-Length: 99999999999999999999999")],
  ["a space before the colon of a length", sized("Content-Length : 8")],
  ["a space before the colon of a transfer encoding", sized("Transfer-Encoding : chunked", "0\r\n\r\n")],
  ["an unknown transfer encoding", sized("Transfer-Encoding: xchunked", "0\r\n\r\n")],
  ["identity as transfer encoding", sized("Transfer-Encoding: identity")],
  ["chunked before another encoding", sized("Transfer-Encoding: chunked, identity", "0\r\n\r\n")],
  ["a compressed transfer", sized("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")],
  ["chunked twice", sized("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")],
  ["a vertical tab before chunked", sized("Transfer-Encoding: \x0bchunked", "0\r\n\r\n")],
  ["an empty transfer encoding", sized("Transfer-Encoding:", "0\r\n\r\n")],
  ["a transfer encoding in HTTP/1.0", `POST / HTTP/1.0\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["bare line feeds", `GET /ping HTTP/1.1\nHost: a\nAuthorization: Bearer ${TOKEN}\n\n`],
  ["one bare line feed", `GET /ping HTTP/1.1\r\nHost: a\nAuthorization: Bearer ${TOKEN}\r\n\r\n`],
  ["a bare line feed at the end", `GET /ping HTTP/1.1\r\n${HEAD}\n`],
  ["a bare carriage return in a value", `GET /ping HTTP/1.1\r\n${HEAD}X: a\rY: b\r\n\r\n`],
  ["a folded header", `GET /ping HTTP/1.1\r\n${HEAD}X: a\r\n b\r\n\r\n`],
  ["a NUL in a value", `GET /ping HTTP/1.1\r\n${HEAD}X: a\x00b\r\n\r\n`],
  ["a NUL in a name", `GET /ping HTTP/1.1\r\n${HEAD}X\x00: a\r\n\r\n`],
  ["a header without a colon", `GET /ping HTTP/1.1\r\n${HEAD}Xa\r\n\r\n`],
  ["a header without a name", `GET /ping HTTP/1.1\r\n${HEAD}: a\r\n\r\n`],
  ["a space before the first header", `GET /ping HTTP/1.1\r\n Host: a\r\n${HEAD}\r\n`],
  ["chunk sizes ended by line feeds", chunked(`8\n${PING}\r\n0\r\n\r\n`)],
  ["chunks ended by line feeds", chunked(`8\r\n${PING}\n0\r\n\r\n`)],
  ["a chunk size with a prefix", chunked(`0x8\r\n${PING}\r\n0\r\n\r\n`)],
  ["a chunk size with a sign", chunked(`+8\r\n${PING}\r\n0\r\n\r\n`)],
  ["a negative chunk size", chunked(`-8\r\n${PING}\r\n0\r\n\r\n`)],
  ["a chunk size that overflows", chunked(`10000000000000008\r\n${PING}\r\n0\r\n\r\n`)],
  ["a chunk size followed by a space", chunked(`8 \r\n${PING}\r\n0\r\n\r\n`)],
  ["a line feed in a chunk extension", chunked(`8;a\nb\r\n${PING}\r\n0\r\n\r\n`)],
  ["a chunk longer than its size", chunked(`4\r\n${PING}\r\n0\r\n\r\n`)],
  ["no host", `GET /ping HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`],
  ["two hosts", `GET /ping HTTP/1.1\r\n${HEAD}Host: b\r\n\r\n`],
  ["HTTP/1.2", `GET /ping HTTP/1.2\r\n${HEAD}\r\n`],
  ["HTTP/2.0", `GET /ping HTTP/2.0\r\n${HEAD}\r\n`],
  ["a version in lower case", `GET /ping http/1.1\r\n${HEAD}\r\n`],
  ["a space in the target", `GET /ping x HTTP/1.1\r\n${HEAD}\r\n`],
  ["a control character in the target", `GET /ping\x01 HTTP/1.1\r\n${HEAD}\r\n`],
  ["bytes above 127 in the target", `GET /echo/\xc3\xa9 HTTP/1.1\r\n${HEAD}\r\n`],
  ["tabs in the request line", `GET\t/ping\tHTTP/1.1\r\n${HEAD}\r\n`],
  ["a method in lower case", `get /ping HTTP/1.1\r\n${HEAD}\r\n`],
  ["a target that is not a path", `GET * HTTP/1.1\r\n${HEAD}\r\n`],
  ["a URL without a host", `GET http:///ping HTTP/1.1\r\n${HEAD}\r\n`],
  ["a URL with a fragment for a host", `GET http://#a/ping HTTP/1.1\r\n${HEAD}\r\n`],
  ["a URL with a user", `GET http://a@b/ping HTTP/1.1\r\n${HEAD}\r\n`],
  ["a compressed body", sized("Content-Encoding: gzip\r\nContent-Length: 8")],
];

function testEach(name: string, run: (transport: TransportName) => Promise<void>, skip: string | false = false): void {
  for (const transport of transportNames) test(`${name} (${transport})`, { skip }, () => run(transport));
}

for (const [name, bytes] of refused) {
  testEach(`S-02: ${name}: refused, and the next request is not answered`, async (transport) => {
    await using server = await startServer({ transport, limits: { refusedMs: 50 } });

    const answer = await server.raw(bytes + PROBE);

    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]);
    assert.equal(statuses.length, 1, answer);
    assert.ok(["400", "415", "501"].includes(statuses[0] ?? ""), answer);
    assert.match(answer, /\r\nContent-Type: application\/json\r\n/);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /\r\n\r\n\{"error":"ERR [^"]+"\}$/);
  });
}

const served: [string, string, string][] = [
  ["a plain length", sized("Content-Length: 8"), "PONG"],
  ["white space after a length", sized("Content-Length: 8  "), "PONG"],
  ["chunks", chunked(`3\r\n["P\r\n5\r\nING"]\r\n0\r\n\r\n`), "PONG"],
  ["a chunk extension", chunked(`8;a=b\r\n${PING}\r\n0\r\n\r\n`), "PONG"],
  ["a header that only looks like a length", `GET /echo/a HTTP/1.1\r\n${HEAD}Content_Length: 8\r\n\r\n`, "a"],
  ["a body on GET", `GET /ping HTTP/1.1\r\n${HEAD}Content-Length: 5\r\n\r\nhello`, "PONG"],
  ["an absolute target", `GET http://elsewhere/ping HTTP/1.1\r\n${HEAD}\r\n`, "PONG"],
  ["an empty line before the request", `\r\nGET /ping HTTP/1.1\r\n${HEAD}\r\n`, "PONG"],
];

for (const [name, bytes, result] of served) {
  testEach(`S-02: ${name}: served, and the next request is separate`, async (transport) => {
    await using server = await startServer({ transport });

    const answer = await server.raw(bytes + PROBE);

    assert.deepEqual(
      [...answer.matchAll(/\r\n\r\n(\{.*?\})/g)].map((match) => match[1]),
      [`{"result":"${result}"}`, '{"result":"probe"}'],
    );
  });
}

testEach("A-18: a target beyond the header limit is 431 in JSON", async (transport) => {
  await using server = await startServer({ transport });
  assert.deepEqual((await server.get(`/echo/${"x".repeat(60_000)}`)).json, { result: "x".repeat(60_000) });

  const reply = await server.get(`/echo/${"x".repeat(70_000)}`);
  assert.equal(reply.status, 431);
  assert.deepEqual(reply.json, { error: "ERR max header size exceeded. Limit: 65536 bytes" });
});

test("A-14: deeply nested JSON of any size is 400, and the server keeps serving", async () => {
  await using server = await startServer();
  for (const depth of [3, 129, 60_000, 4_000_000]) {
    for (const path of ["/", "/pipeline", "/multi-exec"]) {
      const reply = await server.post(path, "[".repeat(depth) + "]".repeat(depth));
      assert.equal(reply.status, 400, `${path} ${depth}`);
      assert.match(reply.text, /^\{"error":"ERR failed to parse /, `${path} ${depth}`);
    }
  }
  const objects = `["SET","k",${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}]`;
  assert.equal((await server.post("/", objects)).status, 400);
  assert.equal((await server.get("/ping")).status, 200);
});

testEach(
  "A-13: a request without a token is refused before its body is sent",
  async (transport) => {
    await using server = await startServer({ transport });
    const answer = await server.raw(
      "POST /set/k HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n",
    );
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.equal(server.budget.usedBytes, 0);
  },
  notThroughFront("a refusal before the body"),
);

// A.errors.503
test("A-13: bodies that together exceed the budget are 503, and the budget is released", async () => {
  await using server = await startServer({ inFlightBytesMax: 190_000 });
  const reply = await server.post("/set/k", "x".repeat(200_000));
  assert.equal(reply.status, 503);
  assert.deepEqual(reply.json, { error: "ERR server is busy; try again" });

  assert.deepEqual((await server.post("/set/k", "x".repeat(90_000))).json, { result: "OK" });
  assert.equal(server.budget.usedBytes, 0);
});

testEach("S-03: a compressed body is 415 with a text that names the remedy", async (transport) => {
  await using server = await startServer({ transport });
  for (const encoding of ["gzip", "br", "deflate", "zstd", "gzip, identity"]) {
    const reply = await server.post("/set/k", "abc", { headers: { "content-encoding": encoding } });
    assert.equal(reply.status, 415, encoding);
    assert.deepEqual(reply.json, {
      error: `ERR content encoding is not supported: '${encoding}'. Send the body uncompressed`,
    });
  }
  assert.equal((await server.post("/set/k", "abc", { headers: { "content-encoding": "identity" } })).status, 200);
});

test("S-10: an internal error is 500 with an id that is in the log, and no other detail", async () => {
  await using server = await startServer({
    area: (store) => ({
      bodyBytesMax: (target) => store.bodyBytesMax(target),
      handle() {
        throw new Error("at /home/someone/file.ts:1");
      },
    }),
  });

  const reply = await server.get("/get/k");

  assert.equal(reply.status, 500);
  const id = /^\{"error":"ERR internal error\. See request (test-\w+) in the log"\}$/.exec(reply.text)?.[1];
  assert.ok(id !== undefined, reply.text);
  assert.ok(server.logLines.some((line) => line.includes(`"requestId":"${id}"`)));
});

testEach("S-01: a thousand idle and half-open connections do not delay a good client", async (transport) => {
  await using server = await startServer({ transport });
  const { connect } = await import("node:net");
  const sockets = Array.from({ length: 1_000 }, (_, i) => {
    const socket = connect({ host: "127.0.0.1", port: server.listener.port });
    socket.on("error", () => {});
    if (i % 2 === 0) socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Le");
    return socket;
  });
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));

  for (let i = 0; i < 20; i += 1) assert.equal((await server.get("/ping")).status, 200);

  for (const socket of sockets) socket.destroy();
});
