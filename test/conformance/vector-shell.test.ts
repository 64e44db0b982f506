/**
 * Requests that the listener refuses before the vector index gets them have the shape of its other errors (B.errors).
 * Checks: H.statuses, B.errors.413.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RawPeer } from "../harness/raw-peer.ts";
import { startVectorServer, VECTOR_TOKEN } from "../harness/vector-server.ts";

const HEAD = `Host: a\r\nAuthorization: Bearer ${VECTOR_TOKEN}\r\n`;
const tooLarge = (actualBytes: number): string =>
  `ERR max request size exceeded. Limit: 100 bytes, Actual: ${actualBytes} bytes`;

const refused: readonly (readonly [what: string, request: string, status: number, error: RegExp | string])[] = [
  [
    "a body that is announced above the limit",
    `POST /upsert HTTP/1.1\r\n${HEAD}Content-Length: 101\r\n\r\n`,
    413,
    tooLarge(101),
  ],
  [
    "a body that becomes larger than the limit",
    `POST /upsert HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n78\r\n${"x".repeat(120)}\r\n0\r\n\r\n`,
    413,
    tooLarge(120),
  ],
  [
    "a body above the limit on a path that does not exist",
    `PUT /x HTTP/1.1\r\n${HEAD}Content-Length: 200\r\n\r\n`,
    413,
    tooLarge(200),
  ],
  [
    "a compressed transfer",
    `POST /query HTTP/1.1\r\n${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    501,
    /transfer encoding/,
  ],
  ["an expectation", `POST /query HTTP/1.1\r\n${HEAD}Expect: x\r\nContent-Length: 2\r\n\r\n`, 417, /Expect/],
  ["no host", `GET /info HTTP/1.1\r\nAuthorization: Bearer ${VECTOR_TOKEN}\r\n\r\n`, 400, /malformed HTTP request/],
  ["a request that is not HTTP", "HELLO\r\n\r\n", 400, /malformed HTTP request/],
  ["a tunnel", `CONNECT a:1 HTTP/1.1\r\n${HEAD}\r\n`, 405, /CONNECT/],
  ["headers above the limit", `GET /info HTTP/1.1\r\n${HEAD}X: ${"x".repeat(100_000)}\r\n\r\n`, 431, /max header size/],
];

for (const [what, request, status, error] of refused)
  test(`${what} is refused with an error and its status in the body`, async () => {
    await using server = await startVectorServer({}, { requestBytesMax: 100 });
    using peer = await RawPeer.open(Number(new URL(server.url).port));
    peer.say(request);

    const [head = "", body = ""] = (await peer.hearAll()).split("\r\n\r\n");

    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
    const answer = JSON.parse(body) as { error: string };
    assert.deepEqual(answer, { error: answer.error, status });
    if (typeof error === "string") assert.equal(answer.error, error);
    else assert.match(answer.error, error);
  });
