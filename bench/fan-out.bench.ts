/**
 * Question: how many messages does one publisher send to a thousand subscribers,
 * over the event streams of the store, compared with redis-server?
 *
 * Method: the store behind its HTTP edge in a separate process, with a journal
 * that stores nothing, and redis-server, each pinned to core 0; this process has
 * the sockets. 1,000 subscribers of one channel, `/subscribe/…` here and
 * SUBSCRIBE there; one publisher, `/pipeline` of 100 PUBLISH commands at a time
 * here and as many at once over TCP there; payloads of 64 bytes. A round is the
 * time from the first message until the last subscriber has the
 * last one. Three rounds each, in turn; medians [min to max].
 *
 * Read: `deliveries a second` is messages times subscribers divided by the time;
 * `of redis-server` is the ratio of the medians. Received data is only checked for
 * its end, yet a thousand sockets keep this process as busy as the servers.
 *
 * Run: npm run bench -- fan-out [--quick]     (--quick: one round; writes no results)
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { isPinning, SERVER_CORE, startPinned } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { median, spreadOf } from "./harness/statistics.ts";
import { spreadText, table } from "./harness/table.ts";
import { hasRedis, startRedis } from "./peers/redis.ts";

const SUBSCRIBERS = 1_000;
const BATCH = 100;
const CHANNEL = "fan-out";
const PAYLOAD_BYTES = 64;
const payload = "p".repeat(PAYLOAD_BYTES);
const LAST = "the-last-message-of-the-round";

const { values } = parseArgs({ options: { quick: { type: "boolean" } } });
const { rounds, batches } = values.quick === true ? { rounds: 1, batches: 5 } : { rounds: 3, batches: 20 };

/** One of the two servers, from the point of view of its clients. */
interface Subject {
  readonly name: string;
  readonly port: number;
  /** The request of a subscriber, and the answer when it is subscribed. */
  readonly subscribe: string;
  readonly subscribed: string;
  /** The request that publishes these payloads, and its answer. */
  readonly publish: (payloads: readonly string[]) => string;
  readonly isPublished: (text: string, count: number) => boolean;
}

/** A connection that reads until a text has arrived. */
class Listener {
  readonly socket: Socket;
  byteCount = 0;
  #tail = "";
  #wanted = "";
  #done: () => void = () => {};

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("data", (chunk: Buffer) => {
      this.byteCount += chunk.length;
      if (this.#wanted === "") return;
      // It arrives last, so checking the end of the data is enough.
      this.#tail = (this.#tail + chunk.latin1Slice(Math.max(0, chunk.length - 256))).slice(-256);
      if (this.#tail.includes(this.#wanted)) this.#end();
    });
  }

  until(text: string): Promise<void> {
    this.#wanted = text;
    this.#tail = "";
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  #end(): void {
    this.#wanted = "";
    this.#done();
  }
}

function encode(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

function redisSubject(port: number): Subject {
  return {
    name: "redis-server",
    port,
    subscribe: encode("SUBSCRIBE", CHANNEL),
    subscribed: ":1\r\n",
    publish: (payloads) => payloads.map((each) => encode("PUBLISH", CHANNEL, each)).join(""),
    isPublished: (text, count) => text.split(`:${SUBSCRIBERS}\r\n`).length > count,
  };
}

function ourSubject(port: number, token: string): Subject {
  const head = `host: localhost\r\nauthorization: Bearer ${token}\r\n`;
  return {
    name: "larder",
    port,
    subscribe: `POST /subscribe/${CHANNEL} HTTP/1.1\r\n${head}accept: text/event-stream\r\ncontent-length: 0\r\n\r\n`,
    subscribed: "subscribe,",
    publish: (payloads) => {
      const body = JSON.stringify(payloads.map((each) => ["PUBLISH", CHANNEL, each]));
      return `POST /pipeline HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;
    },
    isPublished: (text, count) => text.split(`{"result":${SUBSCRIBERS}}`).length > count,
  };
}

/** Deliveries a second, once for each round. */
async function measure(subject: Subject): Promise<readonly number[]> {
  const listeners: Listener[] = [];
  for (let i = 0; i < SUBSCRIBERS; i += 1) {
    const listener = new Listener(subject.port);
    const listening = listener.until(subject.subscribed);
    listener.socket.write(subject.subscribe);
    await listening;
    listeners.push(listener);
  }
  const publisher = connect(subject.port, "127.0.0.1").setNoDelay(true);
  await once(publisher, "connect");
  const rates: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const listener of listeners) listener.byteCount = 0;
    const heard = listeners.map((listener) => listener.until(LAST));
    const startMs = performance.now();
    for (let batch = 0; batch < batches; batch += 1) {
      const payloads = Array.from({ length: BATCH }, () => payload);
      if (batch === batches - 1) payloads[BATCH - 1] = LAST;
      await publish(publisher, subject, payloads);
    }
    await Promise.all(heard);
    const seconds = (performance.now() - startMs) / 1_000;
    for (const { byteCount } of listeners) assert.ok(byteCount >= (batches * BATCH - 1) * PAYLOAD_BYTES, "all came");
    if (round > 0) rates.push((batches * BATCH * SUBSCRIBERS) / seconds);
  }
  publisher.destroy();
  for (const { socket } of listeners) socket.destroy();
  return rates;
}

function publish(publisher: Socket, subject: Subject, payloads: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    let text = "";
    const hear = (chunk: Buffer): void => {
      text += chunk.latin1Slice();
      if (!subject.isPublished(text, payloads.length)) return;
      publisher.removeListener("data", hear);
      resolve();
    };
    publisher.on("data", hear);
    publisher.write(subject.publish(payloads));
  });
}

async function measureOurs(): Promise<readonly number[]> {
  const server = await startPinned({
    command: [process.execPath, fileURLToPath(new URL("store/fan-out-server.ts", import.meta.url))],
    until: /listening on \d+ with \S+/,
  });
  const [, port = "", token = ""] = /listening on (\d+) with (\S+)/.exec(server.output()) ?? [];
  try {
    return await measure(ourSubject(Number(port), token));
  } finally {
    await server.stop();
  }
}

async function measureRedis(): Promise<readonly number[]> {
  const redis = await startRedis(parent);
  try {
    return await measure(redisSubject(redis.port));
  } finally {
    await redis.stop();
  }
}

const parent = mkdtempSync(join(tmpdir(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));

if (!hasRedis) {
  console.error("redis-server is needed");
  process.exit(1);
}
const ours = await measureOurs();
const theirs = await measureRedis();
const page = table(
  ["server", "deliveries a second", "of redis-server"],
  [
    ["larder, event streams", spreadText(spreadOf(ours)), (median(ours) / median(theirs)).toFixed(2)],
    ["redis-server, TCP", spreadText(spreadOf(theirs)), ""],
  ],
);
console.log(page);
if (values.quick !== true) {
  const pinning = isPinning ? `servers pinned to core ${SERVER_CORE}` : "nothing pinned";
  const facts = [...machineFacts(new Date()), `${SUBSCRIBERS} subscribers, ${batches * BATCH} messages; ${pinning}`];
  writePart(["# Fan-out (`bench/fan-out.bench.ts`)", "", ...facts.map((fact) => `- ${fact}`), "", page, ""].join("\n"));
}
process.exit(0);
