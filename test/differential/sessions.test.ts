/**
 * Interleaved connections, compared with a real redis-server 7.0.15:
 * transactions with watched keys, channels, patterns and shard channels, both
 * versions of RESP, disabled replies, questions about a cluster. The output of each connection is compared byte
 * by byte after each command: with that of our sessions, and, at our RESP port,
 * with that of a real connection to it.
 *
 * Left out, because we differ intentionally: HELLO, AUTH and CLIENT REPLY within a
 * transaction are refused here; the order of channels in a hash table;
 * several channels in one SUBSCRIBE within a transaction, which breaks the
 * protocol in Redis; and the position of a message to the sender relative to the reply.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/sessions.test.ts
 */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { TokenTable } from "../../src/edge/auth.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import { RespListener } from "../../src/edge/resp/listener.ts";
import { pushText } from "../../src/edge/resp/push-text.ts";
import { resp2Result, resp3Result } from "../../src/edge/resp/replies.ts";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLog } from "../../src/kernel/log.ts";
import { RedisCompat } from "../../src/store/commands/redis-compat.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { type Heard, type Speaker, startSessions } from "../harness/session-harness.ts";
import { joinLine, startSession } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { Draw } from "./draw.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("sessions");

const CONNECTION_COUNT = 4;
const STEP_COUNT = 120;
const REPLY_BYTES_MAX = 1_000_000;
/** A step that takes longer has not sent the expected output. */
const STEP_MS_MAX = 5_000;

/** One connection to a real server, which only collects output. */
class Line {
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

/** Our reply, encoded in the session's current version. */
function printed(speaker: Speaker, all: readonly Heard[]): Bytes {
  const { respVersion } = speaker.session;
  return all
    .map((one) => {
      if (typeof one === "object" && one !== null && "kind" in one) {
        if (one.kind === "message" || one.kind === "pmessage" || one.kind === "smessage" || one.kind === "monitor")
          return pushText(one, respVersion);
      }
      return respVersion === 2 ? resp2Result(one, REPLY_BYTES_MAX) : resp3Result(one, REPLY_BYTES_MAX);
    })
    .join("");
}

const KEYS: readonly Bytes[] = ["a", "b"];
const NAMES: readonly Bytes[] = ["x", "y", "z"];
// No channel matches two: their order would depend on a hash table.
const PATTERNS: readonly Bytes[] = ["x*", "[yz]"];

/** Commands about a cluster, replicas and modules, which neither server has. */
const LONE_SERVER: readonly (readonly Bytes[])[] = [
  ["CLUSTER", "INFO"],
  ["CLUSTER", "KEYSLOT", "a"],
  ["CLUSTER", "KEYSLOT"],
  ["CLUSTER", "SLOTS"],
  ["CLUSTER", "SHARDS"],
  ["CLUSTER", "NODES"],
  ["CLUSTER", "MYID"],
  ["CLUSTER", "LINKS"],
  ["CLUSTER", "COUNTKEYSINSLOT", "x"],
  ["CLUSTER", "GETKEYSINSLOT", "0", "1"],
  ["CLUSTER", "HELP"],
  ["CLUSTER", "what"],
  ["CLUSTER"],
  ["READONLY"],
  ["READWRITE"],
  ["ASKING"],
  ["ROLE"],
  ["ROLE", "x"],
  ["REPLICAOF", "no", "ONE"],
  ["REPLICAOF", "NO"],
  ["SLAVEOF", "NO", "ONE"],
  ["MODULE", "LIST"],
  ["MODULE", "what"],
  ["PUBSUB", "SHARDNUMSUB", "x", "y", "x"],
];

/** A command that is possible now. */
function drawCommand(draw: Draw, { session }: Speaker): Bytes[] {
  const { transaction, listening } = session;
  const key = draw.pick(KEYS);
  const name = draw.pick(NAMES);
  const pattern = draw.pick(PATTERNS);
  const isListening = listening.count > 0;
  // Random commands would leave the pub/sub mode of RESP2 too rarely.
  if (isListening && session.respVersion === 2 && draw.oneIn(4)) return ["RESET"];
  const choices: Bytes[][] = [
    ["GET", key],
    ["SET", key, draw.pick(["1", "x"])],
    ["INCR", key],
    ["DEL", key],
    ["LPUSH", key, "e"],
    ["FLUSHALL"],
    ["WATCH", key],
    ["UNWATCH"],
    ["MULTI"],
    ["MULTI"],
    ["EXEC"],
    ["EXEC"],
    ["DISCARD"],
    ["GET"],
    ["EXEC", "x"],
    ["PING"],
    ["PING", "hi"],
    ["ECHO", "hi"],
    ["SELECT", "0"],
    ["CLIENT", "SETNAME", name],
    ["CLIENT", "GETNAME"],
    ["CLIENT", "what"],
    ["SUBSCRIBE", name],
    ["PSUBSCRIBE", pattern],
    ["UNSUBSCRIBE", name],
    ["PUNSUBSCRIBE", pattern],
    ["SSUBSCRIBE", name],
    ["SUNSUBSCRIBE", name],
    [...draw.pick(LONE_SERVER)],
  ];
  const willListen = transaction.queued.some(({ command }) => command.isForListeners);
  if (!isListening && !willListen)
    choices.push(["PUBLISH", name, "hello"], ["PUBLISH", name, ""], ["SPUBLISH", name, "hello"]);
  // A transaction may have more when it is executed.
  if (!transaction.isOpen && listening.shardChannelCount <= 1) choices.push(["SUNSUBSCRIBE"]);
  if (!transaction.isOpen && listening.channelCount <= 1) choices.push(["UNSUBSCRIBE"]);
  if (!transaction.isOpen && listening.patternCount <= 1) choices.push(["PUNSUBSCRIBE"]);
  if (!transaction.isOpen) {
    choices.push(
      ["HELLO", draw.pick(["2", "3", "3", "4", "x"])],
      ["CLIENT", "REPLY", draw.pick(["ON", "OFF", "SKIP", "what"])],
    );
    choices.push(["SUBSCRIBE", "x", "y"], ["UNSUBSCRIBE", "x", "z"], ["PSUBSCRIBE", "x*", "x*"]);
    choices.push(["SSUBSCRIBE", "x", "y"], ["SUNSUBSCRIBE", "x", "z"]);
  }
  if (draw.oneIn(10)) return ["RESET"];
  // A session with disabled replies enables them again soon.
  return draw.pick(choices);
}

/** Removes the connection id in the reply to HELLO, which differs. */
function comparable(text: Bytes): Bytes {
  return text.replace(/(\$2\r\nid\r\n):\d+/g, "$1:0");
}

/** Sessions with a real server. */
class Far {
  readonly name: string;
  readonly #lines: readonly Line[];
  readonly #control: Line;

  constructor(name: string, lines: readonly Line[], control: Line) {
    this.name = name;
    this.#lines = lines;
    this.#control = control;
  }

  static async open(name: string, port: number): Promise<Far> {
    const lines = await Promise.all(Array.from({ length: CONNECTION_COUNT }, () => Line.open(port)));
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

async function runProgram(ports: ReadonlyMap<string, number>, programSeed: number): Promise<number> {
  const draw = new Draw(programSeed);
  const { connect: openSession } = startSessions();
  const speakers = Array.from({ length: CONNECTION_COUNT }, () => openSession());
  const fars = await Promise.all([...ports].map(([name, port]) => Far.open(name, port)));
  const said: string[] = [];
  try {
    for (let step = 0; step < STEP_COUNT; step += 1) {
      const at = draw.below(CONNECTION_COUNT);
      const speaker = speakers[at] as Speaker;
      const command = drawCommand(draw, speaker);
      said.push(`${at}: ${joinLine(command)}`);
      speaker.session.execute([...command]);
      const expected = speakers.map((one) => printed(one, one.listen()));
      for (const far of fars) {
        const received = await far.say(at, command, expected);
        assert.deepEqual(
          received.map(comparable),
          expected.map(comparable),
          `SEED=${programSeed}: ${far.name} after\n  ${said.join("\n  ")}`,
        );
      }
    }
  } finally {
    for (const far of fars) far.close();
  }
  return STEP_COUNT;
}

/** The RESP port over a separate store, without authentication. */
async function startPort(): Promise<RespListener> {
  const { store, clock } = startSession({ compat: new RedisCompat(() => {}) });
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

besideRedis((redis) => {
  test("random sessions get the same output from our sessions and our port as from Redis", async (context) => {
    const listener = await startPort();
    const ports = new Map([
      ["redis-server", redis().port],
      ["our port", listener.port],
    ]);
    const startMs = systemClock.monotonicMs();
    let commandCount = 0;
    try {
      for (let number = seed; ; number += 1) {
        commandCount += await runProgram(ports, number);
        const isDone =
          "count" in limit ? commandCount >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
        if (isDone) break;
      }
    } finally {
      await listener.close(0);
    }
    context.diagnostic(`SEED=${seed}: ${commandCount} commands`);
  });
});
