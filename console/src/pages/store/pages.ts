import type { Page } from "../pages.ts";

export const storePages: readonly Page[] = [
  { path: "/store/:tenant/keys", title: "Keys", load: () => import("./keys/keys.tsx") },
  { path: "/store/:tenant/keys/key", title: "Key", isHidden: true, load: () => import("./key/key.tsx") },
  {
    path: "/store/:tenant/command-line",
    title: "Command line",
    load: () => import("./command-line/command-line.tsx"),
  },
  { path: "/store/:tenant/search", title: "Search", load: () => import("./search/indexes.tsx") },
  {
    path: "/store/:tenant/search/index",
    title: "Search index",
    isHidden: true,
    load: () => import("./search/index-page.tsx"),
  },
  { path: "/store/:tenant/monitor", title: "Monitor", load: () => import("./live/monitor.tsx") },
  { path: "/store/:tenant/pubsub", title: "Pub/Sub", load: () => import("./live/pubsub.tsx") },
  { path: "/store/:tenant/clients", title: "Clients", load: () => import("./clients/clients-page.tsx") },
  { path: "/store/:tenant/slow-log", title: "Slow log", load: () => import("./live/slow-log.tsx") },
  { path: "/store/:tenant/users", title: "Users", load: () => import("./live/users.tsx") },
  { path: "/store/:tenant/info", title: "Info", load: () => import("./info/info-page.tsx") },
];
