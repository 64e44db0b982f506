/** Batches of commands in RESP: accepted and refused bodies, with the error texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestFailure } from "../errors.ts";
import { WORDS_MAX } from "../store/json-reader.ts";
import { hasRespBody, parseRespBatch } from "./body-commands.ts";

const malformed = new RequestFailure("bad request", "ERR failed to parse");

function read(body: string): unknown {
  try {
    return parseRespBatch(Buffer.from(body, "latin1"), malformed);
  } catch (thrown) {
    return thrown instanceof RequestFailure ? thrown.text : thrown;
  }
}

const bodies: readonly (readonly [body: string, read: unknown])[] = [
  ["*1\r\n$4\r\nPING\r\n", [["PING"]]],
  ["*2\r\n$3\r\nGET\r\n$1\r\n\xff\r\n*1\r\n$0\r\n\r\n", [["GET", "\xff"], [""]]],
  ["*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n*1\r\n", [["SET", "k", "\r\n*1"]]],
  ["*0\r\n*1\r\n$4\r\nPING\r\n", [["PING"]]],
  ["*1\r\n$4\r\nPIN", "ERR failed to parse: the last command is cut off"],
  ["*1\r\n$4\r\nPING\r\n*", "ERR failed to parse: the last command is cut off"],
  ["*2\r\n$4\r\nPING\r\n", "ERR failed to parse: the last command is cut off"],
  ["*1\r\n:4\r\n", "ERR failed to parse: Protocol error: expected '$', got ':'"],
  ["*x\r\n", "ERR failed to parse: Protocol error: invalid multibulk length"],
  [`*1\r\n$${"9".repeat(9)}\r\n`, "ERR failed to parse: Protocol error: invalid bulk length"],
];

test("A3.resp: reads a RESP body as over TCP, and refuses it with the reason", () => {
  for (const [body, expected] of bodies) assert.deepEqual(read(body), expected, JSON.stringify(body));
});

test("a RESP body has the same limit of words as a JSON body", () => {
  const words = "$0\r\n\r\n".repeat(WORDS_MAX + 1);
  assert.equal(read(`*${WORDS_MAX + 1}\r\n${words}`), `ERR too many words in one request. Limit: ${WORDS_MAX}`);
});

test("A3.resp: a RESP body needs the content type and the first byte of RESP", () => {
  const rows: readonly (readonly [type: string | undefined, body: string, isResp: boolean])[] = [
    ["application/x-resp2", "*1", true],
    ["Application/X-RESP2; charset=binary", "*1", true],
    ["application/json", "*1", false],
    [undefined, "*1", false],
    ["application/x-resp2", '[["PING"]]', false],
    ["application/x-resp2", "", false],
  ];
  for (const [type, body, isResp] of rows)
    assert.equal(hasRespBody({ body: Buffer.from(body), header: () => type }), isResp, `${type} ${body}`);
});
