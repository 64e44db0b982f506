/** Routes of workflows. The old chat proxy is not implemented (501). */
import { chatNotAvailable } from "../../errors.ts";
import { messagingRows } from "../route.ts";
import { eventRoutes } from "./events.ts";
import { failedRunRoutes } from "./failed-runs.ts";
import { runLogRoutes } from "./run-logs.ts";
import { runRoutes } from "./runs.ts";

export const workflowRoutes = messagingRows([
  ...runRoutes,
  ...eventRoutes,
  ...failedRunRoutes,
  ...runLogRoutes,
  {
    id: "completeChat",
    rule: "C",
    method: "ANY",
    template: "/llm/v1/*",
    summary: "not available in this version",
    isRateLimited: true,
    run() {
      throw chatNotAvailable;
    },
  },
]);
