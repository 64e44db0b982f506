/** Routes of workflows, and the old chat proxy, which there is none of: 501. */
import { chatNotAvailable } from "../errors.ts";
import { eventRoutes } from "./event-routes.ts";
import type { MessagingRoute } from "./messaging-route.ts";
import { runLogRoutes } from "./run-log-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { workflowLetterRoutes } from "./workflow-letter-routes.ts";

export const workflowRoutes: readonly MessagingRoute[] = [
  ...runRoutes,
  ...eventRoutes,
  ...workflowLetterRoutes,
  ...runLogRoutes,
  {
    rule: "C",
    method: "ANY",
    template: "/llm/v1/*",
    summary: "not available in this version",
    isRateLimited: true,
    run() {
      throw chatNotAvailable;
    },
  },
];
