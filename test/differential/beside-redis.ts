/** Tests that need a real redis-server: one for all of them, skipped where there is none. */
import assert from "node:assert/strict";
import { after, before, suite } from "node:test";
import { type RedisProcess, redisMissing, startRedis } from "./redis-process.ts";

/** `register` calls `test`; the server is there while the tests run. */
export function besideRedis(register: (redis: () => RedisProcess) => void): void {
  suite("beside redis-server", { skip: redisMissing }, () => {
    let redis: RedisProcess | undefined;

    before(async () => {
      redis = await startRedis();
    });

    after(async () => {
      await redis?.stop();
    });

    register(() => {
      assert.ok(redis !== undefined, "the server is asked for while tests run");
      return redis;
    });
  });
}
