/**
 * Connections to a real redis-server and to our RESP port, and sessions of ours beside them, whose output is compared
 * byte by byte.
 */
import { connect, type Socket } from "node:net";
import { TokenTable } from "../../src/edge/auth.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import { RespListener } from "../../src/edge/resp/listener.ts";
import { pushText } from "../../src/edge/resp/push-text.ts";
import { resp2Result, resp3Result } from "../../src/edge/resp/replies.ts";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLog } from "../../src/kernel/log.ts";
import { RedisCompat } from "../../src/store/commands/redis-compat.ts";
import { startFrontPort } from "../harness/cluster/resp-node.ts";
import { suiteSetting } from "../harness/cluster/suite-setting.ts";
import { type Heard, isPushed, type Speaker } from "../harness/session-harness.ts";
import { startSession } from "../harness/store-harness.ts";

const REPLY_BYTES_MAX = 1_000_000;
/** A step that takes longer has not sent the expected output. */
const STEP_MS_MAX = 5_000;

/** One connection to a real server, which only collects output. */
export class Line {
  readonly #socket: Socket;
  received = "";
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      this.received += chunk.latin1Slice();
      this.#wake?.();
    });
  }

  static open(port: number): Promise<Line> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => resolve(new Line(socket)));
      socket.once("error", reject);
    });
  }

  send(words: readonly Bytes[]): void {
    const text = words.map((word) => `$${word.length}\r\n${word}\r\n`).join("");
    this.#socket.write(`*${words.length}\r\n${text}`, "latin1");
  }

  /** Resolves when that many bytes have arrived, or after a timeout. */
  async until(length: number): Promise<void> {
    const startMs = systemClock.monotonicMs();
    while (this.received.length < length && systemClock.monotonicMs() - startMs < STEP_MS_MAX) {
      await new Promise<void>((resolve) => {
        const cancel = systemClock.after(STEP_MS_MAX, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  /** Sends the words and resolves after their reply, on an otherwise unused connection. */
  async ask(words: readonly Bytes[], replyLength: number): Promise<void> {
    this.received = "";
    this.send(words);
    await this.until(replyLength);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Our output, encoded in the session's current version. */
export function printed(speaker: Speaker, all: readonly Heard[]): Bytes {
  const { respVersion } = speaker.session;
  return all
    .map((one) => {
      if (isPushed(one)) return pushText(one, respVersion);
      return respVersion === 2 ? resp2Result(one, REPLY_BYTES_MAX) : resp3Result(one, REPLY_BYTES_MAX);
    })
    .join("");
}

/** Sessions with a real server. */
export class Far {
  readonly name: string;
  readonly #lines: readonly Line[];
  readonly #control: Line;

  constructor(name: string, lines: readonly Line[], control: Line) {
    this.name = name;
    this.#lines = lines;
    this.#control = control;
  }

  static async open(name: string, options: { port: number; connectionCount: number }): Promise<Far> {
    const { port, connectionCount } = options;
    const lines = await Promise.all(Array.from({ length: connectionCount }, () => Line.open(port)));
    const far = new Far(name, lines, await Line.open(port));
    await far.#control.ask(["FLUSHALL"], "+OK\r\n".length);
    return far;
  }

  /** Sends a command on one connection, and returns the output of each. `expected` is only used for waiting. */
  async say(at: number, command: readonly Bytes[], expected: readonly Bytes[]): Promise<readonly Bytes[]> {
    for (const line of this.#lines) line.received = "";
    (this.#lines[at] as Line).send(command);
    await Promise.all(this.#lines.map((line, index) => line.until((expected[index] as Bytes).length)));
    // All other output has arrived when another connection was answered twice.
    for (let turn = 0; turn < 2; turn += 1) await this.#control.ask(["PING"], "+PONG\r\n".length);
    return this.#lines.map((line) => line.received);
  }

  close(): void {
    for (const line of [...this.#lines, this.#control]) line.close();
  }
}

/** A RESP port over a separate store, without authentication. */
export type RespPort = Pick<RespListener, "port" | "close">;

/** In the setting with a front, the port of a node that owns nothing, whose connections go on to the one with the store. */
export async function startPort(): Promise<RespPort> {
  const { store, clock } = startSession({ compat: new RedisCompat(() => {}) });
  if (suiteSetting()?.asks === "front") return startFrontPort({ store, clock });
  const listener = new RespListener({
    store,
    tokens: new TokenTable(Buffer.alloc(32, 1)),
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 100,
    isOpenToAll: true,
    isServing: () => true,
    clock: systemClock,
    storeClock: clock,
    log: createLog({ level: "error", format: "json", clock, sink: () => {} }),
    budget: new ByteBudget(1e9),
    limits: { requestBytesMax: 1e6, replyBytesMax: 1e6 },
  });
  await listener.open();
  return listener;
}
