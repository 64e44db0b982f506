/** A reader that remembers heads is compared with one that has read nothing before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Head, type HeadFault, HeadReader } from "./head.ts";

const BYTES_MAX = 1_000;

interface Values {
  readonly target: string;
  readonly token: string;
  readonly length: string;
  readonly last: string;
}

const usual: Values = { target: "/", token: "m3fz9q:1", length: "36", last: "a" };

/** As the official client sends it, shortened. */
function headText(values: Partial<Values>): string {
  const { target, token, length, last } = { ...usual, ...values };
  return `POST ${target} HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer t\r\nupstash-sync-token: ${token}\r\naccept: */*\r\ncontent-length: ${length}\r\nx: ${last}\r\n\r\n`;
}

function readAt(reader: HeadReader, text: string): unknown {
  const bytes = Buffer.from(`..${text}`, "latin1");
  const head = reader.read(bytes, 2);
  return head === undefined || typeof head === "string" ? head : [withoutMemo(head), reader.end];
}

function withoutMemo({ method, target, httpVersion, rawHeaders, framing }: Head): Omit<Head, "memo"> {
  return { method, target, httpVersion, rawHeaders, framing };
}

/** A reader that has read the usual head often enough to remember it. */
function experienced(bytesMax = BYTES_MAX): HeadReader {
  const reader = new HeadReader(bytesMax);
  for (let i = 0; i < 2; i += 1) readAt(reader, headText(usual));
  return reader;
}

function read(reader: HeadReader, text: string): Head | HeadFault | undefined {
  return reader.read(Buffer.from(text, "latin1"), 0);
}

test("the third head with the same target has the memo of the fourth, and its own values", () => {
  const reader = experienced();
  const third = read(reader, headText({ token: "m3fz9q:20", length: "7" })) as Head;
  const fourth = read(reader, headText({ token: "m3fz9q:300", length: "123456789012345" })) as Head;
  assert.ok(third.memo !== undefined && third.memo === fourth.memo);
  assert.deepEqual(third.rawHeaders[5], "m3fz9q:20");
  assert.deepEqual(third.framing.contentLength, 7);
  assert.deepEqual(fourth.rawHeaders.slice(4), [
    ...["upstash-sync-token", "m3fz9q:300", "accept", "*/*"],
    ...["content-length", "123456789012345", "x", "a"],
  ]);
  assert.deepEqual(fourth.framing.contentLength, 123_456_789_012_345);
});

test("heads with other targets have their own targets, and no memo until one comes twice in a row", () => {
  const reader = experienced();
  const memos = ["/get/a", "/get/b", "/get/b", "/get/b", "/", "/get/b", "/"].map((target) => {
    const head = read(reader, headText({ target, length: "5" })) as Head;
    assert.deepEqual([head.target, head.rawHeaders[9], head.framing.contentLength], [target, "5", 5]);
    return head.memo;
  });
  assert.deepEqual(memos.slice(0, 2), [undefined, undefined]);
  assert.ok(memos[2] !== undefined && memos[2] === memos[3]);
  // That of another target is not that of this one.
  assert.deepEqual([memos[4], memos[6]], [undefined, undefined]);
  assert.equal(memos[5], memos[2]);
});

test("a long target has no memo", () => {
  const reader = experienced();
  const target = `/set/key/${"v".repeat(300)}`;
  for (let i = 0; i < 3; i += 1) {
    const head = read(reader, headText({ target })) as Head;
    assert.deepEqual([head.target, head.memo], [target, undefined]);
  }
});

const others: readonly (readonly [name: string, text: string])[] = [
  ["another target", headText({ target: "/get" })],
  ["a target that continues the last one", headText({ target: "/a" })],
  ["an empty target", headText({ target: "" })],
  ["a target with a space", headText({ target: "/a b" })],
  ["a target with a control", headText({ target: "/a\x01" })],
  ["a target beyond ASCII", headText({ target: "/\xe9" })],
  ["a target that ends the line", headText({ target: "/a\r\nx: b" })],
  ["a target that is no path", headText({ target: "a" })],
  ["a target of all", headText({ target: "*" })],
  ["a target with its scheme", headText({ target: "http://b/" })],
  ["a target that is too long", headText({ target: `/${"t".repeat(BYTES_MAX)}` })],
  ["an old version", headText({ target: "/a" }).replace("HTTP/1.1", "HTTP/1.0")],
  ["another method", headText({}).replace("POST", "PUT")],
  ["a longer method", headText({}).replace("POST", "POSTS")],
  ["an empty line before it", `\r\n${headText({})}`],
  ["another last value", headText({ last: "b" })],
  ["a longer last value", headText({ last: "aa" })],
  ["an empty token", headText({ token: "" })],
  ["a token with a blank", headText({ token: "a b" })],
  ["a token with a blank after it", headText({ token: "a " })],
  ["a token with a blank before it", headText({ token: "\ta" })],
  ["a token beyond ASCII", headText({ token: "\xe9" })],
  ["a token with a control", headText({ token: "a\x01b" })],
  ["a token that ends a line", headText({ token: "a\r\ny: b" })],
  ["a token with a bare line feed", headText({ token: "a\ny: b" })],
  ["a token with a bare carriage return", headText({ token: "a\rb" })],
  ["a length with a sign", headText({ length: "+1" })],
  ["a length of hex digits", headText({ length: "1f" })],
  ["a length of 16 digits", headText({ length: "1".repeat(16) })],
  ["an empty length", headText({ length: "" })],
  ["a length that repeats", headText({ length: "1\r\ncontent-length: 1" })],
  ["a length and a coding", headText({ length: "1\r\ntransfer-encoding: chunked" })],
  ["a token that is too long", headText({ token: "t".repeat(BYTES_MAX) })],
  ["half a head", headText({}).slice(0, -1)],
  ["a head that ends in the token", headText({}).slice(0, 85)],
  ["a name in another case", headText({}).replace("content-length", "Content-Length")],
];

for (const [name, text] of others) {
  test(`${name} is read as by a reader that remembers nothing`, () => {
    assert.deepEqual(readAt(experienced(), text), readAt(new HeadReader(BYTES_MAX), text));
  });
}

test("a repeated head that is longer than allowed is too large", () => {
  const { length } = headText(usual);
  assert.deepEqual(readAt(experienced(length), headText({ token: `${usual.token}0` })), "head too large");
});

const value = fc.string({
  unit: fc.constantFrom("1", "9", "a", " ", "\t", "\r", "\n", ":", "\xe9", "\0"),
  maxLength: 6,
});
const mutation = fc.record({ at: fc.nat(400), removed: fc.nat(3), added: value });
const step = fc.record({
  target: fc.oneof(
    fc.constantFrom("/", "/get/a", "/get/b", "*", "http://b/"),
    value.map((text) => `/${text}`),
  ),
  token: fc.oneof(fc.constantFrom("a:1", "a:22"), value),
  length: fc.oneof(fc.nat(99_999).map(String), value),
  mutation: fc.option(mutation, { freq: 3 }),
});

function mutated(text: string, change: { at: number; removed: number; added: string } | null): string {
  if (change === null) return text;
  const at = change.at % text.length;
  return text.slice(0, at) + change.added + text.slice(at + change.removed);
}

test("random heads after each other are read as by a reader that remembers nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const reader = new HeadReader(BYTES_MAX);
      for (const { target, token, length, mutation: change } of steps) {
        const text = mutated(headText({ target, token, length }), change);
        const found = readAt(reader, text);
        assert.deepEqual(found, readAt(new HeadReader(BYTES_MAX), text));
        // The connection ends, or waits for the rest.
        if (!Array.isArray(found)) return;
      }
    }),
    { numRuns: 2_000 },
  );
});

test("nothing is remembered of a packet whose memory is used again", () => {
  const reader = new HeadReader(BYTES_MAX);
  for (let i = 0; i < 2; i += 1) {
    const packet = Buffer.from(headText(usual), "latin1");
    reader.read(packet, 0);
    packet.fill(0);
  }
  assert.deepEqual(
    readAt(reader, headText({ token: "x" })),
    readAt(new HeadReader(BYTES_MAX), headText({ token: "x" })),
  );
});
