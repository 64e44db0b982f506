/**
 * Random and hostile streams of HTTP/1 requests, read by Node's module and by our
 * own reader, whose requests must be the same, with the same bodies.
 *
 * (1) However a stream is cut, our reader sees the same.
 * (2) Our reader sees the requests that Node's sees, at the same places, so nothing
 *     can be smuggled past one of them to the other.
 * (3) Where only one of them refuses, a row of `differences` says why.
 *
 * Run again:  LARDER_HTTP_SEED=… npm run t -- test/fuzz/http-requests.test.ts
 */
import assert from "node:assert/strict";
import { METHODS } from "node:http";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { framingFailure, hasBody, originForm } from "../../src/edge/http/framing.ts";
import { nodeTransport } from "../../src/edge/http/node-transport.ts";
import type { TransportHandlers, TransportName, TransportRequest } from "../../src/edge/http/transport.ts";
import { wireTransport } from "../../src/edge/http/wire/transport.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_HTTP_SEED");

const LIMITS = { headerBytesMax: 2_000, headersTimeoutMs: 1e6, requestTimeoutMs: 1e6, keepAliveTimeoutMs: 1e6 };
/** Streams that are read side by side. */
const BATCH = 32;

interface SeenRequest {
  readonly method: string;
  /** All of the head, as JSON. */
  readonly head: string;
  body: string;
}

interface Reading {
  readonly requests: SeenRequest[];
  end: "open" | "closed" | "refused";
}

test("our reader of HTTP sees the requests that Node's sees, however a stream is cut", async (context) => {
  const limit = allowanceOf("http-requests");
  const startMs = systemClock.monotonicMs();
  const random = seededRandom(seed);
  let count = 0;
  const outcomes = new Map<string, number>();
  const isOver = (): boolean =>
    "count" in limit ? count >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
  while (!isOver()) {
    const streams = Array.from({ length: BATCH }, () => {
      const bytes = Buffer.from(drawStream(random), "latin1");
      return { bytes, cuts: cut(bytes, random) };
    });
    for (const outcome of await Promise.all(streams.map(compare)))
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    count += BATCH;
  }
  context.diagnostic(`seed ${seed}: ${count} streams, ${JSON.stringify(Object.fromEntries(outcomes))}`);
  for (const outcome of ["same, open", "same, refused"]) assert.ok(outcomes.has(outcome), `no stream was: ${outcome}`);
});

/** How the readings of a stream ended, or how they differ. Throws if no difference of the list says so. */
async function compare({ bytes, cuts }: { readonly bytes: Buffer; readonly cuts: readonly Buffer[] }): Promise<string> {
  const label = `seed ${seed}: ${JSON.stringify(bytes.latin1Slice())}`;
  const ours = await read("larder", [bytes]);
  assert.deepEqual(await read("larder", cuts), ours, `cut ${label}`);
  const theirs = await read("node", [bytes]);
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return `same, ${ours.end}`;
  for (const { reason, explains } of differences) if (await explains(ours, theirs, bytes)) return reason;
  assert.deepEqual(ours, theirs, label);
  return "";
}

/**
 * Ends of a head that stopped anywhere: in its last line end, in a value, in a name, or in the request line, with the
 * Host that the head may need. After a head that Node has refused, none of them makes a request.
 */
const restsOfHead = ["\n", "\r\n", ": a\r\n", " HTTP/1.1\r\n", "1.1\r\n", " / HTTP/1.1\r\n"].flatMap((rest) => [
  `${rest}\r\n`,
  `${rest}Host: a\r\n\r\n`,
]);

interface Difference {
  readonly reason: string;
  readonly explains: (ours: Reading, theirs: Reading, bytes: Buffer) => boolean | Promise<boolean>;
}

/** Differences on purpose. In each of them both sides have seen the same requests before. */
const differences: readonly Difference[] = [
  {
    reason: "Node refuses bytes after the last request of a connection, and we do not read them",
    explains: (ours, theirs) => sameRequests(ours, theirs) && ours.end === "closed" && theirs.end === "refused",
  },
  {
    reason: "Node refuses a method that it does not know, and we leave that to the route",
    explains: (ours, theirs) => {
      const next = ours.requests[theirs.requests.length];
      const before = { ...ours, requests: ours.requests.slice(0, theirs.requests.length) };
      return (
        next !== undefined && !METHODS.includes(next.method) && sameRequests(before, theirs) && theirs.end === "refused"
      );
    },
  },
  {
    reason: "we refuse two spaces in a request line, and Node does not",
    explains: (ours, theirs, bytes) =>
      refusesEarlier(ours, theirs) && /[A-Z] {2,}[^\r ]+ HTTP| {2,}HTTP\/1\.[01]\r\n/.test(bytes.latin1Slice()),
  },
  {
    reason: "we refuse an extension of a chunk without a name or a value, and Node does not",
    explains: (ours, theirs, bytes) =>
      refusesEarlier(ours, theirs) && /\r\n[0-9a-f]+;(?:[^\r]*[;=])?[;=\r]/i.test(bytes.latin1Slice()),
  },
  {
    reason: "we refuse a bare line feed or carriage return before a request line, and Node does not",
    explains: (ours, theirs, bytes) =>
      refusesEarlier(ours, theirs) && /(?:^|\n|x)(?:\n|\r(?!\n))/.test(bytes.latin1Slice()),
  },
  {
    reason: "Node refuses within a head, and we at the end of a line or of the head",
    explains: async (ours, theirs, bytes) => {
      if (!sameRequests(ours, theirs) || ours.end !== "open" || theirs.end !== "refused") return false;
      for (const rest of restsOfHead) {
        const { end, requests } = await read("larder", [bytes, Buffer.from(rest)]);
        const further = requests[ours.requests.length];
        if (end === "open" && further === undefined) return false;
        if (further !== undefined && METHODS.includes(further.method)) return false;
      }
      return true;
    },
  },
  {
    reason: "we refuse a request line without a version at its end, and Node (HTTP/0.9) after the head",
    explains: async (ours, theirs, bytes) =>
      sameRequests(ours, theirs) &&
      ours.end === "refused" &&
      theirs.end === "open" &&
      (await read("node", [bytes, Buffer.from("\n\r\n\r\n")])).end === "refused",
  },
];

/** Ours ends with a refusal where theirs goes on, perhaps within the body of the last request. */
function refusesEarlier(ours: Reading, theirs: Reading): boolean {
  const last = ours.requests.length - 1;
  return (
    ours.end === "refused" &&
    ours.requests.every(({ method, head, body }, i) => {
      const their = theirs.requests[i];
      if (their === undefined || their.method !== method || their.head !== head) return false;
      return i === last ? their.body.startsWith(body) : their.body === body;
    })
  );
}

function sameRequests(one: Reading, other: Reading): boolean {
  return JSON.stringify(one.requests) === JSON.stringify(other.requests);
}

/** Reads a stream in these chunks, refuses what the listener refuses, and answers every other request. */
async function read(name: TransportName, chunks: readonly Buffer[]): Promise<Reading> {
  const reading: Reading = { requests: [], end: "open" };
  const refuse = (socket: { destroy(): unknown }): void => {
    reading.end = "refused";
    socket.destroy();
  };
  const handlers: TransportHandlers = {
    request(request, response, expectation) {
      if (reading.end === "refused") return;
      const isReadable = framingFailure(request.framing, request.httpVersion) === undefined;
      if (!isReadable || originForm(request.target) === undefined) {
        refuse(request.socket);
        return;
      }
      const seen = seenRequest(request, expectation);
      reading.requests.push(seen);
      if (expectation === "continue") response.writeContinue();
      const answer = (): void => {
        response.writeHead(200, ["Content-Length", "0"]);
        response.end();
      };
      const data = (chunk: Buffer): void => {
        seen.body += chunk.latin1Slice();
      };
      if (hasBody(request.framing)) request.receive({ data, end: answer });
      else answer();
    },
    tunnel: refuse,
    silent() {},
    fault: refuse,
  };
  const options = { limits: LIMITS, tls: undefined, clock: new VirtualClock() };
  const { server } = name === "node" ? nodeTransport(handlers, options) : wireTransport(handlers, options);
  const socket = new SocketWithoutNetwork();
  server.emit("connection", socket);
  // The reading begins in the next turn.
  await nextTurn();
  for (const chunk of chunks) socket.push(chunk);
  await nextTurn();
  if (reading.end === "open" && socket.destroyed) reading.end = "closed";
  socket.destroy();
  return reading;
}

function seenRequest({ method, target, httpVersion, rawHeaders }: TransportRequest, expectation: string): SeenRequest {
  return { method, head: JSON.stringify([target, httpVersion, expectation, ...rawHeaders]), body: "" };
}

class SocketWithoutNetwork extends Duplex {
  readonly timeout = 0;

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}

const names = [
  "Host",
  "Content-Length",
  "Transfer-Encoding",
  "Connection",
  "Expect",
  "X",
  "Upstash-Sync-Token",
  "content-length",
  "Accept",
];
const values = [
  "a",
  "4",
  "8",
  "chunked",
  "Chunked",
  "gzip, chunked",
  "close",
  "keep-alive",
  "100-continue",
  "",
  " b ",
  "\t",
  "0",
  "+4",
  "4, 4",
  "\x0bchunked",
  "caf\xe9",
  "a\x00b",
  "a\x7fb",
];
const methods = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "M-SEARCH", "NOTHING", "get", "CONNECT", "PRI"];
const targets = ["/", "/set/k/v", "/a?b=c", "*", "http://a/b", "/a#b", "/a b", "/\xe9", "a:1", ""];

function pick<T>(random: Random, rows: readonly T[], favourites = rows.length): T {
  return rows[random.below(random.below(4) === 0 ? rows.length : favourites)] as T;
}

function drawStream(random: Random): string {
  const requests = Array.from({ length: 1 + random.below(4) }, () => drawRequest(random));
  const stream = requests.join("");
  return random.below(2) === 0 ? stream : mutate(stream, random);
}

function drawRequest(random: Random): string {
  const line = `${pick(random, methods, 3)} ${pick(random, targets, 3)} HTTP/1.${random.below(10) === 0 ? 0 : 1}\r\n`;
  const fields = ["Host: a\r\n"];
  const body = "x".repeat(random.below(20));
  const kind = random.below(5);
  if (kind === 1) fields.push(`Content-Length: ${body.length}\r\n`);
  if (kind === 2) fields.push("Transfer-Encoding: chunked\r\n");
  if (kind === 3) fields.push(`${pick(random, names)}: ${pick(random, values)}\r\n`);
  if (random.below(20) === 0) fields.push(`X: ${"y".repeat(random.below(5) === 0 ? 4_000 : random.below(300))}\r\n`);
  const end = kind === 1 ? body : kind === 2 ? chunksOf(body, random) : "";
  return `${line}${fields.join("")}\r\n${end}`;
}

function chunksOf(body: string, random: Random): string {
  const at = random.below(body.length + 1);
  const chunk = (text: string): string =>
    text === ""
      ? ""
      : `${text.length.toString(16)}${pick(random, ["", "", "", ";a=b", ";a", ';a="b;\\""', ";a=b;c=d", "; a", ";"], 4)}\r\n${text}\r\n`;
  return `${chunk(body.slice(0, at))}${chunk(body.slice(at))}0\r\n${random.below(5) === 0 ? "T: v\r\n" : ""}\r\n`;
}

const SIGNS = "\r\n :;,\t\x00\x0b\x7f\xff0123456789aAfFGET/?#Content-Length: 4\r\n";

function mutate(stream: string, random: Random): string {
  let text = stream;
  for (let i = random.below(3); i >= 0; i -= 1) {
    const at = random.below(text.length + 1);
    const sign = SIGNS.charAt(random.below(SIGNS.length));
    const kind = random.below(3);
    if (kind === 0) text = text.slice(0, at) + sign + text.slice(at + 1);
    else if (kind === 1) text = text.slice(0, at) + sign + text.slice(at);
    else text = text.slice(0, at) + text.slice(at + 1 + random.below(3));
  }
  return text;
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const chunks: Buffer[] = [];
  const lengthMax = 1 + random.below(random.below(2) === 0 ? 5 : 400);
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + random.below(lengthMax);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}
