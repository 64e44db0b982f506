export default defineEventHandler(async (event) => {
  const { q = "" } = getQuery<{ q?: string }>(event);
  const hits = await index.query({ data: q, topK: 3, includeData: true });
  return { texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) };
});
