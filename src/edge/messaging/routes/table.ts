/**
 * All routes of area C, messaging (service.md C1-C19; spec: messaging 1.2). A
 * row carries the rule of service.md, or `C` for a path that only the clients
 * and documents of the interface know.
 */

import type { MessagingRoute } from "../route.ts";
import { deadLetterRoutes } from "./dead-letters.ts";
import { flowControlRoutes } from "./flow-control.ts";
import { groupRoutes } from "./groups.ts";
import { logRoutes } from "./logs.ts";
import { messageRoutes } from "./messages.ts";
import { publishRoutes } from "./publish.ts";
import { queueRoutes } from "./queues.ts";
import { scheduleRoutes } from "./schedules.ts";
import { signingKeyRoutes } from "./signing-keys.ts";
import { workflowRoutes } from "./workflows.ts";

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
