export default defineEventHandler(async (event) => {
  const id = getRouterParam(event, "id");
  return { id, status: await redis.get(`order:${id}`) };
});
