import type { Page } from "../pages.ts";

export const messagingPages: readonly Page[] = [
  { path: "/messaging/:tenant/messages", title: "Messages", load: () => import("./log.tsx") },
  { path: "/messaging/:tenant/messages/:id", title: "Message", isHidden: true, load: () => import("./message.tsx") },
  { path: "/messaging/:tenant/publish", title: "Publish", load: () => import("./publish.tsx") },
  { path: "/messaging/:tenant/dlq", title: "Dead letters", load: () => import("./dead-letters.tsx") },
  { path: "/messaging/:tenant/dlq/:id", title: "Dead letter", isHidden: true, load: () => import("./dead-letter.tsx") },
];
