import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createNetServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { HOSTILE_NAME, hostileCertificate, hostileKey } from "../../../test/harness/hostile-certificate.ts";
import { hostileKinds, startHostileServer } from "../../../test/harness/hostile-server.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { type OutboundCall, OutboundClient, type OutboundOptions, type OutboundResult } from "./client.ts";
import { parseDestinations } from "./destination-policy.ts";
import type { Address } from "./resolver.ts";

const loopback: readonly Address[] = [{ address: "127.0.0.1", family: 4 }];

test("sends a call unchanged, with Host and length, and returns the raw answer", async (context) => {
  const server = await listen(context, (request, response) => {
    response.sendDate = false;
    response.writeHead(201, ["Set-Cookie", "a=1", "set-cookie", "b=2", "X-Name", "caf\xe9"]);
    response.end(`${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)} ${server.bodies.length}`);
  });
  const { call, client } = open(context);

  const result = await call({
    url: `http://127.0.0.1:${server.port}/a%20b/?c=d&c=%2F#hash`,
    method: "PUT",
    headers: ["X-One", "1", "X-Two", "caf\xe9", "x-one", "3"],
    body: Buffer.from([0, 255, 13, 10]),
  });

  assert.deepEqual(server.bodies, [Buffer.from([0, 255, 13, 10])]);
  assert.deepEqual(result, {
    kind: "answer",
    status: 201,
    headers: [
      ...["Set-Cookie", "a=1", "set-cookie", "b=2", "X-Name", "caf\xe9"],
      ...["Connection", "keep-alive", "Keep-Alive", "timeout=5", "Transfer-Encoding", "chunked"],
    ],
    body: Buffer.from(
      `PUT /a%20b/?c=d&c=%2F ["host","127.0.0.1:${server.port}","connection","keep-alive","X-One","1","X-Two","caf\xe9","x-one","3","content-length","4"] 1`,
    ),
    isBodyCut: false,
  });
  assert.equal(client.callCount, 0);
});

test("sends an empty query as published", async (context) => {
  const server = await listen(context, (request, response) => response.end(request.url));
  const { call } = open(context);
  for (const target of ["/a?", "/a", "/a?b", "/?#part"]) {
    assert.equal(textOf(await call({ url: `http://127.0.0.1:${server.port}${target}` })), target.replace("#part", ""));
  }
});

test("sends no body for an empty one, with a length of 0 if the method requires it", async (context) => {
  const server = await listen(context, (request, response) => {
    response.end(`${request.headers["content-length"]} ${request.headers["transfer-encoding"]}`);
  });
  const { call } = open(context);
  const lengths: Record<string, string> = {
    GET: "undefined undefined",
    DELETE: "undefined undefined",
    POST: "0 undefined",
  };
  for (const [method, expected] of Object.entries(lengths)) {
    const result = await call({ url: server.url, method, body: Buffer.alloc(0) });
    assert.equal(textOf(result), expected, method);
  }
});

test("sends a body in pieces as one with its length, short or long", async (context) => {
  const server = await listen(context, (request, response) => {
    response.end(`${request.headers["content-length"]} ${request.headers["transfer-encoding"]}`);
  });
  const { call } = open(context);
  const long = [Buffer.alloc(65_536, "a"), Buffer.alloc(1_000_000, "b"), Buffer.from("]")];
  for (const pieces of [[Buffer.from("[1"), Buffer.from("]")], long, [Buffer.from("[2"), Buffer.from("]")]]) {
    const result = await call({ url: server.url, method: "POST", body: pieces });
    const whole = Buffer.concat(pieces);
    assert.equal(textOf(result), `${whole.length} undefined`);
    assert.ok(server.bodies.at(-1)?.equals(whole));
  }
});

test("a destination may answer before it has read a body in pieces, and is called again", async (context) => {
  const { server, port } = await listenSilently(context);
  server.on("connection", (socket) => {
    // Reads only the first chunk.
    socket.once("data", () => {
      socket.pause();
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
  });
  const { call, client } = open(context);
  const pieces = [Buffer.alloc(16_000_000, "a"), Buffer.from("]")];
  for (let count = 0; count < 2; count += 1) {
    assert.equal(textOf(await call({ url: `http://127.0.0.1:${port}/`, method: "POST", body: pieces })), "ok");
  }
  assert.equal(client.callCount, 0);
});

test("calls done once, never inside send", async (context) => {
  const { client } = open(context, { policy: parseDestinations("public", []) });
  const results: OutboundResult[] = [];
  const ended = Promise.withResolvers<void>();

  client.send(someCall({ url: "http://127.0.0.1/" }), (result) => {
    results.push(result);
    ended.resolve();
  });
  assert.deepEqual(results, []);
  await ended.promise;

  assert.equal(results.length, 1);
});

/** URL or header, and the full text of the failure. */
const refusals: readonly (readonly [Partial<OutboundCall>, string])[] = [
  [{ url: "nothing" }, "The destination is not an absolute URL"],
  [{ url: "ftp://a.test/" }, "The destination is not an http or https URL but ftp"],
  [
    { url: "http://[::ffff:127.0.0.1]:80/" },
    "The destination ::ffff:7f00:1 is a loopback address, which --destinations public refuses: set --destinations any or list it in --allow-destination",
  ],
  [
    { url: "http://a.test/?token=secret" },
    "The destination a.test (127.0.0.1) is a loopback address, which --destinations public refuses: set --destinations any or list it in --allow-destination",
  ],
];

test("C-04, C-05: does not connect to a refused destination", async (context) => {
  const { call, client } = open(context, { policy: parseDestinations("public", []) });
  for (const [some, text] of refusals) assert.deepEqual(await call(some), { kind: "failure", text });
  assert.equal(client.socketCount, 0);
});

test("C-10: an invalid header fails only its own call", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  const { call } = open(context);
  assert.equal(textOf(await call({ url: server.url })), "ok");
  assert.deepEqual(await call({ url: server.url, headers: ["A", "b\r\nc: d"] }), {
    kind: "failure",
    text: "The request cannot be sent: invalid A header",
  });
  assert.equal(textOf(await call({ url: server.url })), "ok");
});

test("C-04: tries only those addresses of a name that the policy allows", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  const { call, names } = open(context, { policy: parseDestinations("public", ["127.0.0.1"]) });
  names.set("a.test", [{ address: "127.0.0.2", family: 4 }, { address: "10.0.0.1", family: 4 }, ...loopback]);

  assert.equal(textOf(await call({ url: `http://a.test:${server.port}/` })), "ok");
});

test("C-04: checks the peer address again before a byte is sent", async (context) => {
  const received: unknown[] = [];
  const server = await listen(context, () => {});
  server.server.on("connection", (socket: Socket) => socket.on("data", (piece) => received.push(piece)));
  for (const scheme of ["http", "https"]) {
    let askedCount = 0;
    const { call } = open(context, {
      policy: {
        refusalOf: () => undefined,
        refusalOfAddress: () => {
          askedCount += 1;
          return askedCount === 1 ? undefined : "Not there";
        },
      },
    });
    const closed = once(server.events, "close");
    assert.equal(textOf(await call({ url: `${scheme}://a.test:${server.port}/` })), "Not there");
    await closed;
  }
  assert.deepEqual(received, []);
});

test("tries the next address of a name after a refused connection", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  const { call, names } = open(context);
  names.set("a.test", [{ address: "::1", family: 6 }, ...loopback]);

  assert.equal(textOf(await call({ url: `http://a.test:${server.port}/` })), "ok");
});

test("C-04: an idle connection stays on its checked address, and every new connection is checked", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  const { call, names, lookedUp, clock } = open(context, { policy: parseDestinations("public", ["127.0.0.1"]) });
  const url = `http://a.test:${server.port}/`;
  names.set("a.test", loopback);
  assert.equal(textOf(await call({ url })), "ok");

  names.set("a.test", [{ address: "10.0.0.1", family: 4 }]);
  assert.equal(textOf(await call({ url })), "ok");
  assert.equal(server.connectionCount, 1);
  assert.deepEqual(lookedUp, ["a.test"]);

  clock.advance(60_001);
  assert.equal(textOf(await call({ url })), "ok");
  assert.match(textOf(await call({ url })), /^The destination a.test \(10.0.0.1\) is a private address/);
  assert.deepEqual(lookedUp, ["a.test", "a.test"]);
});

test("reports names without an address, unknown names and closed ports", async (context) => {
  const { call, names } = open(context);
  const gone = await listen(context, () => {});
  await gone.close();
  names.set("empty.test", []);
  assert.equal(textOf(await call({ url: "http://empty.test/" })), "The name has no address: empty.test");
  assert.equal(textOf(await call({ url: "http://no.test/" })), "The name could not be found: no.test");
  assert.equal(textOf(await call({ url: gone.url })), `Connection refused: 127.0.0.1:${gone.port}`);
});

test("C.delivery.address: calls a mapped host over plain http with its own Host, unchecked and without a look-up", async (context) => {
  const server = await listen(context, (request, response) => response.end(request.headers.host));
  const { call, lookedUp, client } = open(context, {
    policy: parseDestinations("public", []),
    map: [
      { host: "*.a.test", address: "127.0.0.1", port: server.port },
      { host: "localhost", address: "127.0.0.1", port: server.port },
    ],
  });
  const hosts: Record<string, string> = {
    "http://b.a.test/": "b.a.test",
    "https://b.a.test/": "b.a.test",
    "https://b.a.test:8443/": "b.a.test:8443",
    "http://localhost:1/": "localhost:1",
  };
  for (const [url, host] of Object.entries(hosts)) {
    assert.equal(textOf(await call({ url })), host);
    assert.equal(client.refusalOf(new URL(url)), undefined);
  }
  assert.deepEqual(lookedUp, []);
  assert.match(client.refusalOf(new URL("http://127.0.0.1/")) ?? "", /--destinations public/);
});

test("checks a certificate against the name, for any address", async (context) => {
  const trusted = getCACertificates("default");
  context.after(() => setDefaultCACertificates(trusted));
  const server = createSecureServer({ cert: hostileCertificate, key: hostileKey }, (request, response) => {
    response.end(`${request.headers.host} ${"servername" in request.socket && request.socket.servername}`);
  });
  const port = await bind(context, server);
  const { call, names } = open(context);
  const { call: callTrusting } = open(context, {}, names);
  names.set(HOSTILE_NAME, loopback).set("other.test", loopback);

  assert.equal(
    textOf(await call({ url: `https://${HOSTILE_NAME}:${port}/` })),
    `The certificate is self-signed: ${HOSTILE_NAME}:${port}`,
  );
  setDefaultCACertificates([hostileCertificate]);
  assert.equal(
    textOf(await callTrusting({ url: `https://${HOSTILE_NAME}:${port}/` })),
    `${HOSTILE_NAME}:${port} ${HOSTILE_NAME}`,
  );
  for (const host of ["other.test", "127.0.0.1"]) {
    assert.equal(
      textOf(await callTrusting({ url: `https://${host}:${port}/` })),
      `The certificate is for another name: ${host}:${port}`,
    );
  }
});

test("C-13: a deadline ends a call in every stage, names the stage, and cancels the rest", async (context) => {
  const server = await listen(context, (request, response) => {
    if (request.url === "/next") response.end("ok");
  });
  const silent = await listenSilently(context);
  const { call, clock, client, names } = open(context, { socketsPerOrigin: 1 });
  const slow = Promise.withResolvers<readonly Address[]>();
  names.set("slow.test", slow.promise);
  const sent = once(server.events, "request");
  const connected = once(silent.server, "connection");
  const results = [
    { url: `http://slow.test:${server.port}/`, timeoutMs: 1_500 },
    { url: `https://127.0.0.1:${silent.port}/`, timeoutMs: 1_750 },
    { url: server.url, timeoutMs: 2_000 },
    { url: `${server.url}never`, timeoutMs: 500 },
  ].map(call);
  await Promise.all([sent, connected]);
  clock.advance(2_000);

  assert.deepEqual((await Promise.all(results)).map(textOf), [
    `Timeout after 1.5 s while resolving the name of slow.test:${server.port}`,
    `Timeout after 1.75 s while connecting to 127.0.0.1:${silent.port}`,
    `Timeout after 2 s while waiting for the answer of 127.0.0.1:${server.port}`,
    `Timeout after 500 ms while waiting for a free connection to 127.0.0.1:${server.port}`,
  ]);
  slow.resolve(loopback);
  assert.equal(textOf(await call({ url: `${server.url}next` })), "ok");
  assert.deepEqual(server.paths, ["/", "/next"]);
  assert.equal(server.connectionCount, 2);
  assert.equal(client.socketCount, 1);
  assert.equal(client.originCount, 1);
});

test("C-14: gives up a connection attempt after ten seconds", async (context) => {
  const silent = await listenSilently(context);
  const { call, clock, client } = open(context);
  const connected = once(silent.server, "connection");
  const result = call({ url: `https://127.0.0.1:${silent.port}/` });
  await connected;
  clock.advance(10_000);

  assert.equal(textOf(await result), `No connection within 10 s: 127.0.0.1:${silent.port}`);
  assert.equal(client.originCount, 0);
  await client.close();
});

test("C-15: reuses connections for the same user, never for another user", async (context) => {
  const server = await listen(context, (request, response) => response.end(String(request.socket.remotePort)));
  const { call } = open(context);
  const users = ["a", "a", "b", "a", "b"];
  const ports: string[] = [];
  for (const user of users) ports.push(textOf(await call({ url: server.url, user })));

  assert.equal(server.connectionCount, 2);
  assert.equal(ports[0], ports[1]);
  assert.equal(ports[0], ports[3]);
  assert.equal(ports[2], ports[4]);
});

test("C-15: destroys an idle connection that receives bytes, and no call gets them", async (context) => {
  const server = await startHostileServer();
  context.after(() => server.stop());
  const { call, client } = open(context);
  for (const name of ["late-second-answer", "two-answers", "longer-than-length"]) {
    const kind = hostileKinds.find((row) => row.name === name);
    assert.ok(kind !== undefined);
    assert.equal(textOf(await call({ url: server.urlOf(kind) })), "ok");
    await server.quiet();
    assert.equal(client.socketCount, 0, name);
    assert.equal(client.originCount, 0, name);
  }
});

test("C-15: bytes or an end on an idle connection end it at once", async (context) => {
  const sockets: Socket[] = [];
  const server = await listen(context, (request, response) => {
    sockets.push(request.socket);
    response.end("ok");
  });
  const { call, client } = open(context);
  const acts: readonly ((socket: Socket) => void)[] = [
    (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"),
    (socket) => socket.write("x"),
    (socket) => socket.end(),
    (socket) => socket.resetAndDestroy(),
  ];
  for (const act of acts) {
    assert.equal(textOf(await call({ url: server.url })), "ok");
    await nextTurn();
    const closed = once(server.events, "close");
    const socket = sockets.pop();
    assert.ok(socket !== undefined);
    act(socket);
    await closed;
    while (client.socketCount > 0) await nextTurn();
    assert.equal(client.originCount, 0);
  }
});

test("an ended call leaves no timer", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  const clock = new VirtualClock();
  let timerCount = 0;
  const { call } = open(context, {
    clock: {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      threadCpuMs: () => clock.threadCpuMs(),
      at: (atMs, task) => clock.at(atMs, task),
      housekeep: (delayMs, task) => clock.housekeep(delayMs, task),
      real: clock,
      after(delayMs, task) {
        timerCount += 1;
        const cancel = clock.after(delayMs, task);
        return () => {
          timerCount -= 1;
          cancel();
        };
      },
    },
  });
  for (const url of [server.url, server.url, "http://no.test/"]) await call({ url });

  assert.equal(timerCount, 0);
});

test("sends a call over a new connection if the idle one closes before it is sent", async (context) => {
  const sockets: Socket[] = [];
  const server = await listen(context, (request, response) => {
    sockets.push(request.socket);
    response.end("ok");
  });
  const { call } = open(context);
  await call({ url: server.url });

  // From the check phase: the client checks the socket after the next poll, which sees the reset.
  const again = await new Promise<OutboundResult>((resolve) => {
    setImmediate(() => {
      sockets[0]?.resetAndDestroy();
      resolve(call({ url: server.url }));
    });
  });

  assert.equal(textOf(again), "ok");
  assert.equal(server.connectionCount, 2);
  assert.equal(server.bodies.length, 2);
});

test("does not resend a call whose connection breaks", async (context) => {
  const server = await listen(context, (request, response) => {
    if (server.bodies.length === 1) response.end("ok");
    else request.socket.resetAndDestroy();
  });
  const { call } = open(context);
  await call({ url: server.url });

  assert.equal(textOf(await call({ url: server.url })), `Connection reset: 127.0.0.1:${server.port}`);
  assert.equal(server.bodies.length, 2);
});

test("limits the sockets of an origin, and queues calls", async (context) => {
  const server = await listen(context, (request, response) => response.end(request.url));
  const { call, client } = open(context, { socketsPerOrigin: 2 });
  const order: string[] = [];
  const paths = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"];
  const results = paths.map(async (path) => {
    order.push(textOf(await call({ url: `http://127.0.0.1:${server.port}${path}` })));
  });
  assert.equal(client.callCount, 7);
  await Promise.all(results);

  assert.equal(server.connectionCount, 2);
  assert.deepEqual(order.toSorted(), paths);
});

test("a new origin closes the least recently used one of its user, but not during a call", async (context) => {
  const hold = Promise.withResolvers<void>();
  const servers = await Promise.all(
    ["a", "b", "c", "d"].map((name) =>
      listen(context, (request, response) => {
        if (request.url === "/held") void hold.promise.then(() => response.end(name));
        else response.end(name);
      }),
    ),
  );
  const [a, b, c, d] = servers;
  assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined);
  const { call, client } = open(context, { originsPerUserMax: 2 });
  const held = call({ url: `${a.url}held` });
  await once(a.events, "request");
  await call({ url: b.url });
  const closed = once(b.events, "close");

  await call({ url: c.url });
  await closed;
  assert.equal(client.socketCount, 2);
  const other = call({ url: `${c.url}held` });
  await once(c.events, "request");
  await call({ url: d.url });

  hold.resolve();
  assert.equal(textOf(await held), "a");
  assert.equal(textOf(await other), "c");
  assert.equal(client.originCount, 2);
});

test("dropUser ends only the calls of that user", async (context) => {
  const hold = Promise.withResolvers<void>();
  const server = await listen(context, (request, response) => void hold.promise.then(() => response.end(request.url)));
  const { call, client, names } = open(context, { socketsPerOrigin: 1 });
  names.set("slow.test", new Promise<never>(() => {}));
  const dropped = ["http://slow.test/", server.url, server.url].map((url) => call({ url, user: "a" }));
  const other = call({ url: server.url, user: "b" });
  while (server.connectionCount < 2) await once(server.events, "request");

  client.dropUser("a");
  hold.resolve();

  const deleted = { kind: "failure", text: "The user is deleted" };
  assert.deepEqual(await Promise.all(dropped), [deleted, deleted, deleted]);
  assert.equal(textOf(await other), "/");
  assert.equal(textOf(await call({ url: server.url, user: "a" })), "/");
});

test("close ends all calls and sockets, and later calls fail", async (context) => {
  const server = await listen(context, (request, response) => {
    if (request.url === "/quick") response.end();
  });
  const { call, client } = open(context);
  await call({ url: `${server.url}quick` });
  await call({ url: `${server.url}quick`, user: "b" });
  const pending = call({ url: server.url });
  await once(server.events, "request");

  await client.close();

  const stopping = { kind: "failure", text: "The server is stopping" };
  assert.equal(client.socketCount, 0);
  assert.deepEqual(await pending, stopping);
  assert.deepEqual(await call({ url: server.url }), stopping);
  assert.equal(client.callCount, 0);
});

test("C-13: concurrent answers stay within their memory, and all arrive", async (context) => {
  const body = Buffer.alloc(1_500_000, "x");
  const server = await listen(context, (_request, response) => {
    // Without Content-Length.
    response.write(body.subarray(0, 700_000));
    response.end(body.subarray(700_000));
  });
  const { client } = open(context, { responseBytesMax: 2_000_000, responsesBytesMax: 4_000_000 });
  const arrivals = new EventEmitter();
  const inUse: (() => void)[] = [];
  let arrivedCount = 0;
  for (let count = 0; count < 4; count += 1) {
    client.send(someCall({ url: server.url }), (result) => {
      assert.equal(result.kind === "answer" && result.body.equals(body), true);
      arrivedCount += 1;
      arrivals.emit("answer");
      return new Promise((resolve) => inUse.push(resolve));
    });
  }
  for (let count = 1; count <= 4; count += 1) {
    if (arrivedCount < count) await once(arrivals, "answer");
    assert.equal(arrivedCount, count, "the others wait while the body is in use");
    assert.equal(client.responsesBytes <= 2_000_000, true);
    inUse.shift()?.();
    await nextTurn();
  }
  assert.equal(client.responsesBytes, 0);
});

test("C-13: a call that waits for memory ends at its deadline and names the reason", async (context) => {
  const server = await listen(context, (_request, response) => response.end(Buffer.alloc(1_500_000, "x")));
  const { client, clock, call } = open(context, { responseBytesMax: 2_000_000, responsesBytesMax: 4_000_000 });
  const first = Promise.withResolvers<void>();
  const keeping = Promise.withResolvers<void>();
  client.send(someCall({ url: server.url }), () => {
    first.resolve();
    return keeping.promise;
  });
  await first.promise;

  const second = call({ url: server.url, timeoutMs: 5_000 });
  while (client.waitingAnswerCount === 0) await nextTurn();
  await clock.advanceAsync(5_000);

  assert.equal(
    textOf(await second),
    `Timeout after 5 s while waiting for memory to read the answer of 127.0.0.1:${server.port}`,
  );
  keeping.resolve();
  await nextTurn();
  assert.equal(client.responsesBytes, 0);
});

test("ignores proxies of the environment", async (context) => {
  const server = await listen(context, (_request, response) => response.end("ok"));
  for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) process.env[name] = "http://127.0.0.1:1";
  context.after(() => {
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) delete process.env[name];
  });
  assert.equal(textOf(await open(context).call({ url: server.url })), "ok");
});

/** Look-up results by name. */
type Names = Map<string, readonly Address[] | Promise<readonly Address[]>>;

function open(context: TestContext, options: Partial<OutboundOptions> = {}, names: Names = new Map()) {
  const clock = new VirtualClock();
  const lookedUp: string[] = [];
  const client = new OutboundClient({
    resolver: {
      async resolve(name) {
        lookedUp.push(name);
        const found = name === "a.test" && !names.has(name) ? loopback : names.get(name);
        if (found === undefined) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
        return found;
      },
    },
    clock,
    policy: parseDestinations("any", []),
    map: [],
    responseBytesMax: 1_000_000,
    ...options,
  });
  context.after(() => client.close());
  const call = (some: Partial<OutboundCall>): Promise<OutboundResult> =>
    new Promise((resolve) => client.send(someCall(some), resolve));
  return { client, clock, call, names, lookedUp };
}

function someCall(some: Partial<OutboundCall>): OutboundCall {
  return {
    user: "main",
    url: "http://127.0.0.1/",
    method: "POST",
    headers: [],
    body: Buffer.from("body"),
    timeoutMs: 600_000,
    ...some,
  };
}

/** The body of an answer or the text of a failure. */
function textOf(result: OutboundResult): string {
  return result.kind === "answer" ? result.body.toString() : result.text;
}

/** An HTTP server that reads each request to its end before it answers. */
async function listen(context: TestContext, answer: RequestListener) {
  const bodies: Buffer[] = [];
  const paths: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(await bodyOf(request));
    paths.push(request.url);
    answer(request, response);
    events.emit("request");
  });
  const events = new EventEmitter();
  let connectionCount = 0;
  server.on("connection", (socket: Socket) => {
    connectionCount += 1;
    socket.once("close", () => events.emit("close"));
  });
  const port = await bind(context, server);
  return {
    server,
    events,
    bodies,
    paths,
    port,
    url: `http://127.0.0.1:${port}/`,
    get connectionCount() {
      return connectionCount;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** A server that accepts connections and sends nothing. */
async function listenSilently(context: TestContext) {
  const server = createNetServer((socket) => {
    socket.on("error", () => socket.destroy());
    context.after(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

async function bind(context: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
