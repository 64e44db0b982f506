/** Addresses of the console's pages, and those of larder's routes that they use. */
import { of } from "./api/client.ts";

/** Where the admin port serves the console. */
export const BASE = "/console";

/** The path of a page of a tenant: `pagePath("messaging", "main", "messages", id)`. */
export function pagePath(group: string, tenant: string, ...segments: readonly string[]): string {
  return `${BASE}/${joined([group, tenant, ...segments])}`;
}

/** The path of a route of messaging and workflows: `messagingRoute("main", "messages", id)`. */
export function messagingRoute(user: string, ...segments: readonly string[]): string {
  return `${of("messaging", user)}v2/${joined(segments)}`;
}

function joined(segments: readonly string[]): string {
  return segments.map(encodeURIComponent).join("/");
}
