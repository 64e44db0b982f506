/** What a watcher of a listener is told: refused requests and failed commands. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { unauthorized } from "../errors.ts";
import type { Handler, HttpReply } from "../handler.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import type { OnRefusal } from "../refusal.ts";
import { failureReply } from "../respond.ts";
import { listen } from "./listener.ts";

const BODY_BYTES_MAX = 100;

/** Returns a function that sends bytes on a connection of their own, and resolves with all that came back. */
async function start(context: TestContext, handle: Handler, onRefusal?: OnRefusal) {
  const listener = await listen({
    ...{ host: "127.0.0.1", port: 0, clock: systemClock, log: silentLog, idPrefix: "t", onRefusal },
    area: { handle, bodyBytesMax: () => BODY_BYTES_MAX },
    budget: new ByteBudget(1_000_000),
  });
  context.after(() => listener.close(0));
  return async (bytes: string): Promise<string> => {
    const socket = connect({ host: "127.0.0.1", port: listener.port });
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.end(bytes);
    await once(socket, "close");
    return received;
  };
}

function reply(body: string): HttpReply {
  return { status: 200, headers: [], body };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

test("reports refused requests, failed commands and unreadable requests, and no others", async (context) => {
  const refusals: string[] = [];
  const send = await start(
    context,
    (request) => {
      if (request.target === "/no") return failureReply(unauthorized);
      if (request.target === "/batch") request.commandFailed?.("ERR no");
      return reply("ok");
    },
    ({ head, status, reply: { body } }) => refusals.push(`${head?.method} ${head?.target} ${status} ${body}`),
  );
  assert.match(await send(get("/ok")), /ok$/);
  assert.match(await send(get("/batch")), /ok$/);
  await send(get("/no"));
  await send(`POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n${"x".repeat(101)}`);
  await send("nonsense\r\n\r\n");
  assert.equal(refusals[0], "GET /batch 200 ERR no");
  assert.equal(refusals[1], 'GET /no 401 {"error":"WRONGPASS invalid or missing auth token"}');
  assert.match(refusals[2] ?? "", /^POST \/large 400 /);
  assert.match(refusals[3] ?? "", /^undefined undefined 400 /);
  assert.equal(refusals.length, 4);
});

test("a request has no report of failed commands if nobody watches", async (context) => {
  const send = await start(context, (request) => reply(String(request.commandFailed)));
  assert.match(await send(get("/")), /undefined$/);
});
