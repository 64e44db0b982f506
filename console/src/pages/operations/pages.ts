import type { Page } from "../pages.ts";

export const operationsPages: readonly Page[] = [
  { path: "/operations/databases", title: "Databases", load: () => import("./databases.tsx") },
  { path: "/operations/indexes", title: "Indexes", load: () => import("./indexes.tsx") },
  { path: "/operations/users", title: "Users", load: () => import("./users.tsx") },
  { path: "/operations/backups", title: "Backups", load: () => import("./backups.tsx") },
  { path: "/operations/audit", title: "Audit log", load: () => import("./audit-log.tsx") },
  { path: "/operations/settings", title: "Settings", load: () => import("./settings.tsx") },
];
