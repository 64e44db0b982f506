/** The sockets of a copy in S3, against a server that writes bytes by hand. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { contentOf } from "../../../replication/objects/object-store.ts";
import { CredentialsSource } from "../../../replication/objects/s3/credentials.ts";
import { S3Store } from "../../../replication/objects/s3/s3-store.ts";
import { loadSign } from "../../../replication/objects/s3/signing.ts";
import { openHttpClient } from "./http-client.ts";

interface Reached {
  readonly store: S3Store;
  readonly clock: VirtualClock;
  readonly server: Server;
  /** What the server has received, as text. */
  readonly requests: string[];
}

const NO_KEY = "<Error><Code>NoSuchKey</Code></Error>";
const ABSENT = `HTTP/1.1 404 Not Found\r\ncontent-length: ${NO_KEY.length}\r\n\r\n${NO_KEY}`;
const RANGE = { start: 0, end: 10 };

async function storeOn(context: TestContext, reply: (socket: Socket, request: string) => void): Promise<Reached> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const [head = "", body = ""] = text.split("\r\n\r\n");
      if (!text.includes("\r\n\r\n") || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return;
      requests.push(text);
      reply(socket, text);
      text = "";
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clock = new VirtualClock();
  const { send, close } = openHttpClient();
  const environment = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
  const store = new S3Store({
    address: {
      kind: "s3",
      bucket: "bucket",
      prefix: "",
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: "us-east-1",
      style: "path",
      encryption: undefined,
      isConditional: false,
    },
    credentials: new CredentialsSource({ environment, disk: fileDisk, clock }),
    sign: await loadSign(),
    send,
    clock,
    random: seededRandom(1),
    closeConnections: close,
  });
  context.after(async () => {
    await store.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { store, clock, server, requests };
}

test("a request has its path, its headers and its body as they were signed", async (context) => {
  const { store, requests } = await storeOn(context, (socket, request) =>
    socket.write(request.startsWith("GET") ? ABSENT : "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
  );
  assert.equal(await store.putNew("a %2F+'/?#", contentOf(Buffer.from("body"))), "stored");
  const put = requests.at(-1) ?? "";
  assert.match(put, /^PUT \/bucket\/a%20%252F%2B%27\/%3F%23 HTTP\/1\.1\r\n/);
  assert.match(put, /\r\nhost: 127\.0\.0\.1:\d+\r\n/i);
  assert.match(put, /\r\ncontent-length: 4\r\n/i);
  assert.match(put, /\r\ncontent-md5: hBotaJrYa9FhEVvPjHqtkA==\r\n|\r\ncontent-md5: [A-Za-z0-9+/]{22}==\r\n/i);
  assert.match(put, /SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date;x-amz-meta-larder-mark,/);
  assert.doesNotMatch(put, /transfer-encoding/i);
  assert.match(put, /\r\n\r\nbody$/);
});

const broken: readonly [string, string, RegExp][] = [
  [
    "a body that is cut",
    "HTTP/1.1 206 OK\r\ncontent-length: 10\r\ncontent-range: bytes 0-9/10\r\n\r\n012",
    /request failed/,
  ],
  [
    "a chunked body that is cut",
    "HTTP/1.1 206 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01234\r\n",
    /request failed/,
  ],
  ["no answer", "", /request failed/],
  ["half a head", "HTTP/1.1 206 OK\r\ncontent-le", /request failed/],
  ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", /request failed/],
  ["a head that does not end", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(40)}`, /request failed/],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n01", /request failed/],
];

test("an answer that is cut or is no HTTP may come later", async (context) => {
  for (const [name, text, message] of broken) {
    const { store } = await storeOn(context, (socket) => socket.end(text));
    await assert.rejects(store.get("a", RANGE), { name: "ObjectStoreFailure", kind: "unavailable", message }, name);
  }
});

test("a redirect is not followed, and its body is not decoded", async (context) => {
  const { store, requests } = await storeOn(context, (socket) =>
    socket.end("HTTP/1.1 307 Temporary\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
  );
  await assert.rejects(store.get("a", RANGE), { kind: "refused", message: "s3://bucket, a: the store answered 307" });
  assert.equal(requests.length, 1);
});

test("a connection that nobody accepts is reported by its code", async (context) => {
  const { store, server } = await storeOn(context, () => {});
  server.close();
  await once(server, "close");
  await assert.rejects(store.get("a", RANGE), { kind: "unavailable", message: /request failed: ECONNREFUSED$/ });
});

test("after 30 s without progress the connection is closed", async (context) => {
  for (const start of ["", "HTTP/1.1 206 OK\r\ncontent-length: 10\r\ncontent-range: bytes 0-9/10\r\n\r\n01"]) {
    const asked = Promise.withResolvers<Socket>();
    const { store, clock } = await storeOn(context, (socket) => {
      if (start !== "") socket.write(start);
      asked.resolve(socket);
    });
    const call = assert.rejects(store.get("a", RANGE), { kind: "unavailable", message: /made no progress for 30 s$/ });
    const socket = await asked.promise;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    clock.advance(30_000);
    await call;
    await closed;
  }
});

test("the connection of an answer that is too long is closed", async (context) => {
  const asked = Promise.withResolvers<Socket>();
  const { store } = await storeOn(context, (socket) => {
    socket.write(
      `HTTP/1.1 206 OK\r\ncontent-range: bytes 0-9/10\r\ncontent-length: 1000000000\r\n\r\n${"x".repeat(100_000)}`,
    );
    asked.resolve(socket);
  });
  await assert.rejects(store.get("a", RANGE), { kind: "damaged", message: /more than 10 bytes$/ });
  const socket = await asked.promise;
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
});

test("a connection that is cut while a body is sent may come later: it is no fault of the content", async (context) => {
  for (const answer of ["", "HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"]) {
    const { store, server } = await storeOn(context, () => {});
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      socket.on("error", () => {});
      socket.on("data", (bytes) => {
        if (bytes.toString("latin1", 0, 3) === "GET") return void socket.write(ABSENT);
        if (answer === "") socket.resetAndDestroy();
        else socket.end(answer, () => socket.destroy());
      });
    });
    const content = contentOf(Buffer.alloc(10_000_000));
    await assert.rejects(store.putNew("a", content), { name: "ObjectStoreFailure", kind: "unavailable" }, answer);
  }
});
