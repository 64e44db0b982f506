/**
 * Random answers of destinations, read on the short way of deliveries and by the
 * HTTP client: the results must be the same, and so must the requests.
 *
 * A new connection is on the short way. One whose answer had an empty field is the
 * client's from then on. So each answer comes on both kinds of connection.
 *
 * Run again:  LARDER_ANSWERS_SEED=… npm run t -- test/fuzz/outbound-answers.test.ts
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { OutboundClient, type OutboundResult } from "../../src/edge/outbound/client.ts";
import { parseDestinations } from "../../src/edge/outbound/destination-policy.ts";
import { PlainAnswerReader } from "../../src/edge/outbound/plain/answer.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_ANSWERS_SEED");

/** Answers that are read side by side. */
const BATCH = 32;

interface DrawnAnswer {
  readonly bytes: Buffer;
  /** The destination ends the connection after the answer, which may be incomplete. */
  readonly isLast: boolean;
}

test("C-14: the short way and the HTTP client read the same from every answer", async (context) => {
  const limit = allowanceOf("outbound-answers");
  const destination = await listen(context);
  const startMs = systemClock.monotonicMs();
  // The first batch is always the same, so that it has answers of every kind.
  let random = seededRandom(1);
  const counts = { answers: 0, plain: 0, failures: 0 };
  const isOver = (): boolean =>
    "count" in limit ? counts.answers >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
  do {
    const drawn = Array.from({ length: BATCH }, () => drawAnswer(random));
    // Each batch has a client of its own, so that its connections are closed.
    const client = newClient();
    await Promise.all(
      drawn.map(async (answer, index) => {
        destination.answers.set(`/${index}`, answer);
        const label = `seed ${counts.answers === 0 ? 1 : seed}: ${JSON.stringify(answer.bytes.latin1Slice())}`;
        const { isLast } = answer;
        const place = { index, isLast };
        const short = await callsOn(client, destination.url, { ...place, user: `short ${index}`, isClients: false });
        const long = await callsOn(client, destination.url, { ...place, user: `long ${index}`, isClients: true });
        assert.deepEqual(short, long, label);
        if (short.result.kind === "failure") counts.failures += 1;
      }),
    );
    counts.answers += BATCH;
    const reader = new PlainAnswerReader();
    for (const { bytes } of drawn) {
      const fresh = new PlainAnswerReader().read(bytes);
      if (fresh !== undefined) counts.plain += 1;
      const label = `seed ${seed}: ${JSON.stringify(bytes.latin1Slice())}`;
      for (let times = 0; times < 2; times += 1) assert.deepEqual(reader.read(bytes), fresh, label);
      // The same head with a part of its body, with more than it, and cut.
      for (const other of [bytes.subarray(0, -1), Buffer.concat([bytes, BODY]), bytes.subarray(0, 20)]) {
        assert.deepEqual(reader.read(other), new PlainAnswerReader().read(other), label);
      }
    }
    await client.close();
    if (counts.answers === BATCH) random = seededRandom(seed);
  } while (!isOver());
  context.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
  assert.ok(counts.plain > 0 && counts.failures > 0 && counts.plain < counts.answers);
});

interface Seen {
  readonly result: OutboundResult;
  /** Of the next call: the request as it was received, and whether it came on the same connection. */
  readonly next: string | undefined;
}

interface Place {
  readonly user: string;
  readonly index: number;
  readonly isLast: boolean;
  readonly isClients: boolean;
}

async function callsOn(client: OutboundClient, url: string, place: Place): Promise<Seen> {
  const { user, index, isLast, isClients } = place;
  const call = (path: string): Promise<OutboundResult> =>
    new Promise((resolve) =>
      client.send(
        {
          ...{ user, url: url + path, method: "POST", timeoutMs: 600_000 },
          headers: ["X-Name", "caf\xe9", "Content-Type", "text/plain"],
          body: BODY,
        },
        resolve,
      ),
    );
  if (isClients) await call("/other");
  const result = await call(`/${index}`);
  if (isLast) return { result, next: undefined };
  const next = await call("/next");
  return { result, next: next.kind === "answer" ? next.body.latin1Slice() : next.text };
}

const BODY = Buffer.from([0, 255, 13, 10]);

function newClient(): OutboundClient {
  return new OutboundClient({
    resolver: { resolve: () => Promise.resolve([]) },
    clock: new VirtualClock(),
    policy: parseDestinations("any", []),
    map: [],
    responseBytesMax: 1_000_000,
    originsPerUserMax: 1,
  });
}

/** A destination with answers by path. `/next` answers with its request, and whether its connection had another one. */
async function listen(context: TestContext): Promise<{ url: string; answers: Map<string, DrawnAnswer> }> {
  const answers = new Map<string, DrawnAnswer>();
  const server = createServer((socket: Socket) => {
    let received = "";
    let isUsed = false;
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes: Buffer) => {
      received += bytes.latin1Slice();
      const headEnd = received.indexOf("\r\n\r\n");
      if (headEnd < 0 || received.length < headEnd + 4 + BODY.length) return;
      const request = received;
      received = "";
      const path = /^POST (\S+) /.exec(request)?.[1] ?? "";
      const answer = answers.get(path);
      const text = `${isUsed ? "used" : "new"} ${request}`;
      isUsed = true;
      if (answer?.isLast === true) socket.end(answer.bytes);
      else if (answer !== undefined) socket.write(answer.bytes);
      else if (path === "/other") socket.write(OTHER);
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`, "latin1");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`, answers };
}

const OTHER = "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n";

/** The first ones are more frequent. */
const statusLines = [
  ...[
    "HTTP/1.1 200 OK",
    "HTTP/1.1 500 Internal Server Error",
    "HTTP/1.1 489 x",
    "HTTP/1.1 201 \xe9",
    "HTTP/1.0 200 OK",
  ],
  ...["HTTP/1.1 302 ", "HTTP/1.1 200", "HTTP/1.1 599 a\tb"],
];
const oddStatusLines = [
  ...["HTTP/1.1 600 x", "HTTP/1.1 099 x", "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/2.0 200 OK"],
  ...[
    "HTTP/1.1 2e2 OK",
    "HTTP/1.1 0x9 OK",
    "http/1.1 200 OK",
    "HTTP/1.1 200 O\x01K",
    "HTTP/1.1 200 OK\rX: y",
    "\r\nHTTP/1.1 200 OK",
  ],
];
const fields = [
  ...["Content-Type: text/plain", "Date: today", "X-Plain:b", "Keep-Alive: timeout=5", "Connection: keep-alive"],
  ...["X-Blanks:  b", "X-Blank: b ", "X-Empty:", "X-Tab: a\tb", "X-Text: caf\xe9", "connection: Keep-Alive, x"],
  ...[
    "Connection: close",
    "Keep-Alive: timeout=1",
    "Keep-Alive: max=3, timeout=2",
    "Keep-Alive: timeout=3 ",
    "Trailer: X",
  ],
  ...["constructor: a", "Retry-After: 1", "Proxy-Connection: keep-alive", "X-Colon: a:b"],
];
const oddFields = [
  ...[
    "X b: c",
    ": c",
    "X-Control: a\x01b",
    "X-Feed: a\nb",
    "X-Return: a\rb",
    " folded",
    "X-Delete: a\x7fb",
    "X\xe9: a",
    "X",
  ],
  ...[
    "Transfer-Encoding: identity",
    "Transfer-Encoding: chunked",
    "Upgrade: h2c",
    "Connection: upgrade",
    "Content-Length: 3",
  ],
  ...["Content-Length: +2", "Content-Length: 0x2", "Content-Length: 2, 2", "Content-Length:2 ", "X-Nul: a\0b"],
];

/** An answer that is complete, or one of any form after which the connection ends. */
function drawAnswer(random: Random): DrawnAnswer {
  const of = (list: readonly string[]): string => list[random.below(list.length)] as string;
  const isOdd = random.below(2) === 0;
  const lines = [isOdd && random.below(4) === 0 ? of(oddStatusLines) : of(statusLines)];
  for (let count = random.below(4); count > 0; count -= 1) lines.push(of(fields));
  if (isOdd && random.below(2) === 0) lines.push(of(oddFields));
  const body = "x".repeat(random.below(20));
  const framing = random.below(isOdd ? 6 : 3);
  if (framing === 0) {
    lines.push(`Transfer-Encoding: ${isOdd && random.below(4) === 0 ? "CHUNKED" : "chunked"}`);
    return answerOf(lines, drawChunks(random, isOdd), isOdd);
  }
  if (framing === 1) {
    lines[0] = isOdd && random.below(4) === 0 ? "HTTP/1.1 304 Not Modified" : "HTTP/1.1 204 No Content";
    if (random.below(2) === 0) lines.push("Content-Length: 0");
    return answerOf(lines, isOdd && random.below(4) === 0 ? body : "", isOdd);
  }
  if (framing < 4) lines.push(`${random.below(2) === 0 ? "Content-Length" : "content-length"}: ${body.length}`);
  if (framing === 4) lines.push(`Content-Length: ${random.below(30)}`);
  return answerOf(lines, body, isOdd);
}

function drawChunks(random: Random, isOdd: boolean): string {
  let text = "";
  for (let count = random.below(4); count > 0; count -= 1) {
    const data = "x".repeat(1 + random.below(20));
    const size = data.length + (isOdd && random.below(8) === 0 ? 1 : 0);
    const odd = isOdd && random.below(8) === 0 ? (oddSizes[random.below(oddSizes.length)] as string) : "";
    text += `${random.below(4) === 0 ? "00" : ""}${size.toString(16)}${odd}\r\n${data}\r\n`;
  }
  const end = isOdd && random.below(3) === 0 ? oddEnds[random.below(oddEnds.length)] : "0\r\n\r\n";
  return `${text}${end}`;
}

const oddSizes = [";a=b", " ", "g", "\n", "-", ";", "0000000"];
const oddEnds = [
  "",
  "0\r\n",
  "0\r\nX: y\r\n\r\n",
  "000\r\n\r\n",
  "0\r\n\r\nx",
  "00000000\r\n\r\n",
  "0\n\n",
  "0;a\r\n\r\n",
];

function answerOf(lines: readonly string[], body: string, isLast: boolean): DrawnAnswer {
  return { bytes: Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1"), isLast };
}
