import type { Page } from "../pages.ts";

// `/console/api` is the address of the requests of the pages.
export const apiPages: readonly Page[] = [
  { path: "/openapi", title: "API", load: () => import("./operations.tsx") },
  { path: "/openapi/:area/:id", title: "Operation", isHidden: true, load: () => import("./operation.tsx") },
];
