export default defineEventHandler(async (event) => {
  const url = new URL("/api/messages/receive", getRequestURL(event)).href;
  const { messageId } = await qstash.publishJSON({ url, body: await readBody(event) });
  setResponseStatus(event, 202);
  return { messageId };
});
