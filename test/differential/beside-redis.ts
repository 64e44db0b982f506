/** Tests that need a real redis-server: all share one, and are skipped if it is missing. */
import assert from "node:assert/strict";
import { after, before, suite } from "node:test";
import { type RedisProcess, redisMissing, startRedis } from "./redis-process.ts";

/** `register` calls `test`; the server runs during the tests. */
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
      assert.ok(redis !== undefined, "the server runs only during tests");
      return redis;
    });
  });
}
