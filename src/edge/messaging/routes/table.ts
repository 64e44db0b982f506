/**
 * All routes of area C, messaging (docs/interface/messaging.md, workflows.md). A
 * row has the number of its route there, or `C` if it has no number.
 */

import { deadLetterRoutes } from "./dead-letters.ts";
import { flowControlRoutes } from "./flow-control.ts";
import { groupRoutes } from "./groups.ts";
import { logRoutes } from "./logs.ts";
import { messageRoutes } from "./messages.ts";
import { publishRoutes } from "./publish.ts";
import { queueRoutes } from "./queues.ts";
import { readinessRoutes } from "./readiness.ts";
import { scheduleRoutes } from "./schedules.ts";
import { signingKeyRoutes } from "./signing-keys.ts";
import { workflowRoutes } from "./workflows.ts";

export const messagingRoutes = [
  ...publishRoutes,
  ...messageRoutes,
  ...queueRoutes,
  ...scheduleRoutes,
  ...groupRoutes,
  ...deadLetterRoutes,
  ...flowControlRoutes,
  ...logRoutes,
  ...signingKeyRoutes,
  ...readinessRoutes,
  ...workflowRoutes,
];

export type MessagingOperationId = (typeof messagingRoutes)[number]["id"];
