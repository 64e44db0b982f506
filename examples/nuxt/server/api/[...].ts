/** Without this, other addresses below /api would show the page. */
export default defineEventHandler(() => {
  throw createError({ status: 404, message: "Not found" });
});
