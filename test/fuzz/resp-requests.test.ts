/**
 * Random streams of RESP requests, cut at random places: the same words
 * come out. The same streams with random bytes changed: the cuts do
 * not affect the result.
 *
 * Run again:  LARDER_RESP_SEED=… npm run t -- test/fuzz/resp-requests.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestParser } from "../../src/edge/resp/request-parser.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf, spending } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { mutate } from "./mutation.ts";

const seed = seedFrom("LARDER_RESP_SEED");

const REQUEST_BYTES_MAX = 50_000;
/** The bytes of mutations: those that break requests. */
const SIGNS = "*$\r\n0123456789-\"'\\x \x00\xff";

test("A-13: requests in RESP are parsed the same in any chunks, and so are refusals of malformed ones", (context) => {
  const isSpent = spending(allowanceOf("resp-requests"));
  const random = seededRandom(seed);
  let count = 0;
  let failureCount = 0;
  while (!isSpent(count)) {
    count += 1;
    const label = `SEED=${seed}, stream ${count}`;
    const requests = Array.from({ length: 1 + random.below(6) }, () => drawRequest(random));
    const stream = requests.map((words) => print(words, random)).join("");
    assert.deepEqual(readAll([stream]), requests, label);
    assert.deepEqual(readAll(cut(stream, random)), requests, label);

    const broken = mutate(stream, { signs: SIGNS, changesMax: 4 }, random);
    const whole = readAll([broken]);
    if (typeof whole.at(-1) === "string") failureCount += 1;
    assert.deepEqual(readAll(cut(broken, random)), whole, `${label}, changed`);
  }
  context.diagnostic(`SEED=${seed}: ${count} streams, ${failureCount} refused`);
});

/** All requests, then the failure, if there is one. */
function readAll(chunks: readonly string[]): (readonly string[] | string)[] {
  const parser = new RequestParser({ requestBytesMax: REQUEST_BYTES_MAX, isTrusted: () => true });
  const read: (readonly string[] | string)[] = [];
  for (const chunk of chunks) {
    parser.feed(Buffer.from(chunk, "latin1"));
    for (let words = parser.next(); words !== undefined; words = parser.next()) read.push(words);
  }
  if (parser.failure !== undefined) read.push(parser.failure);
  return read;
}

function drawRequest(random: Random): string[] {
  return Array.from({ length: 1 + random.below(5) }, () => drawWord(random));
}

function drawWord(random: Random): string {
  const lengths = [0, 1, 3, 12, 13, 16, 100, 4_095, 4_096, 6_000];
  const length = lengths[random.below(random.below(20) === 0 ? lengths.length : 7)] ?? 0;
  const start = random.below(256);
  return Array.from({ length }, (_, i) => String.fromCharCode((start + i * 7) & 255)).join("");
}

/** An array of bulk strings, or sometimes a line with every word in quotes. */
function print(words: readonly string[], random: Random): string {
  const bytes = words.reduce((sum, word) => sum + word.length, 0);
  if (bytes < 1_000 && random.below(4) === 0) {
    const quoted = words.map((word) => `"${word.replace(/[^a-z]/g, escapeSign)}"`);
    return `${quoted.join(" ")}${random.below(2) === 0 ? "\r\n" : "\n"}`;
  }
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

function escapeSign(sign: string): string {
  return `\\x${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function cut(stream: string, random: Random): string[] {
  const chunks: string[] = [];
  const lengthMax = 1 + random.below(random.below(2) === 0 ? 20 : 5_000);
  for (let at = 0; at < stream.length; ) {
    const length = 1 + random.below(lengthMax);
    chunks.push(stream.slice(at, at + length));
    at += length;
  }
  return chunks;
}
