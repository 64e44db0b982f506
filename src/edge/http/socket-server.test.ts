/** The start of listening, over real sockets. */
import assert from "node:assert/strict";
import dns from "node:dns";
import { once } from "node:events";
import net, { createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { startListening } from "./socket-server.ts";

const host = "127.0.0.1";
/** Node 24 has no bound sockets. */
const skip = "BoundSocket" in net ? false : "needs Node 26.4";

function newServer(context: TestContext): Server {
  const server = createServer((socket) => socket.end("hello"));
  context.after(() => server.close());
  return server;
}

async function answerOf(port: number): Promise<string> {
  const socket = net.connect({ host, port });
  const [bytes] = await once(socket, "data");
  socket.destroy();
  return String(bytes);
}

test("listens on an IPv4 address without a name look-up", { skip }, async (context) => {
  const lookup = context.mock.method(dns, "lookup");
  const server = newServer(context);

  await startListening(server, { host, port: 0 });

  assert.equal(lookup.mock.callCount(), 0);
  assert.equal((server.address() as net.AddressInfo).address, host);
});

test("any free port resolves with the real port", async (context) => {
  const server = newServer(context);

  const port = await startListening(server, { host, port: 0 });

  assert.equal((server.address() as net.AddressInfo).port, port);
  assert.equal(await answerOf(port), "hello");
});

test("a free port that is named resolves with it, right after its last server closed", async (context) => {
  const last = createServer((socket) => socket.end("last"));
  const port = await startListening(last, { host, port: 0 });
  assert.equal(await answerOf(port), "last");
  await new Promise((resolve) => last.close(resolve));

  assert.equal(await startListening(newServer(context), { host, port }), port);
  assert.equal(await answerOf(port), "hello");
});

test("listens on a name", async (context) => {
  const server = newServer(context);

  const port = await startListening(server, { host: "localhost", port: 0 });

  assert.equal((server.address() as net.AddressInfo).port, port);
});

/** The error of a port in use, as `server.listen` reports it. */
const inUse = (port: number) => ({
  code: "EADDRINUSE",
  syscall: "listen",
  address: host,
  port,
  message: `listen EADDRINUSE: address already in use ${host}:${port}`,
});

test("rejects a port in use with an error that names the address, and can listen on another", async (context) => {
  const port = await startListening(newServer(context), { host, port: 0 });
  const server = newServer(context);

  await assert.rejects(startListening(server, { host, port }), inUse(port));

  assert.deepEqual([server.listenerCount("error"), server.listenerCount("listening")], [0, 0]);
  assert.equal(await answerOf(await startListening(server, { host, port: 0 })), "hello");
});

test("rejects a port that another server takes after it was bound with an error that names the address", {
  skip,
}, async (context) => {
  const reserved = new net.BoundSocket({ host, port: 0 });
  const { port } = reserved.address() as net.AddressInfo;
  const rival = newServer(context);
  const server = newServer(context);
  const listen = server.listen.bind(server);
  context.mock.method(server, "listen", (options: net.ListenOptions) => {
    // Linux lets two sockets have a port until one of them listens.
    if (!rival.listening) rival.listen({ handle: reserved });
    return listen(options);
  });

  await assert.rejects(startListening(server, { host, port }), inUse(port));
  assert.equal(await answerOf(port), "hello");
});

test("rejects an address of another machine with the error of the system", async (context) => {
  const refused = startListening(newServer(context), { host: "192.0.2.1", port: 0 });
  await assert.rejects(refused, { code: "EADDRNOTAVAIL", syscall: "listen", address: "192.0.2.1" });
});
