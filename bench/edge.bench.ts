/**
 * Question: what does a request of the store, or a query of the vector index,
 * cost between the socket and the engine, and is each shortcut of the edge still
 * worthwhile?
 *
 * Method: no sockets. Each variant of one piece of work runs over the same
 * inputs, in alternating rounds so that a noisy neighbour affects all of them;
 * the median round counts. Requests carry the headers that the official client
 * sends through fetch. `whole` rows run the real `StoreArea` on an engine that
 * answers OK at once, so they include all of the edge except the HTTP parser;
 * those of queries run `VectorArea` on an index that has its hits at once.
 *
 * Read: microseconds per call, in groups; the first row of a group is the
 * implementation of the edge, the others are alternatives. A shortcut is
 * worthwhile if its row is clearly below the plain one. For `pipeline` rows divide by
 * 100 for a command: a core spends about 43 us on the rest of such a request.
 *
 * Run: npm run bench -- edge
 */
import { isUtf8 } from "node:buffer";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { TokenTable } from "../src/edge/auth.ts";
import { malformedPipeline } from "../src/edge/errors.ts";
import type { HeadMemo, HttpRequest } from "../src/edge/handler.ts";
import { readFraming } from "../src/edge/http/framing.ts";
import { HeadReader } from "../src/edge/http/wire/head.ts";
import { parseBatch } from "../src/edge/store/json-commands.ts";
import { readBatchExactly } from "../src/edge/store/json-reader.ts";
import { base64Result } from "../src/edge/store/reply-base64.ts";
import { jsonResult, utf8Of } from "../src/edge/store/reply-json.ts";
import { REPLY_BYTES_MAX, REQUEST_BYTES_MAX, StoreArea } from "../src/edge/store/routes.ts";
import { SyncTokens } from "../src/edge/store/sync-token.ts";
import { VectorArea } from "../src/edge/vector/area.ts";
import { readQueries } from "../src/edge/vector/body.ts";
import { printScores } from "../src/edge/vector/record-json.ts";
import { textFromBytes } from "../src/kernel/bytes.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { seededRandom } from "../src/kernel/random.ts";
import { Turns } from "../src/kernel/turns.ts";
import type { Database, Reply } from "../src/store/mod.ts";
import type { ReplyPrinter } from "../src/store/reply/mod.ts";
import { ok } from "../src/store/reply/reply.ts";
import { defaultVectorLimits, type IndexApi, type ScoredView } from "../src/vector/mod.ts";
import { median } from "./harness/statistics.ts";

interface Group {
  readonly name: string;
  readonly variants: Readonly<Record<string, () => unknown>>;
}

const ROUNDS = 9;
const ROUND_MS = 12;
const WARM_UP_MS = 60;

const COMMANDS = 100;
const token = "AXl0AAIjcDE2ZjA1NGI1ZTQ3ZjA0ZjQ4YmEwY2Q5YjM3ZTc5ZTk5ZHAxMA";

/** In the order and spelling of `@upstash/redis` through fetch. */
const officialHeaders = [
  ["host", "127.0.0.1:8079"],
  ["connection", "keep-alive"],
  ["Content-Type", "application/json"],
  ["Upstash-Telemetry-Runtime", "node@v26.10.0"],
  ["Upstash-Telemetry-Platform", "unknown"],
  ["Upstash-Telemetry-Sdk", "@upstash/redis@v1.39.0"],
  ["Upstash-Encoding", "base64"],
  ["Authorization", `Bearer ${token}`],
  ["upstash-sync-token", "m3fz9q:1234567"],
  ["accept", "*/*"],
  ["accept-language", "*"],
  ["sec-fetch-mode", "cors"],
  ["user-agent", "node"],
  ["accept-encoding", "gzip, deflate"],
  ["content-length", "36"],
].flat();

function batch(command: (index: number) => unknown[]): Buffer {
  return Buffer.from(JSON.stringify(Array.from({ length: COMMANDS }, (_, index) => command(index))));
}

const bodies: Record<string, Buffer> = {
  "SET of 10 bytes": batch((i) => ["SET", `key:${100_000 + i}`, "valuevalue"]),
  "SET of 100 bytes": batch((i) => ["SET", `user:session:${100_000 + i}`, "v".repeat(100)]),
  "SET of JSON with a number": batch((i) => ["SET", `key:${i}`, JSON.stringify({ id: i, name: "n" }), "EX", 60]),
  "ZADD with a fraction": batch((i) => ["ZADD", `key:${i}`, i + 0.5, "member"]),
  "SET of text beyond ASCII": batch((i) => ["SET", `key:${i}`, "grüße aus köln"]),
  "SET of 10 KB": batch((i) => ["SET", `key:${i}`, "v".repeat(10_000)]),
};

const parseGroups: Group[] = Object.entries(bodies).map(([name, body]) => ({
  name: `parse, pipeline of ${COMMANDS} ${name}`,
  variants: {
    "parseBatch (ours)": () => parseBatch(body, malformedPipeline),
    "exact reader alone": () => readBatchExactly(body, malformedPipeline),
    "JSON.parse of text, words as text": () => JSON.parse(body.utf8Slice()),
  },
}));

/** Fresh strings, as the engine returns them: not the constants of this file. */
function fresh(text: string): string {
  return Buffer.from(text, "utf8").latin1Slice();
}

const okReplies: Reply[] = new Array<Reply>(COMMANDS).fill(ok);
const shortReplies: Reply[] = Array.from({ length: COMMANDS }, (_, i) => fresh(`value:${i}`));
const longReplies: Reply[] = Array.from({ length: COMMANDS }, (_, i) => fresh(`${i} ${"v".repeat(100)}`));
const foreignReplies: Reply[] = Array.from({ length: COMMANDS }, (_, i) => fresh(`${i} grüße`));

function joined(replies: readonly Reply[], print: (reply: Reply, bytesMax: number) => string): number {
  let text = "[";
  for (let i = 0; i < replies.length; i += 1) text += (i > 0 ? "," : "") + print(replies[i] as Reply, REPLY_BYTES_MAX);
  text = utf8Of(`${text}]`);
  return text.length + text.charCodeAt(text.length - 1);
}

function stringified(replies: readonly Reply[], encode: (bytes: string) => string): number {
  const elements = replies.map((reply) => ({ result: typeof reply === "string" ? encode(reply) : "OK" }));
  const text = JSON.stringify(elements);
  return Buffer.byteLength(text, "utf8") + text.charCodeAt(text.length - 1);
}

const printGroups: Group[] = [
  ["OK", okReplies],
  ["10-byte values", shortReplies],
  ["100-byte values", longReplies],
  ["values beyond ASCII", foreignReplies],
].map(([name, replies]) => ({
  name: `print, ${COMMANDS} replies: ${name}`,
  variants: {
    "json as bytes (ours)": () => joined(replies as Reply[], jsonResult),
    "JSON.stringify of objects": () => stringified(replies as Reply[], textFromBytes),
    "base64 as bytes (ours)": () => joined(replies as Reply[], base64Result),
    "base64 through Buffer and JSON.stringify": () =>
      stringified(replies as Reply[], (bytes) => Buffer.from(bytes, "latin1").toString("base64")),
  },
}));

const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const quoteGroups: Group[] = [8, 24, 100, 10_000].map((length) => {
  const value = fresh("v".repeat(length));
  return {
    name: `quote one string of ${length}`,
    variants: {
      "JSON.stringify (ours)": () => JSON.stringify(value),
      "a pattern, then quotes": () => (PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)),
      "isUtf8 of a Buffer, then JSON.stringify": () => isUtf8(Buffer.from(value, "latin1")) && JSON.stringify(value),
    },
  };
});

const tokens = new TokenTable(Buffer.alloc(32, 1));
tokens.add(token, { tenant: "main", access: "standard" });
for (let i = 0; i < 100; i += 1) tokens.add(`other-${i}`, { tenant: `other-${i}`, access: "standard" });

/** The head on the wire, with these values of the sync token and of the length. */
function headBytes(syncToken: string, length: number, target = "/"): Buffer {
  let text = `POST ${target} HTTP/1.1\r\n`;
  for (let i = 0; i < officialHeaders.length; i += 2) {
    const name = officialHeaders[i] as string;
    const given = officialHeaders[i + 1] as string;
    const value = name === "upstash-sync-token" ? syncToken : name === "content-length" ? String(length) : given;
    text += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, "latin1");
}

const HEADS_MAX = 64;
const repeatedHeads = Array.from({ length: HEADS_MAX }, (_, i) => headBytes(`m3fz9q:${1_234_567 + i * 37}`, 30 + i));
const changingHeads = repeatedHeads.map((_, i) => headBytes("m3fz9q:1234567", 36, `/get/key:${i}`));

function readNext(reader: HeadReader, heads: readonly Buffer[]): () => unknown {
  let next = 0;
  return () => {
    next = (next + 1) % HEADS_MAX;
    return reader.read(heads[next] as Buffer, 0);
  };
}

const wireHeadGroup: Group = {
  name: "the bytes of one head, with the official headers",
  variants: {
    "a head that repeats (ours)": readNext(new HeadReader(16_384), repeatedHeads),
    "another target each time (ours)": readNext(new HeadReader(16_384), changingHeads),
  },
};

const headGroup: Group = {
  name: "the head of one request with the official headers",
  variants: {
    "framing in one pass (ours)": () => readFraming(officialHeaders),
    "node's object of all headers": () => {
      const message = new IncomingMessage(idleSocket);
      // The calls of the parser of node:http; the object that it builds cannot be made otherwise.
      (message as unknown as { _addHeaderLines(raw: string[], count: number): void })._addHeaderLines(
        officialHeaders,
        officialHeaders.length,
      );
      return message.headers;
    },
    "the message alone, to be taken off": () => new IncomingMessage(idleSocket),
  },
};
const idleSocket = new Socket();

const tokenGroup: Group = {
  name: "token of one request, 101 tokens known",
  variants: {
    "remembered header (ours)": () => tokens.findByHeader(fresh(`Bearer ${token}`)),
    "digest each time": () => tokens.find(fresh(token)),
    "the fresh string alone, to be taken off": () => fresh(`Bearer ${token}`),
  },
};

/** An engine that costs nothing. */
const instant = {
  turn: new Turns({ clock: systemClock }).tenant("store", "main"),
  activity: { addInput: () => {}, addOutput: () => {} },
  printCommand: (_caller: unknown, _words: unknown, printer: ReplyPrinter<unknown>) => printer.printDone(ok),
  printPipeline: (_caller: unknown, commands: readonly unknown[], printer: ReplyPrinter<unknown>) => {
    for (let i = 0; i < commands.length; i += 1) printer.printDone(ok);
    return undefined;
  },
} as unknown as Database;

const area = new StoreArea({
  store: { database: () => instant },
  tokens,
  syncTokens: new SyncTokens("m3fz9q"),
  cors: true,
  queryToken: true,
  requestBytesMax: REQUEST_BYTES_MAX,
  replyBytesMax: REPLY_BYTES_MAX,
  clock: systemClock,
});

function request(method: string, target: string, body: Buffer): HttpRequest {
  return {
    method,
    target,
    header: (name) => {
      const index = officialHeaders.findIndex((given, i) => i % 2 === 0 && given.toLowerCase() === name);
      return index < 0 ? undefined : officialHeaders[index + 1];
    },
    rawHeaders: officialHeaders,
    body,
    remoteAddress: "127.0.0.1",
    remotePort: 1,
    id: "bench-1",
  };
}

const command = Buffer.from('["SET","key:100001","valuevalue"]');
const none = Buffer.alloc(0);
const wholeGroup: Group = {
  name: "whole, from request to reply, with the official headers",
  variants: {
    "POST / with one SET": () => area.handle(request("POST", "/", command)),
    "GET /set/key:100001/valuevalue": () => area.handle(request("GET", "/set/key:100001/valuevalue", none)),
    "GET /set/key:100001/a%20value%2F?EX=60": () =>
      area.handle(request("GET", "/set/key:100001/a%20value%2F?EX=60", none)),
    "POST /pipeline with 100 SETs": () => area.handle(request("POST", "/pipeline", bodies["SET of 10 bytes"] ?? none)),
    "POST /pipeline with 100 SETs of JSON and a number": () =>
      area.handle(request("POST", "/pipeline", bodies["SET of JSON with a number"] ?? none)),
  },
};

const random = seededRandom(1);
const DIMENSIONS = 384;
const HITS = 10;
const floats = Float32Array.from({ length: DIMENSIONS }, () => random.unit() - 0.5);

function queryBody(digits: (value: number) => number): Buffer {
  return Buffer.from(JSON.stringify({ vector: Array.from(floats, digits), topK: HITS }));
}

const queryBodies: Record<string, Buffer> = {
  "7 decimals": queryBody((value) => Math.round(value * 1e7) / 1e7),
  "all digits of a double": queryBody((value) => value * 1.000_000_1),
};

const queryGroups: Group[] = Object.entries(queryBodies).map(([name, body]) => ({
  name: `read one query of ${DIMENSIONS} floats, ${name}`,
  variants: {
    "readQueries (ours)": () => readQueries(body, defaultVectorLimits),
    "JSON.parse of text": () => JSON.parse(body.latin1Slice()),
    "JSON.parse of text, then a Float32Array": () => Float32Array.from(JSON.parse(body.latin1Slice()).vector),
  },
}));

const hits: ScoredView[] = Array.from({ length: HITS }, (_, i) => ({
  id: `${100_000 + i}`,
  score: Math.fround(random.unit()),
}));
const hitsGroup: Group = {
  name: `print ${HITS} hits`,
  variants: {
    "printScores (ours)": () => printScores([hits]),
    "JSON.stringify of objects": () => Buffer.from(JSON.stringify({ result: hits })),
  },
};

/** An index whose queries cost nothing. */
const instantIndex = { query: () => [hits], whenSafe: () => undefined } as unknown as IndexApi;
const vectorArea = new VectorArea({
  vector: { index: () => instantIndex },
  tokens,
  cors: true,
  limits: defaultVectorLimits,
  clock: systemClock,
  turns: new Turns({ clock: systemClock }),
});
const repeated = { learnt: undefined };
const queryArea = (body: Buffer, memo?: HeadMemo): unknown =>
  vectorArea.handle({ ...request("POST", "/query", body), memo });
const wholeQueryGroup: Group = {
  name: `whole, a query of ${DIMENSIONS} floats, from request to reply, with the headers of the store's client`,
  variants: {
    "7 decimals, a head that repeats": () => queryArea(queryBodies["7 decimals"] ?? none, repeated),
    "7 decimals, another head": () => queryArea(queryBodies["7 decimals"] ?? none),
    "all digits of a double, a head that repeats": () =>
      queryArea(queryBodies["all digits of a double"] ?? none, repeated),
  },
};

/** Keeps the results alive, so that no variant is optimised away. */
let sink: unknown;

function callsIn(ms: number, call: () => unknown): number {
  const endMs = performance.now() + ms;
  let calls = 0;
  let step = 1;
  while (performance.now() < endMs) {
    for (let i = 0; i < step; i += 1) sink = call();
    calls += step;
    step = Math.min(step * 2, 256);
  }
  return calls;
}

function microseconds(variants: readonly (() => unknown)[]): number[] {
  const counts = variants.map((call) => Math.max(1, Math.ceil((callsIn(WARM_UP_MS, call) / WARM_UP_MS) * ROUND_MS)));
  const taken: number[][] = variants.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, call] of variants.entries()) {
      const count = counts[index] as number;
      const startMs = performance.now();
      for (let i = 0; i < count; i += 1) sink = call();
      taken[index]?.push(((performance.now() - startMs) * 1_000) / count);
    }
  }
  return taken.map(median);
}

for (const { name, variants } of [
  ...parseGroups,
  ...printGroups,
  ...quoteGroups,
  wireHeadGroup,
  headGroup,
  tokenGroup,
  wholeGroup,
  ...queryGroups,
  hitsGroup,
  wholeQueryGroup,
]) {
  console.log(`\n${name}`);
  const taken = microseconds(Object.values(variants));
  for (const [index, variant] of Object.keys(variants).entries())
    console.log(`  ${(taken[index] ?? 0).toFixed(3).padStart(10)} us  ${variant}`);
}
if (sink === undefined) console.log("nothing was measured");
