/**
 * Destinations that misbehave (threats C-13 to C-16): a table of kinds, each
 * with its effect on a call and the outcome that a client must report, and a
 * server that runs them over raw sockets.
 *
 * A kind `at: "request"` is chosen by the path of a request on the one port of
 * all these, so kinds share kept-alive connections; a kind
 * `at: "connection"` acts before any request and has its own port.
 */
import { once } from "node:events";
import { createServer as createNetServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { hostileCertificate, hostileKey } from "./hostile-certificate.ts";

export type HostileOutcome =
  | { readonly kind: "answer"; readonly status: number; readonly body?: string; readonly isBodyCut?: boolean }
  | { readonly kind: "failure"; readonly text: RegExp; readonly status?: number };

export interface HostileKind {
  readonly name: string;
  readonly at: "request" | "connection" | "tls";
  readonly act: (socket: Socket) => void;
  readonly outcome: HostileOutcome;
  /** Only its deadline ends the call. */
  readonly hangs?: boolean;
  /** Its late bytes may reach the next call of the connection; HTTP/1.1 cannot distinguish them from an answer. */
  readonly meetsNextCall?: boolean;
}

const OK_HEAD = "HTTP/1.1 200 OK\r\n";
const CLOSED = /^Connection (?:reset|closed before the answer was complete|closed while the request was sent): /;
const NOT_HTTP = /^The answer is not HTTP\/1\.1 \([^)]+\): /;
const TIMEOUT_SENT = /^Timeout after \S+ s while waiting for the answer of /;
/** A break in the middle of the body is one or the other, depending on what the system reports. */
const TIMEOUT_ANY = /^Timeout after \S+ s while (?:waiting for|reading) the answer of /;

export const hostileKinds: readonly HostileKind[] = [
  answering("none", `${OK_HEAD}Content-Length: 2\r\n\r\nok`, { kind: "answer", status: 200, body: "ok" }),
  answering("server-error", "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", { kind: "answer", status: 503 }),
  ...["000", "001", "099"].map((status) =>
    answering(`status-${status}`, `HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`, {
      kind: "failure",
      text: new RegExp(`^The destination answered with the status ${status}, which is not an HTTP status: `),
    }),
  ),
  answering("status-101", "HTTP/1.1 101 Switching\r\nContent-Length: 2\r\n\r\nno", {
    kind: "failure",
    text: /^The destination switched to another protocol: /,
  }),
  answering("status-999", "HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nno", { kind: "answer", status: 999 }),
  answering("redirect", "HTTP/1.1 302 Found\r\nLocation: /redirect\r\nContent-Length: 0\r\n\r\n", {
    kind: "answer",
    status: 302,
    body: "",
  }),
  answering("compressed", `${OK_HEAD}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00`, {
    kind: "answer",
    status: 200,
    body: "\x1f\x8b\x08\x00",
  }),
  answering("no-content-with-body", "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nno", {
    kind: "answer",
    status: 204,
    body: "",
  }),
  ending("old-http", "HTTP/1.0 200 OK\r\n\r\nuntil the end", { kind: "answer", status: 200, body: "until the end" }),
  answering("longer-than-length", `${OK_HEAD}Content-Length: 2\r\n\r\nok and more`, {
    kind: "answer",
    status: 200,
    body: "ok",
  }),
  answering("two-answers", `${OK_HEAD}Content-Length: 2\r\n\r\nok`.repeat(2), {
    kind: "answer",
    status: 200,
    body: "ok",
  }),
  {
    name: "late-second-answer",
    at: "request",
    act: (socket) => {
      socket.write(`${OK_HEAD}Content-Length: 2\r\n\r\nok`);
      setImmediate(() => socket.write("HTTP/1.1 200 Poison\r\nContent-Length: 6\r\n\r\npoison"));
    },
    outcome: { kind: "answer", status: 200, body: "ok" },
    meetsNextCall: true,
  },
  {
    name: "endless-body",
    at: "request",
    act: (socket) => {
      socket.write(`${OK_HEAD}\r\n`);
      pour(socket, Buffer.alloc(65_536, "x"));
    },
    outcome: { kind: "answer", status: 200, isBodyCut: true },
  },
  {
    name: "endless-tiny-chunks",
    at: "request",
    act: (socket) => {
      socket.write(`${OK_HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      pour(socket, Buffer.from("1\r\nx\r\n".repeat(8_192)));
    },
    outcome: { kind: "answer", status: 200, isBodyCut: true },
  },
  // Interrupted.
  ending("close-before-answer", "", { kind: "failure", text: CLOSED }),
  ending("half-a-status-line", "HTTP/1.1 2", { kind: "failure", text: CLOSED }),
  ending("half-of-the-headers", `${OK_HEAD}Content-Le`, { kind: "failure", text: CLOSED }),
  ending("shorter-than-length", `${OK_HEAD}Content-Length: 100\r\n\r\n0123456789`, {
    kind: "failure",
    status: 200,
    text: CLOSED,
  }),
  ending("chunk-without-end", `${OK_HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nab`, {
    kind: "failure",
    status: 200,
    text: CLOSED,
  }),
  {
    name: "reset-before-answer",
    at: "request",
    act: (socket) => socket.resetAndDestroy(),
    outcome: { kind: "failure", text: CLOSED },
  },
  {
    name: "reset-in-the-body",
    at: "request",
    act: (socket) =>
      socket.write(`${OK_HEAD}Content-Length: 100\r\n\r\n0123456789`, () =>
        setImmediate(() => socket.resetAndDestroy()),
      ),
    // A reset discards data that the client has not read yet, so the status may be lost.
    outcome: { kind: "failure", text: CLOSED },
  },
  // Not HTTP.
  answering("no-http", "220 mail.test ESMTP\r\n", { kind: "failure", text: NOT_HTTP }),
  answering("bad-chunk-length", `${OK_HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, {
    kind: "failure",
    status: 200,
    text: /^The answer is not HTTP\/1\.1 \(Invalid character in chunk size\): /,
  }),
  answering("two-lengths", `${OK_HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, {
    kind: "failure",
    text: /^The answer contradicts its Content-Length: /,
  }),
  answering(
    "length-and-chunks",
    `${OK_HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`,
    { kind: "failure", text: /^The answer contradicts its Content-Length: / },
  ),
  answering("zero-byte-in-header", `${OK_HEAD}A: \0\r\n\r\n`, {
    kind: "failure",
    text: /^The answer is not HTTP\/1\.1 \(Invalid header value char\): /,
  }),
  answering("upgrade", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", {
    kind: "failure",
    text: /^The destination switched to another protocol: /,
  }),
  answering("continue", "HTTP/1.1 100 Continue\r\n\r\n", {
    kind: "failure",
    text: /^The destination sent an unexpected answer: /,
  }),
  // Too much.
  answering("large-header", `${OK_HEAD}A: ${"x".repeat(100_000)}\r\n\r\n`, {
    kind: "failure",
    text: /^The headers of the answer are too large: /,
  }),
  {
    name: "endless-headers",
    at: "request",
    act: (socket) => {
      socket.write(OK_HEAD);
      pour(socket, Buffer.from("Another-Header: and its value\r\n".repeat(500)));
    },
    outcome: { kind: "failure", text: /^The headers of the answer are too large: / },
  },
  {
    name: "endless-tiny-headers",
    at: "request",
    act: (socket) => {
      socket.write(OK_HEAD);
      pour(socket, Buffer.from("a:b\r\n".repeat(3_000)));
    },
    outcome: { kind: "failure", text: /^The headers of the answer are too large: / },
  },
  {
    name: "endless-interim-answers",
    at: "request",
    act: (socket) => pour(socket, Buffer.from("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100))),
    outcome: { kind: "failure", text: /^The destination sent more than 16 interim answers: / },
  },
  // Too slow.
  answering("silence", "", { kind: "failure", text: TIMEOUT_SENT }, true),
  answering("silence-in-the-headers", `${OK_HEAD}A: b\r\n`, { kind: "failure", text: TIMEOUT_SENT }, true),
  answering(
    "silence-in-the-body",
    `${OK_HEAD}Content-Length: 5\r\n\r\nabc`,
    { kind: "failure", text: TIMEOUT_ANY },
    true,
  ),
  {
    name: "dripping-body",
    at: "request",
    act: (socket) => {
      socket.write(`${OK_HEAD}Content-Length: 90000\r\n\r\n`);
      drip(socket, "x");
    },
    outcome: { kind: "failure", text: TIMEOUT_ANY },
    hangs: true,
  },
  {
    name: "endless-chunk-extension",
    at: "request",
    act: (socket) => {
      socket.write(`${OK_HEAD}Transfer-Encoding: chunked\r\n\r\n5;a=`);
      drip(socket, "b");
    },
    outcome: { kind: "failure", text: TIMEOUT_ANY },
    hangs: true,
  },
  // Before any request.
  {
    name: "reset-on-accept",
    at: "connection",
    act: (socket) => socket.resetAndDestroy(),
    outcome: { kind: "failure", text: CLOSED },
  },
  {
    name: "close-on-accept",
    at: "connection",
    act: (socket) => socket.end(),
    outcome: { kind: "failure", text: CLOSED },
  },
  {
    name: "greeting",
    at: "connection",
    act: (socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"),
    outcome: {
      kind: "failure",
      text: /^The (?:answer is not HTTP\/1\.1 \([^)]+\)|destination sent an unexpected answer): /,
    },
  },
  {
    name: "tls-reset",
    at: "tls",
    act: (socket) => socket.once("data", () => socket.resetAndDestroy()),
    outcome: { kind: "failure", text: CLOSED },
  },
  {
    name: "tls-close",
    at: "tls",
    act: (socket) => socket.once("data", () => socket.end()),
    outcome: { kind: "failure", text: CLOSED },
  },
  {
    name: "tls-answered-in-plain-text",
    at: "tls",
    act: (socket) => socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")),
    outcome: { kind: "failure", text: /^TLS failed \(\w+\): / },
  },
];

export interface HostileServer {
  urlOf(kind: HostileKind): string;
  /** A TLS server with an unknown certificate, for `hostile.test`; it answers every request. */
  readonly tlsPort: number;
  /** Sockets that are open here. */
  readonly socketCount: number;
  /** Resolves when that many calls of hanging kinds have arrived since the start. */
  hanging(count: number): Promise<void>;
  /** Resolves when no socket is open. */
  quiet(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const ports = new Map<string, number>();
  const byPath = new Map(hostileKinds.filter(({ at }) => at === "request").map((kind) => [`/${kind.name}`, kind]));
  let hangCount = 0;
  let wake = (): void => {};

  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      wake();
    });
  };
  const serve = (socket: Socket): void => {
    onRequests(socket, (path) => {
      const kind = byPath.get(path);
      if (kind === undefined) return socket.end("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
      kind.act(socket);
      if (kind.hangs !== true) return undefined;
      hangCount += 1;
      return wake();
    });
  };
  const listen = async (name: string, server: Server): Promise<void> => {
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    ports.set(name, typeof address === "object" && address !== null ? address.port : 0);
  };
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      await woken.promise;
    }
  };

  await listen(
    "request",
    createNetServer((socket) => {
      track(socket);
      serve(socket);
    }),
  );
  for (const kind of hostileKinds.filter(({ at }) => at !== "request")) {
    await listen(
      kind.name,
      createNetServer((socket) => {
        track(socket);
        socket.resume();
        kind.act(socket);
      }),
    );
  }
  const tls = createTlsServer({ cert: hostileCertificate, key: hostileKey }, serve);
  tls.on("connection", track);
  tls.on("secureConnection", (socket) => socket.on("error", () => socket.destroy()));
  await listen("tls", tls);

  return {
    urlOf: ({ name, at }) => {
      const port = ports.get(at === "request" ? "request" : name);
      return `${at === "tls" ? "https" : "http"}://127.0.0.1:${port}/${name}`;
    },
    tlsPort: ports.get("tls") ?? 0,
    get socketCount() {
      return sockets.size;
    },
    hanging: (count) => until(() => hangCount >= count),
    quiet: () => until(() => sockets.size === 0),
    async stop() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

/** Writes `text` and keeps the connection. */
function answering(name: string, text: string, outcome: HostileOutcome, hangs = false): HostileKind {
  return { name, at: "request", act: (socket) => void (text !== "" && socket.write(text, "latin1")), outcome, hangs };
}

/** Writes `text` and closes the connection. */
function ending(name: string, text: string, outcome: HostileOutcome): HostileKind {
  return { name, at: "request", act: (socket) => socket.end(text, "latin1"), outcome };
}

/** Writes `piece` as often as the other side accepts it. */
function pour(socket: Socket, piece: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", more);
  more();
}

/** Writes `text` once in each turn of the event loop. */
function drip(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  socket.write(text);
  setImmediate(() => drip(socket, text));
}

/** Calls `react` with the path of each whole request. */
function onRequests(socket: Socket, react: (path: string) => void): void {
  let rest = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece) => {
    rest += String(piece);
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = rest.slice(0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.length < end + 4 + length) return;
      rest = rest.slice(end + 4 + length);
      react(head.split(" ", 2)[1] ?? "");
    }
  });
}
