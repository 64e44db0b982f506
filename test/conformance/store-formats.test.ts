/** The forms of an answer (A.encoding, A.response-format). Each header in both spellings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer, type TestServer } from "../harness/server.ts";

const prefixes = ["service", "upstash"];

async function seeded(): Promise<TestServer> {
  const server = await startServer();
  await server.post("/multi-exec", [
    ["SET", "text", "héllo"],
    ["SET", "ok", "OK"],
    ["SET", "big", "9007199254740993"],
    ["HSET", "h", "f", "OK"],
  ]);
  await server.post("/set/bin", Buffer.from([0x61, 0xff, 0x00]));
  return server;
}

test("A.encoding: base64 encodes every string at every depth, but not numbers and null", async () => {
  await using server = await seeded();
  const rows: [string[], string][] = [
    [["GET", "text"], '{"result":"aMOpbGxv"}'],
    [["GET", "bin"], '{"result":"Yf8A"}'],
    [["GET", "missing"], '{"result":null}'],
    [["STRLEN", "text"], '{"result":6}'],
    [["PING"], '{"result":"UE9ORw=="}'],
    [["TYPE", "text"], '{"result":"c3RyaW5n"}'],
    [["MGET", "text", "missing"], '{"result":["aMOpbGxv",null]}'],
    [["HGETALL", "h"], '{"result":["Zg==","T0s="]}'],
    [["HSCAN", "h", "0"], '{"result":["MA==",["Zg==","T0s="]]}'],
    [["INCRBY", "big", "0"], '{"result":"OTAwNzE5OTI1NDc0MDk5Mw=="}'],
  ];
  for (const prefix of prefixes) {
    for (const [command, body] of rows) {
      const reply = await server.post("/", command, { headers: { [`${prefix}-encoding`]: "base64" } });
      assert.equal(reply.text, body, command.join(" "));
      assert.equal(reply.headers["content-type"], "application/json");
    }
  }
});

test("A.encoding: the string OK is not encoded at the top level, also in each element of a batch", async () => {
  await using server = await seeded();
  const headers = { "Service-Encoding": "base64" };
  for (const command of [
    ["SET", "k", "v"],
    ["GET", "ok"],
  ])
    assert.equal((await server.post("/", command, { headers })).text, '{"result":"OK"}');
  for (const path of ["/pipeline", "/multi-exec"])
    assert.equal(
      (
        await server.post(
          path,
          [
            ["SET", "k", "v"],
            ["GET", "k"],
            ["INCR", "k"],
          ],
          { headers },
        )
      ).text,
      '[{"result":"OK"},{"result":"dg=="},{"error":"ERR value is not an integer or out of range"}]',
    );
  assert.equal((await server.post("/", ["MGET", "ok"], { headers })).text, '{"result":["T0s="]}');
});

test("A.encoding: errors are never encoded, and an unknown encoding is ignored", async () => {
  await using server = await seeded();
  const error = await server.post("/", ["INCR", "text"], { headers: { "service-encoding": "base64" } });
  assert.equal(error.text, '{"error":"ERR value is not an integer or out of range"}');
  const plain = await server.post("/", ["GET", "ok"], { headers: { "service-encoding": "gzip" } });
  assert.equal(plain.text, '{"result":"OK"}');
});

test("A.utf8: without base64, invalid UTF-8 becomes U+FFFD", async () => {
  await using server = await seeded();
  const reply = await server.get("/get/bin");
  assert.deepEqual(reply.bytes, Buffer.from('{"result":"a\ufffd\\u0000"}'));
  assert.equal(reply.headers["content-length"], String(reply.bytes.length));
});

test("A.json-types: integers beyond 2^53 are strings of their digits in JSON", async () => {
  await using server = await startServer();
  await server.post("/", ["MSET", "a", "9007199254740990", "b", "-9223372036854775807", "c", "9223372036854775806"]);

  assert.equal((await server.get("/incr/a")).text, '{"result":9007199254740991}');
  assert.equal((await server.get("/incr/a")).text, '{"result":"9007199254740992"}');
  assert.equal((await server.get("/decr/b")).text, '{"result":"-9223372036854775808"}');
  assert.equal((await server.get("/incr/c")).text, '{"result":"9223372036854775807"}');
  assert.equal((await server.get("/incr/c")).text, '{"error":"ERR increment or decrement would overflow"}');
});

test("A.response-format: resp2 returns the bytes that a TCP client would get", async () => {
  await using server = await seeded();
  const rows: [string[], string, number][] = [
    [["SET", "k", "v"], "+OK\r\n", 200],
    [["GET", "k"], "$1\r\nv\r\n", 200],
    [["GET", "bin"], "$3\r\na\xff\x00\r\n", 200],
    [["GET", "missing"], "$-1\r\n", 200],
    [["INCR", "n"], ":1\r\n", 200],
    [["INCRBY", "big", "0"], ":9007199254740993\r\n", 200],
    [["MGET", "k", "missing"], "*2\r\n$1\r\nv\r\n$-1\r\n", 200],
    [["HGETALL", "h"], "*2\r\n$1\r\nf\r\n$2\r\nOK\r\n", 200],
    [["PING"], "+PONG\r\n", 200],
    [["INCR", "k"], "-ERR value is not an integer or out of range\r\n", 400],
  ];
  for (const prefix of prefixes) {
    for (const [command, bytes, status] of rows.slice(prefix === "service" ? 0 : 6)) {
      const reply = await server.post("/", command, { headers: { [`${prefix}-response-format`]: "resp2" } });
      assert.equal(reply.bytes.toString("latin1"), bytes, command.join(" "));
      assert.equal(reply.status, status, command.join(" "));
      assert.equal(reply.headers["content-type"], "application/octet-stream");
    }
  }
});

test("A.response-format: a pipeline in resp2 is its replies one after the other", async () => {
  await using server = await seeded();
  const headers = { "Service-Response-Format": "RESP2" };
  const reply = await server.post("/pipeline", [["PING"], ["INCR", "text"], ["GET", "ok"], []], { headers });

  assert.equal(reply.status, 200);
  assert.equal(
    reply.text,
    "+PONG\r\n-ERR value is not an integer or out of range\r\n$2\r\nOK\r\n-ERR empty pipeline command\r\n",
  );
});

test("A.response-format: resp2 does not apply to a transaction", async () => {
  await using server = await seeded();
  const reply = await server.post("/multi-exec", [["PING"]], { headers: { "Service-Response-Format": "resp2" } });

  assert.equal(reply.text, '[{"result":"PONG"}]');
  assert.equal(reply.headers["content-type"], "application/json");
});

test("A.response-format: any other format is 400, and so is resp2 with base64, also for a transaction", async () => {
  await using server = await seeded();
  for (const path of ["/", "/pipeline", "/multi-exec"]) {
    const body = path === "/" ? ["SET", "k", "v"] : [["SET", "k", "v"]];
    for (const prefix of prefixes) {
      const both = { [`${prefix}-response-format`]: "resp2", "service-encoding": "base64" };
      const reply = await server.post(path, body, { headers: both });
      assert.equal(reply.status, 400, path);
      assert.equal(reply.text, '{"error":"ERR response format resp2 cannot be combined with base64 encoding"}');
      assert.equal(reply.headers["content-type"], "application/json");

      for (const format of ["resp3", "xml", ""]) {
        const other = await server.post(path, body, { headers: { [`${prefix}-response-format`]: format } });
        assert.equal(other.status, 400, format);
        assert.equal(other.text, `{"error":"ERR invalid response format: '${format}'. Use json or resp2"}`);
      }
    }
  }
  assert.equal((await server.get("/exists/k")).text, '{"result":0}');
});

test("A.response-format: an error before a command runs is JSON, also under resp2", async () => {
  await using server = await seeded();
  const headers = { "Service-Response-Format": "resp2" };

  const parse = await server.post("/", "{", { headers });
  assert.equal(parse.text, '{"error":"ERR failed to parse command"}');
  assert.equal(parse.headers["content-type"], "application/json");
  const token = await server.post("/", ["PING"], { headers, token: "wrong" });
  assert.equal(token.text, '{"error":"WRONGPASS invalid or missing auth token"}');
});

test("A.response-format: json may be requested by name, with base64", async () => {
  await using server = await seeded();
  const headers = { "Service-Response-Format": "json", "Service-Encoding": "base64" };
  assert.equal((await server.post("/", ["GET", "text"], { headers })).text, '{"result":"aMOpbGxv"}');
});
