/** Values near the limits of V8's strings, from outside: the program answers every request and continues. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;
const TOO_LARGE = "ERR reply exceeds the maximum allowed size";

async function post(
  program: RunningProgram,
  body: readonly unknown[],
  { path = "", headers = {}, token = program.storeToken } = {},
): Promise<{ status: number; text: string }> {
  const reply = await fetch(program.storeUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  });
  return { status: reply.status, text: await reply.text() };
}

/** The replies of the RESP port to these lines and a QUIT. */
function overResp(program: RunningProgram, lines: readonly string[]): Promise<string> {
  const port = Number(new URL(program.environment["REDIS_URL"] ?? "").port);
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve, reject) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("end", () => resolve(text));
    socket.write(`${[...lines, "QUIT"].join("\r\n")}\r\n`);
  });
}

test("A-15: a GET of 300 MB or 512 MB is an error in every response format, and the program continues", {
  timeout,
}, async () => {
  await using program = await startProgram("dev", { args: ["--resp-port", "0"] });
  assert.equal((await post(program, ["SETRANGE", "k", 300_000_000, "x"])).text, '{"result":300000001}');
  const token = program.storeReadOnlyToken;
  const refused = { status: 400, text: `{"error":"${TOO_LARGE}"}` };
  assert.deepEqual(await post(program, ["GET", "k"], { token }), refused);
  const base64 = { "service-encoding": "base64" };
  assert.deepEqual(await post(program, ["GET", "k"], { token, headers: base64 }), refused);
  const resp2 = { "service-response-format": "resp2" };
  assert.deepEqual(await post(program, ["GET", "k"], { token, headers: resp2 }), {
    ...refused,
    text: `-${TOO_LARGE}\r\n`,
  });
  assert.deepEqual(
    await post(
      program,
      [
        ["GET", "k"],
        ["STRLEN", "k"],
      ],
      { token, path: "/pipeline" },
    ),
    {
      status: 200,
      text: `[{"error":"${TOO_LARGE}"},{"result":300000001}]`,
    },
  );
  for (const version of [2, 3])
    assert.match(
      await overResp(program, ["AUTH dev", `HELLO ${version}`, "GET k", "SETRANGE k 536870911 x", "GET k", "STRLEN k"]),
      new RegExp(`-${TOO_LARGE}\r\n:536870912\r\n-${TOO_LARGE}\r\n:536870912\r\n\\+OK\r\n$`),
    );
  assert.equal((await post(program, ["PING"])).text, '{"result":"PONG"}');
});
