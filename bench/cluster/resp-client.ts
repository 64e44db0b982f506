/** Commands over RESP on some connections, each with one packet of them in flight. All replies have the same length. */
import { connect, type Socket } from "node:net";
import { quantile } from "./log-load.ts";

export interface RespLoad {
  readonly port: number;
  readonly password: string;
  readonly connections: number;
  readonly words: readonly string[];
  /** How often a packet has the command. */
  readonly depth?: number;
  readonly seconds: number;
}

export interface RespResult {
  /** Commands. */
  readonly requests: number;
  /** Of a packet. */
  readonly p50Ms: number;
  readonly perSecond: number;
}

/** Logs in on all connections, and then measures. Rejects if a reply is an error. */
export async function runResp({
  port,
  password,
  connections,
  words,
  depth = 1,
  seconds,
}: RespLoad): Promise<RespResult> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => logIn(port, password)));
  const command = encode(words);
  const replyBytes = (await ask(sockets[0] as Socket, command)).length * depth;
  const packet = Buffer.concat(Array.from({ length: depth }, () => command));
  const times: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  await Promise.all(sockets.map((socket) => drive(socket, { packet, replyBytes, endMs, times })));
  const perSecond = (times.length * depth * 1_000) / (performance.now() - startMs);
  for (const socket of sockets) socket.destroy();
  return {
    requests: times.length * depth,
    p50Ms: quantile(
      times.sort((a, b) => a - b),
      0.5,
    ),
    perSecond,
  };
}

function encode(words: readonly string[]): Buffer {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join("")}`);
}

async function logIn(port: number, password: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  const reply = await ask(socket, encode(["AUTH", password]));
  if (!reply.startsWith("+OK")) throw new Error(`the login was answered ${reply}`);
  return socket;
}

/** The reply, which must come in one piece. */
function ask(socket: Socket, command: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      socket.off("error", reject).off("close", closed);
    };
    const closed = (): void => reject(new Error("the connection was closed"));
    socket.once("data", (chunk: Buffer) => {
      end();
      const text = chunk.toString("latin1");
      if (text.startsWith("-")) reject(new Error(text));
      else resolve(text);
    });
    socket.once("error", reject).once("close", closed);
    socket.write(command);
  });
}

interface Drive {
  readonly packet: Buffer;
  readonly replyBytes: number;
  readonly endMs: number;
  readonly times: number[];
}

function drive(socket: Socket, { packet, replyBytes, endMs, times }: Drive): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = performance.now();
    let missing = replyBytes;
    socket.on("error", reject).on("close", () => reject(new Error("the connection was closed")));
    socket.on("data", (chunk: Buffer) => {
      if (chunk[0] === 0x2d && missing === replyBytes) reject(new Error(chunk.toString("latin1")));
      missing -= chunk.length;
      if (missing > 0) return;
      const nowMs = performance.now();
      times.push(nowMs - sentMs);
      if (nowMs >= endMs) {
        socket.removeAllListeners("close");
        resolve();
        return;
      }
      missing = replyBytes;
      sentMs = nowMs;
      socket.write(packet);
    });
    socket.write(packet);
  });
}
