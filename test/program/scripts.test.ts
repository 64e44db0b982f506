/** The script limits of the real program's settings, and libraries after a restart. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

function clientOf({ storeUrl: url, storeToken: token }: RunningProgram): Redis {
  return new Redis({ url, token, enableAutoPipelining: false });
}

// A.limits.scripts
test("A-10: settings limit scripts, and libraries outlive a kill", async () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-scripts-"));
  const args = ["--data-dir", directory, "--fsync", "always", "--script-time-limit", "30ms", "--script-memory", "2mb"];
  let program = await startProgram("serve", { args });
  try {
    let redis = clientOf(program);
    await redis.set("k", "v");
    await assert.rejects(
      redis.eval("redis.call('DEL', 'k') while true do end", [], []),
      /ERR Script ran for more than 30 ms and was stopped; its writes were undone/,
    );
    await assert.rejects(redis.eval("return string.rep('x', 10000000)", [], []), /ERR .*memory/);
    const code = "#!lua name=lib\nredis.register_function('f', function(keys) return redis.call('GET', keys[1]) end)";
    await redis.functions.load({ code });
    await program.kill();

    program = await startProgram("serve", { args: [...args, ...oneThread] });
    redis = clientOf(program);
    assert.equal(await redis.functions.call("f", ["k"]), "v");
  } finally {
    await program.stop();
    rmSync(directory, { recursive: true });
  }
});
