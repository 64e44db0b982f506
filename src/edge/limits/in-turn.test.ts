/** Bytes of requests that wait for their turn: their replies come after others of the connection were handled. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { systemClock } from "../../kernel/clock.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { Turns } from "../../kernel/turns.ts";
import type { HttpReply } from "../handler.ts";
import { listen } from "../http/listener.ts";
import { failureReply } from "../respond.ts";
import { ByteBudget } from "./byte-budget.ts";
import { inTurn } from "./in-turn.ts";

const MB = 1024 * 1024;
const REPLY_BYTES = 60_000;
const REQUESTS = 900;

test("A-13: small replies to requests that waited for their turn delay only their own connection", async (context) => {
  let handledCount = 0;
  const budget = new ByteBudget(256 * MB);
  const greedy = new Turns({ clock: new VirtualClock() }).tenant("a", "greedy");
  const run = (): HttpReply => {
    handledCount += 1;
    return { status: 200, headers: [], body: "x".repeat(REPLY_BYTES), bodyIsBytes: true };
  };
  const listener = await listen({
    area: {
      handle: (request) => {
        const refusal = request.claim?.(greedy);
        return refusal === undefined ? inTurn({ request, tenant: greedy, route: "/", run }) : failureReply(refusal);
      },
      bodyBytesMax: () => 0,
    },
    host: "127.0.0.1",
    port: 0,
    clock: systemClock,
    log: createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} }),
    budget,
    idPrefix: "t",
  });
  context.after(() => listener.close(0));
  // With a debt, every request waits.
  greedy.charge(1_000);
  const peers = Array.from({ length: 20 }, () => connect({ host: "127.0.0.1", port: listener.port }));
  for (const peer of peers) {
    peer.on("error", () => {});
    peer.pause();
    peer.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(REQUESTS));
  }
  while (budget.usedBytes < 20 * MB) await nextTurn();
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  assert.ok(handledCount < 20 * 150, `${handledCount} were handled`);
  assert.ok(budget.usedBytes <= 20 * (MB + 2 * 61_000), `${budget.usedBytes} bytes wait`);

  let readBytes = 0;
  peers[0]?.on("data", (chunk: Buffer) => {
    readBytes += chunk.length;
  });
  peers[0]?.resume();
  while (readBytes < REQUESTS * REPLY_BYTES) await nextTurn();
  for (const peer of peers) peer.destroy();
  while (listener.openRequestCount > 0) await nextTurn();
  assert.equal(budget.usedBytes, 0);
});
