/** The attacks of bad tenants. Each runs until it is stopped. */
import { connect, type Socket } from "node:net";

export interface Ports {
  readonly store: number;
  readonly messaging: number;
  readonly resp: number;
}

export interface Attack {
  readonly name: string;
  /** The measured request: PING of the store, or a publish. */
  readonly victim: "store" | "messaging";
  /** The goal for its p99. */
  readonly p99MsMax: number;
  start(ports: Ports): () => void;
}

/** The limit of a script, as the server is configured. */
export const SCRIPT_MS = 1_000;
const LOOP = ["EVAL", "while true do end", "0"];
const BESIDE_SCRIPTS_MS = SCRIPT_MS + 100;
const BESIDE_OTHERS_MS = 100;

export const badName = (index: number): string => `bad${index}`;
export const tokenOf = (name: string): string => `token-of-${name}-that-nobody-else-knows`;
export const readOnlyTokenOf = (name: string): string => `read-only-token-of-${name}-that-nobody-else-knows`;
/** Of a user of messaging. */
export const userTokenOf = (name: string): string =>
  Buffer.from(JSON.stringify({ UserID: name, Password: "that-nobody-else-knows" })).toString("base64");
export const LIST_LENGTH = 210_000;

export const attacks: readonly Attack[] = [
  { name: "none", victim: "store", p99MsMax: BESIDE_OTHERS_MS, start: () => () => {} },
  {
    name: "75 EVAL loops in a pipeline",
    victim: "store",
    p99MsMax: BESIDE_SCRIPTS_MS,
    start: ({ store }) => repeat(store, 1, post("/pipeline", tokenOf(badName(0)), JSON.stringify(times(75, LOOP)))),
  },
  {
    name: "75 connections of EVAL loops",
    victim: "store",
    p99MsMax: BESIDE_SCRIPTS_MS,
    start: ({ store }) => repeat(store, 75, post("/", tokenOf(badName(0)), JSON.stringify(LOOP))),
  },
  {
    name: "75 connections of EVAL loops, ten tenants",
    victim: "store",
    p99MsMax: BESIDE_SCRIPTS_MS,
    start: ({ store }) =>
      all(times(10, 0).map((_, index) => repeat(store, 8, post("/", tokenOf(badName(index)), JSON.stringify(LOOP))))),
  },
  {
    name: "75 EVAL loops pipelined over RESP",
    victim: "store",
    p99MsMax: BESIDE_SCRIPTS_MS,
    start: ({ resp }) => flood(resp, 1, words(["AUTH", tokenOf(badName(0))]) + words(LOOP).repeat(75)),
  },
  {
    name: "63 SORT … LIMIT 0 1 with the read-only token",
    victim: "store",
    p99MsMax: BESIDE_OTHERS_MS,
    start: ({ store }) =>
      repeat(
        store,
        1,
        post(
          "/pipeline",
          readOnlyTokenOf(badName(0)),
          JSON.stringify(times(63, ["SORT_RO", "list", "LIMIT", "0", "1"])),
        ),
      ),
  },
  {
    name: "20 DIGEST of 512 MB",
    victim: "store",
    p99MsMax: BESIDE_OTHERS_MS,
    start: ({ store }) =>
      repeat(store, 1, post("/pipeline", tokenOf(badName(0)), JSON.stringify(times(20, ["DIGEST", "large"])))),
  },
  {
    name: "EVAL of 1 MB of source",
    victim: "store",
    p99MsMax: BESIDE_OTHERS_MS,
    start: ({ store }) => {
      const source = `local a local x=a${" and a".repeat(170_000)}`;
      return repeat(store, 1, post("/", tokenOf(badName(0)), JSON.stringify(["EVAL", source, "0"])));
    },
  },
  {
    name: "900 pipelined GETs of 60 KB on 20 connections, unread",
    victim: "store",
    p99MsMax: BESIDE_OTHERS_MS,
    start: ({ store }) => unread(store, 20, get("/get/text", tokenOf(badName(0))).repeat(900)),
  },
  {
    name: "10 MB of [ to /v2/batch",
    victim: "messaging",
    p99MsMax: BESIDE_OTHERS_MS,
    start: ({ messaging }) => repeat(messaging, 4, post("/v2/batch", userTokenOf(badName(0)), "[".repeat(10_000_000))),
  },
];

export function post(path: string, token: string, body: string): string {
  const length = Buffer.byteLength(body);
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  return `${head}Content-Length: ${length}\r\n\r\n${body}`;
}

export function get(path: string, token: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

function words(list: readonly string[]): string {
  return `*${list.length}\r\n${list.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}

function times<Value>(count: number, value: Value): readonly Value[] {
  return Array.from({ length: count }, () => value);
}

function all(stops: readonly (() => void)[]): () => void {
  return () => {
    for (const stop of stops) stop();
  };
}

/** Connections that repeat a request after each answer, or after a disconnect. */
function repeat(port: number, connections: number, request: string): () => void {
  const bytes = Buffer.from(request);
  return keepOpen(port, connections, (socket) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.latin1Slice();
      const headEnd = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (headEnd < 0 || text.length < headEnd + 4 + length) return;
      text = "";
      socket.write(bytes);
    });
    socket.write(bytes);
  });
}

/** Connections that send a text and read the output. */
function flood(port: number, connections: number, text: string): () => void {
  return keepOpen(port, connections, (socket) => {
    socket.on("data", () => {});
    socket.write(text);
  });
}

function unread(port: number, connections: number, text: string): () => void {
  return keepOpen(port, connections, (socket) => {
    socket.pause();
    socket.write(text);
  });
}

function keepOpen(port: number, connections: number, use: (socket: Socket) => void): () => void {
  const sockets = new Set<Socket>();
  let isOver = false;
  const open = (): void => {
    if (isOver) return;
    const socket = connect(port, "127.0.0.1", () => use(socket));
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      setTimeout(open, 50);
    });
  };
  for (let count = 0; count < connections; count += 1) open();
  return () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
}
