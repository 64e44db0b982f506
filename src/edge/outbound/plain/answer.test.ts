import assert from "node:assert/strict";
import { test } from "node:test";
import { type PlainAnswer, PlainAnswerReader } from "./answer.ts";

/** The bytes, and what is read from them. */
const plain: readonly (readonly [string, Omit<PlainAnswer, "body">, string])[] = [
  [
    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    { status: 200, headers: ["content-length", "0"], idleMs: 4_000 },
    "",
  ],
  [
    "HTTP/1.1 201 caf\xe9\r\nX-Tab:a\tb\r\nX-Tab: \xff\r\nContent-Length: 3\r\n\r\na\r\n",
    { status: 201, headers: ["X-Tab", "a\tb", "X-Tab", "\xff", "Content-Length", "3"], idleMs: 4_000 },
    "a\r\n",
  ],
  [
    "HTTP/1.1 503 \r\nConnection: Keep-Alive\r\nKeep-Alive: max=7, timeout=5\r\nContent-Length: 1\r\n\r\nx",
    {
      status: 503,
      headers: ["Connection", "Keep-Alive", "Keep-Alive", "max=7, timeout=5", "Content-Length", "1"],
      idleMs: 3_000,
    },
    "x",
  ],
  ["HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", { status: 204, headers: ["Date", "x"], idleMs: 4_000 }, ""],
  ["HTTP/1.1 204 No Content\r\n\r\n", { status: 204, headers: [], idleMs: 4_000 }, ""],
  [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    { status: 200, headers: ["Transfer-Encoding", "chunked"], idleMs: 4_000 },
    "",
  ],
  [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000B\r\n0123456789\n\r\n1\r\n\r\r\n00\r\n\r\n",
    { status: 200, headers: ["Transfer-Encoding", "chunked"], idleMs: 4_000 },
    "0123456789\n\r",
  ],
];

test("reads an ordinary answer", () => {
  for (const [text, expected, body] of plain) {
    const answer = new PlainAnswerReader().read(Buffer.from(text, "latin1"));
    assert.deepEqual({ ...answer, body: answer?.body.latin1Slice() }, { ...expected, body }, JSON.stringify(text));
  }
});

test("reads a head that repeats with each body, and another head after it", () => {
  const reader = new PlainAnswerReader();
  const read = (text: string): unknown => {
    const answer = reader.read(Buffer.from(text, "latin1"));
    return answer && [answer.status, answer.headers, answer.body.latin1Slice(), answer.idleMs];
  };
  const head = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\n";
  const headers = ["Content-Length", "2", "Keep-Alive", "timeout=5"];
  for (const body of ["ab", "cd", "\r\n"]) assert.deepEqual(read(head + body), [201, headers, body, 3_000]);
  // Too short, too long, cut in the head.
  for (const text of [`${head}a`, `${head}abc`, head, head.slice(0, -1), head.slice(0, 20), ""])
    assert.equal(read(text), undefined, JSON.stringify(text));
  assert.deepEqual(read(`${head}ef`), [201, headers, "ef", 3_000]);
  assert.deepEqual(read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), [200, ["Content-Length", "1"], "x", 4_000]);
  assert.equal(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nx"), undefined);
  assert.deepEqual(read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny"), [200, ["Content-Length", "1"], "y", 4_000]);
});

test("a remembered head is a copy of its bytes", () => {
  const reader = new PlainAnswerReader();
  const bytes = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
  assert.ok(reader.read(bytes));
  bytes.fill("HTTP/1.1 404", 0, 12);
  assert.equal(reader.read(bytes)?.status, 404);
});

/** Status lines, fields and bodies of answers with something that only the HTTP client reads. */
const others: readonly string[] = [
  // Incomplete, or more than one answer.
  "",
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx",
  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
  "HTTP/1.1 204 No Content\r\n\r\nx",
  "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx",
  // The length is not known, or not clear.
  "HTTP/1.1 200 OK\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
  "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
  "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
  "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
  "HTTP/1.1 200 OK\r\nContent-Length: 0000000001\r\n\r\nx",
  "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
  // Chunks.
  ...[
    "",
    "0\r\n",
    "0\r\n\r\nx",
    "1\r\nx\r\n",
    "1\r\nxy\r\n0\r\n\r\n",
    "2\r\nx\r\n0\r\n\r\n",
    "x\r\n\r\n",
    "\r\n\r\n",
  ].map(chunked),
  ...["0000000\r\n\r\n", "0;a=b\r\n\r\n", "0 \r\n\r\n", "0\n\n", "0\r\nX: y\r\n\r\n", "-1\r\nx\r\n0\r\n\r\n"].map(
    chunked,
  ),
  // The status line.
  "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 2e2 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n",
  // Fields.
  "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX:  a\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX: a \r\nContent-Length: 0\r\n\r\n",
  `HTTP/1.1 200 OK\r\nX: ${"a".repeat(4_096)}\r\nContent-Length: 0\r\n\r\n`,
  // The connection.
  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nConnection: keep-alive, x\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nPROXY-CONNECTION: close\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n",
];

function chunked(body: string): string {
  return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
}

test("leaves every other answer to the HTTP client", () => {
  for (const text of others) {
    assert.equal(
      new PlainAnswerReader().read(Buffer.from(text, "latin1")),
      undefined,
      JSON.stringify(text.slice(0, 100)),
    );
  }
});
