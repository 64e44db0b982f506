import type { Page } from "../pages.ts";

const ROOT = "/messaging/:tenant";

export const messagingPages: readonly Page[] = [
  { path: `${ROOT}/messages`, title: "Messages", load: () => import("./log.tsx") },
  { path: `${ROOT}/messages/:id`, title: "Message", isHidden: true, load: () => import("./message.tsx") },
  { path: `${ROOT}/publish`, title: "Publish", load: () => import("./publish.tsx") },
  { path: `${ROOT}/dlq`, title: "Dead letters", load: () => import("./dead-letters.tsx") },
  { path: `${ROOT}/dlq/:id`, title: "Dead letter", isHidden: true, load: () => import("./dead-letter.tsx") },
  { path: `${ROOT}/queues`, title: "Queues", load: () => import("./limits/queues.tsx") },
  { path: `${ROOT}/queues/:name`, title: "Queue", isHidden: true, load: () => import("./limits/queue.tsx") },
  { path: `${ROOT}/schedules`, title: "Schedules", load: () => import("./schedules.tsx") },
  { path: `${ROOT}/schedules/:id`, title: "Schedule", isHidden: true, load: () => import("./schedule.tsx") },
  {
    path: `${ROOT}/new-schedule`,
    title: "Create a schedule",
    isHidden: true,
    load: () => import("./new-schedule.tsx"),
  },
  { path: `${ROOT}/url-groups`, title: "URL groups", load: () => import("./url-groups.tsx") },
  { path: `${ROOT}/url-groups/:name`, title: "URL group", isHidden: true, load: () => import("./url-group.tsx") },
  { path: `${ROOT}/flow-control`, title: "Flow control", load: () => import("./limits/flow-control.tsx") },
  {
    path: `${ROOT}/flow-control/:key`,
    title: "Flow-control key",
    isHidden: true,
    load: () => import("./limits/flow-key.tsx"),
  },
  { path: `${ROOT}/signing-keys`, title: "Signing keys", load: () => import("./signing-keys.tsx") },
];
