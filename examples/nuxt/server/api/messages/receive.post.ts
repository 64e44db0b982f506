/** What larder delivers, with its signature. */
export default defineEventHandler(async (event) => {
  const signature = getHeader(event, "upstash-signature") ?? "";
  const body = (await readRawBody(event)) ?? "";
  const url = getRequestURL(event).href;
  const isValid = await receiver.verify({ signature, body, url }).catch(() => false);
  if (!isValid) throw createError({ status: 401, message: "The signature is not valid" });
  await redis.rpush("messages", JSON.parse(body).text);
  return { received: true };
});
