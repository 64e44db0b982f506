/** Paths of workflows (service.md C3-C5, C9, C14) and of the old chat proxy, which this version does not have: 501. */
import { chatNotAvailable, type RequestFailure, workflowsNotAvailable } from "../errors.ts";
import type { MessagingRoute } from "./messaging-route.ts";

export const workflowRoutes: readonly MessagingRoute[] = [
  refused("C3", "POST", "/v2/notify/:workflowRunId/:eventId", workflowsNotAvailable),
  refused("C", "ANY", "/v2/notify/*", workflowsNotAvailable),
  refused("C4", "DELETE", "/v2/workflows/dlq", workflowsNotAvailable),
  refused("C5", "GET", "/v2/workflows/dlq", workflowsNotAvailable),
  refused("C9", "GET", "/v2/waiters/:eventId", workflowsNotAvailable),
  refused("C", "ANY", "/v2/wait/*", workflowsNotAvailable),
  refused("C14", "DELETE", "/v2/workflows/runs/:workflowRunId", workflowsNotAvailable),
  refused("C", "ANY", "/v2/workflows/*", workflowsNotAvailable),
  refused("C", "ANY", "/llm/v1/*", chatNotAvailable),
];

function refused(
  rule: string,
  method: MessagingRoute["method"],
  template: string,
  failure: RequestFailure,
): MessagingRoute {
  return {
    rule,
    method,
    template,
    summary: "not available in this version",
    // A read-only token learns the same of what it may read.
    ...(method === "GET" ? { isForReadOnlyToken: true } : {}),
    isRateLimited: true,
    run() {
      throw failure;
    },
  };
}
