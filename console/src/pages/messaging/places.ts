/** Addresses of the pages of messaging, and those of larder's routes that they use. */
import { of } from "../../api/client.ts";
import { BASE } from "../../app.tsx";

/** The path of a page of a user: `page("main", "messages", id)`. */
export function page(tenant: string, ...segments: readonly string[]): string {
  return [`${BASE}/messaging`, tenant, ...segments]
    .map((part, at) => (at === 0 ? part : encodeURIComponent(part)))
    .join("/");
}

/** The path of a route of messaging: `api("main", "messages", id)`. */
export function api(tenant: string, ...segments: readonly string[]): string {
  return `${of("messaging", tenant)}v2/${segments.map(encodeURIComponent).join("/")}`;
}
