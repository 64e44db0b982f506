import type { RedisProcess } from "./redis-process.ts";

/**
 * Empties the server, with its scripts and functions, which outlive the keys, and resolves with its time in ms. Reading
 * a float resets `errno`, which SORT reads by mistake: another program would influence the next one.
 */
export async function emptyServer(redis: RedisProcess): Promise<number> {
  const [, , time] = await redis.pipeline([
    ["INCRBYFLOAT", "any", "1"],
    ["FLUSHALL"],
    ["TIME"],
    ["FUNCTION", "FLUSH"],
    ["SCRIPT", "FLUSH"],
  ]);
  const [seconds, microseconds] = Array.isArray(time) ? time : [];
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
