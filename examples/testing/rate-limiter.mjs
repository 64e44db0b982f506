/** Allows each caller some calls in a window of time, which begins with the first one. */
export function createRateLimiter(redis, { calls, windowSeconds }) {
  return async (caller) => {
    const key = `calls:${caller}`;
    const [count] = await redis.multi().incr(key).expire(key, windowSeconds, "NX").exec();
    return count <= calls;
  };
}
