export default defineEventHandler(async () => ({ views: await redis.incr("views") }));
