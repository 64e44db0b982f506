import type { Page } from "../pages.ts";

export const workflowPages: readonly Page[] = [
  { path: "/workflows/:tenant/runs", title: "Runs", load: () => import("./runs.tsx") },
  { path: "/workflows/:tenant/runs/:id", title: "Run", isHidden: true, load: () => import("./run.tsx") },
  { path: "/workflows/:tenant/events", title: "Events", load: () => import("./events.tsx") },
];
