/** The client works with the printed address in each form of starting the program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { startProgram } from "../program/program-process.ts";

const forms: readonly (readonly [name: string, command: "serve" | "dev", args: readonly string[], url: RegExp])[] = [
  ["dev", "dev", [], /^http:\/\/127\.0\.0\.1:\d+$/],
  ["dev on one port for all areas", "dev", ["--port", "0"], /^http:\/\/127\.0\.0\.1:\d+\/store$/],
  ["dev with a thread for each area", "dev", ["--threads", "per-area"], /^http:\/\/127\.0\.0\.1:\d+$/],
];

for (const [name, command, args, url] of forms) {
  test(`larder ${name} serves the client at its printed address`, async () => {
    await using program = await startProgram(command, { args });
    assert.match(program.storeUrl, url);
    const redis = new Redis({ url: program.storeUrl, token: program.storeToken });

    assert.equal(await redis.set("a/b", { deep: [1] }), "OK");
    assert.deepEqual(await redis.get("a/b"), { deep: [1] });
    assert.deepEqual(await redis.multi().incr("n").get("n").exec(), [1, 1]);
  });
}
