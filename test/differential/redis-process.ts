/**
 * A private redis-server for comparing replies: started on a free loopback
 * port as a child process without persistence, with RESP2 over one
 * connection, stopped by its own process handle.
 *
 * Bytes are latin1 strings in both directions, as inside the store. Replies mirror
 * `src/store/reply/reply.ts`, so that a test may compare them with `deepEqual`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/free-port.ts";
import { missingProgram } from "../harness/required-programs.ts";

export type RawReply =
  | string
  | number
  | bigint
  | null
  | readonly RawReply[]
  | { readonly kind: "simple"; readonly text: string }
  | { readonly kind: "error"; readonly error: { readonly text: string } }
  | { readonly kind: "nil array" };

export interface RedisProcess {
  readonly port: number;
  /** Sends one command and resolves with its reply; an error reply is a value. */
  call(args: readonly string[]): Promise<RawReply>;
  /** Sends all commands at once and resolves with their replies in order. */
  pipeline(commands: readonly (readonly string[])[]): Promise<RawReply[]>;
  /** Another connection, which the caller closes. */
  connect(): Promise<RedisConnection>;
  /**
   * Listens to all channels matching a pattern, on a separate connection, until the server ends. `heard` is called with
   * each message; the promise resolves when the server has begun to send them.
   */
  listen(pattern: string, heard: (channel: string, payload: string) => void): Promise<void>;
  /** Ends the server and resolves after its exit. */
  stop(): Promise<void>;
}

/** The reason why tests against a real Redis cannot run here, or false: for the `skip` option of `test`. */
export const redisMissing: string | false = missingProgram("redis-server");

const START_ATTEMPTS_MAX = 5;
const START_MS_MAX = 10_000;
/** Commands in flight at a time: enough to fill the connection, few enough for both socket buffers. */
const PIPELINE_COUNT_MAX = 1_000;

/**
 * Starts a server with the default configuration plus `settings` (`["--maxmemory", "1mb"]`), on a free port, or on that of
 * a server that has ended.
 */
export async function startRedis(settings: readonly string[] = [], port?: number): Promise<RedisProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(port ?? (await freePort()), settings);
    } catch (cause) {
      // Another process may have taken the port between our check and the server's start.
      if (attempt === START_ATTEMPTS_MAX) throw new Error("redis-server does not start", { cause });
    }
  }
}

async function startOnce(port: number, settings: readonly string[]): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const child = spawn(
    "redis-server",
    ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder, ...settings],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  // A test that crashes must not leave a server running.
  const killWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithUs);
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
    process.removeListener("exit", killWithUs);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(child);
    const connection = await connectTo(port);
    const listening: Socket[] = [];
    return {
      port,
      call: async (args) => (await connection.send([args]))[0] as RawReply,
      pipeline: (commands) => connection.send(commands),
      connect: () => connectTo(port),
      listen: async (pattern, heard) => void listening.push(await listen(port, pattern, heard)),
      stop: async () => {
        connection.close();
        for (const socket of listening) socket.destroy();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Resolves when the server reports that it accepts connections. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const limit = setTimeout(
      () => reject(new Error(`the server did not report that it is ready: ${output}`)),
      START_MS_MAX,
    );
    child.once("error", reject);
    child.once("close", () => reject(new Error(`ended: ${output}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.latin1Slice();
      if (!output.includes("Ready to accept connections")) return;
      clearTimeout(limit);
      child.stdout?.removeAllListeners("data").resume();
      resolve();
    });
    child.once("close", () => clearTimeout(limit));
  });
}

export interface RedisConnection {
  /** Sends all commands at once and resolves with their replies in order; rejects when the connection is closed. */
  send(commands: readonly (readonly string[])[]): Promise<RawReply[]>;
  close(): void;
}

interface Waiting {
  readonly count: number;
  readonly replies: RawReply[];
  readonly resolve: (replies: RawReply[]) => void;
  readonly reject: (error: Error) => void;
}

/** A connection with RESP2 to any server on loopback that needs no login. */
export async function connectTo(port: number): Promise<RedisConnection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opening = connect(port, "127.0.0.1", () => resolve(opening));
    opening.once("error", reject);
  });
  socket.setNoDelay(true);
  const waiting: Waiting[] = [];
  let unread: Buffer = Buffer.alloc(0);
  let closed: Error | undefined;

  socket.on("data", (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    let at = 0;
    while (waiting.length > 0) {
      const read = readReply(unread, at);
      if (read === undefined) break;
      at = read.end;
      const first = waiting[0] as Waiting;
      first.replies.push(read.reply);
      if (first.replies.length === first.count) {
        waiting.shift();
        first.resolve(first.replies);
      }
    }
    unread = unread.subarray(at);
  });
  const fail = (error: Error): void => {
    closed = error;
    for (const one of waiting.splice(0)) one.reject(error);
  };
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the connection to redis-server is closed")));

  const sendSome = (commands: readonly (readonly string[])[]): Promise<RawReply[]> =>
    new Promise((resolve, reject) => {
      if (closed !== undefined) return reject(closed);
      waiting.push({ count: commands.length, replies: [], resolve, reject });
      socket.write(commands.map(encode).join(""), "latin1");
    });
  return {
    async send(commands) {
      const replies: RawReply[] = [];
      for (let start = 0; start < commands.length; start += PIPELINE_COUNT_MAX)
        replies.push(...(await sendSome(commands.slice(start, start + PIPELINE_COUNT_MAX))));
      return replies;
    },
    close: () => void socket.destroy(),
  };
}

async function listen(
  port: number,
  pattern: string,
  heard: (channel: string, payload: string) => void,
): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  let unread: Buffer = Buffer.alloc(0);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      let at = 0;
      for (let read = readReply(unread, at); read !== undefined; read = readReply(unread, at)) {
        at = read.end;
        if (!Array.isArray(read.reply)) continue;
        const [kind, , channel, payload] = read.reply as readonly RawReply[];
        if (kind === "pmessage") heard(String(channel), String(payload));
        else resolve();
      }
      unread = unread.subarray(at);
    });
    socket.write(encode(["PSUBSCRIBE", pattern]), "latin1");
  });
  return socket;
}

function encode(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`;
}

/** The reply that starts at `at` and where it ends, or undefined if it is incomplete. */
function readReply(buffer: Buffer, at: number): { reply: RawReply; end: number } | undefined {
  const lineEnd = buffer.indexOf("\r\n", at, "latin1");
  if (lineEnd < 0) return undefined;
  const line = buffer.latin1Slice(at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (buffer[at]) {
    case 0x2b: // +
      return { reply: { kind: "simple", text: line }, end };
    case 0x2d: // -
      return { reply: { kind: "error", error: { text: line } }, end };
    case 0x3a: // :
      return { reply: Number.isSafeInteger(Number(line)) ? Number(line) : BigInt(line), end };
    case 0x24: {
      // $
      const length = Number(line);
      if (length < 0) return { reply: null, end };
      if (buffer.length < end + length + 2) return undefined;
      return { reply: buffer.latin1Slice(end, end + length), end: end + length + 2 };
    }
    case 0x2a: {
      // *
      const count = Number(line);
      if (count < 0) return { reply: { kind: "nil array" }, end };
      const items: RawReply[] = [];
      let next = end;
      for (let i = 0; i < count; i += 1) {
        const item = readReply(buffer, next);
        if (item === undefined) return undefined;
        items.push(item.reply);
        next = item.end;
      }
      return { reply: items, end: next };
    }
    default:
      throw new Error(`not a RESP2 reply: ${buffer.latin1Slice(at, at + 40)}`);
  }
}
