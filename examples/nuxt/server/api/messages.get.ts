export default defineEventHandler(async () => ({ messages: await redis.lrange("messages", 0, -1) }));
