import type { Page } from "../pages.ts";

export const messagingPages: readonly Page[] = [
  { path: "/messaging/:tenant/messages", title: "Messages", load: () => import("./log.tsx") },
  { path: "/messaging/:tenant/messages/:id", title: "Message", isHidden: true, load: () => import("./message.tsx") },
];
