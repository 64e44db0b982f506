/** Malformed requests over TCP: the replies of our parser equal those of redis-server byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { respError } from "../../src/edge/resp/replies.ts";
import { RequestParser } from "../../src/edge/resp/request-parser.ts";
import { RedisCompat } from "../../src/store/commands/redis-compat.ts";
import { CommandError } from "../../src/store/mod.ts";
import { startFrontPort } from "../harness/cluster/resp-node.ts";
import { RawPeer } from "../harness/raw-peer.ts";
import { startSession } from "../harness/store-harness.ts";
import { redisMissing, startRedis } from "./redis-process.ts";

/** Sent after each stream, except those refused before the end of their line: answered if the stream was valid. */
const END = "*1\r\n$4\r\nQUIT\r\n";

const bulk = (length: number | string): string => `*2\r\n$4\r\nECHO\r\n$${length}\r\n`;

const streams: readonly string[] = [
  "*\r\n",
  "*x\r\n",
  "*1x\r\n",
  "*01\r\n",
  "*+1\r\n",
  "* 1\r\n",
  "*-1\r\n",
  "*0\r\n",
  "*-9223372036854775808\r\n",
  "*-9223372036854775809\r\n",
  "*1048577000\r\n!",
  "*2147483647\r\n!\r\n",
  "*2147483648\r\n",
  "*99999999999999999999\r\n",
  "*1\r\n!\r\n",
  "*1\r\n\r\n",
  "*1\r\n\n\r\n",
  "*1\r\n:3\r\nfoo\r\n",
  "*1\r\n\xff\r\n",
  bulk(-1),
  bulk("x"),
  bulk(""),
  bulk("00"),
  bulk(536_870_913),
  "*1\rxx$4\rxPING..",
  `${bulk(3)}abcxx`,
  "\r\n",
  "   \r\n",
  '"a\r\n',
  "'a\r\n",
  '"a"b\r\n',
  'ECHO "\\x41\\n\\"b"\r\n',
  "ECHO 'it\\'s'\r\n",
  "ECHO a\vb\r\n",
  'ECHO pre"fix"\r\n',
  `ECHO ${"a".repeat(65_000)}\r\n`,
  "a".repeat(65_537),
  `*${"1".repeat(65_537)}`,
  `*1\r\n$${"1".repeat(65_537)}`,
];

/** Before authentication. */
const strangers: readonly string[] = [
  "*10\r\n!\r\n",
  "*11\r\n",
  "*1\r\n$16385\r\n",
  "*1000000\r\n",
  "*2147483648\r\n",
  bulk(536_870_913),
];

test("malformed requests are answered as redis-server does", { skip: redisMissing }, async () => {
  const redis = await startRedis();
  try {
    for (const stream of streams) {
      assert.equal(ours(stream, true), await theirs(redis.port, stream), JSON.stringify(stream.slice(0, 60)));
    }
  } finally {
    await redis.stop();
  }
});

test("malformed requests to a node that owns nothing are answered as redis-server does", {
  skip: redisMissing,
}, async () => {
  const redis = await startRedis();
  const front = await startFrontPort(startSession({ compat: new RedisCompat(() => {}) }));
  try {
    for (const stream of streams) {
      using peer = await RawPeer.open(front.port);
      // With its first command the connection goes on to the owner.
      peer.say(`PING\r\n${whole(stream)}`);
      assert.equal(
        await peer.hearAll(),
        `+PONG\r\n${await theirs(redis.port, stream)}`,
        JSON.stringify(stream.slice(0, 60)),
      );
    }
  } finally {
    await front.close(0);
    await redis.stop();
  }
});

test("unauthenticated clients are answered as redis-server does", { skip: redisMissing }, async () => {
  const redis = await startRedis(["--requirepass", "secret"]);
  try {
    for (const stream of strangers) {
      assert.equal(ours(stream, false), await theirs(redis.port, stream), JSON.stringify(stream));
    }
  } finally {
    await redis.stop();
  }
});

function whole(stream: string): string {
  return stream.length > 65_536 ? stream : stream + END;
}

/** The replies of redis-server until it closes the connection. */
async function theirs(port: number, stream: string): Promise<string> {
  using peer = await RawPeer.open(port);
  peer.say(whole(stream));
  return await peer.hearAll();
}

/** The same for our parser, with the two commands of the streams. */
function ours(stream: string, isTrusted: boolean): string {
  const parser = new RequestParser({ requestBytesMax: 2 ** 30, isTrusted: () => isTrusted });
  parser.feed(Buffer.from(whole(stream), "latin1"));
  let text = "";
  for (let words = parser.next(); words !== undefined; words = parser.next()) {
    const [name, word = ""] = words;
    if (name === "QUIT") return `${text}+OK\r\n`;
    if (name === "ECHO") text += `$${word.length}\r\n${word}\r\n`;
    else if (name === "PING") text += "+PONG\r\n";
  }
  return parser.failure === undefined ? text : text + respError(new CommandError(parser.failure));
}
