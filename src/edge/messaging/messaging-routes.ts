/**
 * All routes of area C, messaging (service.md C1-C19; spec: messaging 1.2). A
 * row carries the rule of service.md, or `C` for a path that only the clients
 * and documents of the interface know.
 */
import { deadLetterRoutes } from "./dead-letter-routes.ts";
import { flowControlRoutes } from "./flow-control-routes.ts";
import { groupRoutes } from "./group-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { messageRoutes } from "./message-routes.ts";
import type { MessagingRoute } from "./messaging-route.ts";
import { publishRoutes } from "./publish-routes.ts";
import { queueRoutes } from "./queue-routes.ts";
import { scheduleRoutes } from "./schedule-routes.ts";
import { signingKeyRoutes } from "./signing-key-routes.ts";
import { workflowRoutes } from "./workflow-routes.ts";

export const messagingRoutes: readonly MessagingRoute[] = [
  ...publishRoutes,
  ...messageRoutes,
  ...queueRoutes,
  ...scheduleRoutes,
  ...groupRoutes,
  ...deadLetterRoutes,
  ...flowControlRoutes,
  ...logRoutes,
  ...signingKeyRoutes,
  ...workflowRoutes,
];
