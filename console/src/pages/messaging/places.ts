/** Addresses of the pages of messaging, and those of larder's routes that they use. */
import { pagePath } from "../../places.ts";

export { messagingRoute as api } from "../../places.ts";

/** The path of a page of a user: `page("main", "messages", id)`. */
export function page(tenant: string, ...segments: readonly string[]): string {
  return pagePath("messaging", tenant, ...segments);
}
