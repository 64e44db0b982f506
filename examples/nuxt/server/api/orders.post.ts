export default defineEventHandler(async (event) => {
  const { id } = await readBody<{ id: string }>(event);
  const url = new URL("/api/workflow", getRequestURL(event)).href;
  setResponseStatus(event, 202);
  return await workflows.trigger({ url, body: { id } });
});
