export default defineEventHandler(async (event) => {
  // Behind a proxy, take the address that it reports. Here, all callers share the limit.
  const { success, reset } = await limit.limit("everybody");
  if (!success) throw createError({ status: 429, message: "Too many texts", data: { retryAt: new Date(reset) } });
  const { id, text } = await readBody<{ id: string; text: string }>(event);
  await index.upsert({ id, data: text });
  setResponseStatus(event, 201);
  return { id };
});
