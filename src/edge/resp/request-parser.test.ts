import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestParser } from "./request-parser.ts";

const REQUEST_BYTES_MAX = 100_000;

function parser(isTrusted = true): RequestParser {
  return new RequestParser({ requestBytesMax: REQUEST_BYTES_MAX, isTrusted: () => isTrusted });
}

/** All requests in the chunks, then the failure, if any. */
function readAll(chunks: readonly string[], reader = parser()): (readonly string[] | string)[] {
  const read: (readonly string[] | string)[] = [];
  for (const chunk of chunks) {
    reader.feed(Buffer.from(chunk, "latin1"));
    for (let words = reader.next(); words !== undefined; words = reader.next()) read.push(words);
  }
  if (reader.failure !== undefined) read.push(reader.failure);
  return read;
}

const long = "v".repeat(5_000);

const ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/** The words as an array of bulk strings. */
function printed(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

const streams: readonly (readonly [stream: string, requests: readonly (readonly string[] | string)[]])[] = [
  ["*1\r\n$4\r\nPING\r\n", [["PING"]]],
  ["*2\r\n$3\r\nGET\r\n$0\r\n\r\n", [["GET", ""]]],
  [
    "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000012\r\n$6\r\n\r\n\x00\xff*1\r\nPING\r\n",
    [["SET", "key:000000000012", "\r\n\x00\xff*1"], ["PING"]],
  ],
  ['PING\r\n\r\n\nPING\nSET k "a b"\r\n', [["PING"], ["PING"], ["SET", "k", "a b"]]],
  ["*0\r\n*-1\r\n*-20\r\n*1\r\n$1\r\na\r\n", [["a"]]],
  // Redis checks neither the byte after a return nor the bytes after a bulk string.
  ["*1\rx$1\rxa..*1\r\n$1\r\nb\r\n", [["a"], ["b"]]],
  [`*2\r\n$5000\r\n${long}\r\n$1\r\na\r\nPING\r\n`, [[long, "a"], ["PING"]]],
  // Around the borders of requests that are read in one pass.
  [printed(ten.slice(1)) + printed(ten) + printed(["a"]), [ten.slice(1), ten, ["a"]]],
  [
    [9, 10, 12, 13, 22, 23, 99, 100]
      .map((length) => printed(["SET", "v".repeat(length), "\xff".repeat(length)]))
      .join(""),
    [9, 10, 12, 13, 22, 23, 99, 100].map((length) => ["SET", "v".repeat(length), "\xff".repeat(length)]),
  ],
  ["*2\rx$3\rxGETxx$1\rxkxx*1\r\n$0\r\n\r\n", [["GET", "k"], [""]]],
  ["*2\r\n$3\r\nGET\r\n$01\r\nk\r\n", ["ERR Protocol error: invalid bulk length"]],
  ["*2\r\n$3\r\nGET\r\n:1\r\n", ["ERR Protocol error: expected '$', got ':'"]],
  ["*2\r\n$3\r\nGET\r\n$1x\r\nk\r\n", ["ERR Protocol error: invalid bulk length"]],
  ["*1\r\n$1\r\na\r\n*x\r\nPING\r\n", [["a"], "ERR Protocol error: invalid multibulk length"]],
  ["*2\r\n$1\r\na\r\n!1\r\n", ["ERR Protocol error: expected '$', got '!'"]],
  ['a "b\r\n', ["ERR Protocol error: unbalanced quotes in request"]],
];

test("the chunks of a stream do not change its requests", () => {
  for (const [stream, requests] of streams) {
    assert.deepEqual(readAll([stream]), requests, JSON.stringify(stream));
    assert.deepEqual(readAll([...stream]), requests, `single bytes of ${JSON.stringify(stream)}`);
    for (let at = 1; at < stream.length; at += stream.length > 1_000 ? 97 : 1) {
      assert.deepEqual(readAll([stream.slice(0, at), stream.slice(at)]), requests, `cut at ${at}`);
    }
  }
});

const failures: readonly (readonly [stream: string, failure: string | undefined])[] = [
  ["*\r\n", "ERR Protocol error: invalid multibulk length"],
  ["*01\r\n", "ERR Protocol error: invalid multibulk length"],
  ["*+1\r\n", "ERR Protocol error: invalid multibulk length"],
  ["*2147483648\r\n", "ERR Protocol error: invalid multibulk length"],
  ["*-9223372036854775808\r\n", undefined],
  ["*-9223372036854775809\r\n", "ERR Protocol error: invalid multibulk length"],
  ["*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"],
  ["*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length"],
  ["*1\r\n$00\r\n", "ERR Protocol error: invalid bulk length"],
  ["*1\r\n\r\n", "ERR Protocol error: expected '$', got ' '"],
  ["*1\r\n\n\r\n", "ERR Protocol error: expected '$', got ' '"],
  [`*${"1".repeat(65_535)}`, undefined],
  [`*${"1".repeat(65_536)}`, "ERR Protocol error: too big mbulk count string"],
  [`*1\r\n$${"1".repeat(65_536)}`, "ERR Protocol error: too big bulk count string"],
  ["a".repeat(65_536), undefined],
  ["a".repeat(65_537), "ERR Protocol error: too big inline request"],
  // C strings end at a zero byte.
  ["*1\x00\r\n", undefined],
  ["PING\x00\r\n", undefined],
  ["*1\r\n$100001\r\n", "ERR max request size exceeded. Limit: 100000 bytes, Actual: 100016 bytes"],
];

test("limits and malformed requests have the texts of Redis", () => {
  for (const [stream, failure] of failures) {
    const reader = parser();
    readAll([stream], reader);
    assert.equal(reader.failure, failure, JSON.stringify(stream.slice(0, 40)));
  }
});

test("limits requests before a login", () => {
  const words = (count: number): string => `*${count}\r\n${"$1\r\na\r\n".repeat(count)}`;
  assert.equal(readAll([words(10)], parser(false)).length, 1);
  assert.deepEqual(readAll([words(11)], parser(false)), ["ERR Protocol error: unauthenticated multibulk length"]);
  assert.deepEqual(readAll(["*1\r\n$16384\r\n"], parser(false)), []);
  assert.deepEqual(readAll(["*1\r\n$16385\r\n"], parser(false)), ["ERR Protocol error: unauthenticated bulk length"]);
});

test("reads and stores nothing after a failure", () => {
  const reader = parser();
  assert.deepEqual(readAll(["*x\r\n", "PING\r\n"], reader), ["ERR Protocol error: invalid multibulk length"]);
  assert.equal(reader.unreadBytes, 0);
});

test("counts the bytes of an incomplete request, and allocates nothing for announced lengths", () => {
  const reader = parser();
  reader.feed(Buffer.from("*2\r\n$90000\r\nabc"));
  assert.equal(reader.next(), undefined);
  assert.equal(reader.unreadBytes, 3);
  reader.feed(Buffer.from("d"));
  assert.equal(reader.next(), undefined);
  assert.equal(reader.unreadBytes, 4);
});

test("words are copies of their chunk", () => {
  const chunk = Buffer.from("*2\r\n$5\r\nshort\r\n$20\r\nlonger-than-thirteen\r\n");
  const reader = parser();
  reader.feed(chunk);
  const words = reader.next();
  chunk.fill(0);
  assert.deepEqual(words, ["short", "longer-than-thirteen"]);
});

test("a short request counts against the limit of its size", () => {
  const stream = printed(["SET", "key", "value"]);
  assert.equal(stream.length, 33);
  for (const [requestBytesMax, read] of [
    [33, [["SET", "key", "value"]]],
    [32, ["ERR max request size exceeded. Limit: 32 bytes, Actual: 33 bytes"]],
  ] as const) {
    assert.deepEqual(readAll([stream], new RequestParser({ requestBytesMax, isTrusted: () => false })), read);
  }
});

/** Feeds pieces of a stream. Reads `readCount` requests after each, then the rest; returns the words of all. */
function readBehind(stream: string, { pieceBytes, readCount }: { pieceBytes: number; readCount: number }) {
  const reader = parser();
  const read: (readonly string[])[] = [];
  const bytes = Buffer.from(stream, "latin1");
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    reader.feed(bytes.subarray(at, at + pieceBytes));
    for (let count = 0; count < readCount; count += 1) {
      const words = reader.next();
      if (words !== undefined) read.push(words);
    }
  }
  for (let words = reader.next(); words !== undefined; words = reader.next()) read.push(words);
  return { read, copiedBytes: reader.copiedBytes };
}

/** 20,000 requests of 34 bytes. */
const numbered = Array.from({ length: 20_000 }, (_, index) => ["SET", `k${String(index).padStart(7, "0")}`, "v"]);
const numberedStream = numbered.map(printed).join("");

test("reading takes linear time, however the stream is split and however late it is read", () => {
  assert.equal(numberedStream.length, 680_000);
  for (const [pieceBytes, readCount] of [
    // Each piece ends within a request.
    [100, 3],
    [100, 2],
    [1_001, 25],
    // Only a part of each piece is read, so the rest grows to hundreds of kilobytes.
    [65_536, 1_000],
    [4_097, 57],
    [680, 10],
    [34, 1],
    [1, 1],
  ] as const) {
    const { read, copiedBytes } = readBehind(numberedStream, { pieceBytes, readCount });
    assert.deepEqual(read, numbered, `pieces of ${pieceBytes} bytes`);
    assert.ok(copiedBytes <= 5 * 680_000, `pieces of ${pieceBytes} bytes: ${copiedBytes} bytes copied`);
  }
});

test("small pieces after a large one cost their own bytes", () => {
  const reader = parser();
  const bytes = Buffer.from(numberedStream, "latin1");
  const drain = (): void => {
    while (reader.next() !== undefined);
  };
  reader.feed(bytes.subarray(0, 65_549));
  drain();
  for (let at = 65_549; at < bytes.length; at += 340) {
    reader.feed(bytes.subarray(at, at + 340));
    drain();
  }
  assert.ok(reader.copiedBytes <= 4 * bytes.length, `${reader.copiedBytes} bytes copied`);
});

test("the rest of a packet that others share is copied when it is left, and the requests are the same", () => {
  const request = printed(["SET", "k", long]);
  for (const split of [1, 7, 20, 40, 100]) {
    const packet = Buffer.alloc(16_384, "x");
    packet.write(request.slice(0, split), 5_000, "latin1");
    const reader = parser();
    reader.feed(packet.subarray(5_000, 5_000 + split));
    assert.equal(reader.next(), undefined);
    reader.leavePacket();
    packet.fill(0);
    assert.deepEqual(readAll([request.slice(split)], reader), [["SET", "k", long]], `${split}`);
  }
});

test("a packet that is left with most of it unread stays as it is, and is copied once at most", () => {
  const bytes = Buffer.from(printed(["SET", "k", "v".repeat(1_000)]), "latin1");
  const own = Buffer.allocUnsafeSlow(bytes.length - 10);
  bytes.copy(own);
  const whole = parser();
  whole.feed(own);
  whole.next();
  const copiedBytes = whole.copiedBytes;
  whole.leavePacket();
  assert.equal(whole.copiedBytes, copiedBytes);
  const small = parser();
  small.feed(own.subarray(0, 30));
  small.next();
  small.leavePacket();
  small.leavePacket();
  assert.deepEqual([small.copiedBytes, small.unreadBytes], [3, 3]);
});
