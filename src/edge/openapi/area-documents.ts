/** The OpenAPI documents of the areas. Loaded on the first request for one. */
import { describeAdmin } from "./admin.ts";
import { describeConsole } from "./console.ts";
import { openApiText } from "./document.ts";
import { describeMessaging } from "./messaging.ts";
import type { AreaDescription } from "./operation.ts";
import { describeStore } from "./store.ts";
import { describeVector } from "./vector.ts";

export const describedAreas = {
  store: describeStore,
  vector: describeVector,
  messaging: describeMessaging,
  admin: describeAdmin,
  console: describeConsole,
} as const satisfies Record<string, () => AreaDescription>;

/** In JSON. */
export function areaDocument(area: keyof typeof describedAreas, version: string): string {
  return openApiText(describedAreas[area](), version);
}
