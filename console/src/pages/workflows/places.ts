/** Addresses of the pages of workflows, and those of larder's routes that they use. */
import { pagePath } from "../../places.ts";

export { messagingRoute as api } from "../../places.ts";

/** The path of a page of a user's workflows: `page("main", "runs", id)`. */
export function page(tenant: string, ...segments: readonly string[]): string {
  return pagePath("workflows", tenant, ...segments);
}
