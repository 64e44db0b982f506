import type { Page } from "../pages.ts";

export const vectorPages: readonly Page[] = [
  { path: "/vector/:tenant/namespaces", title: "Namespaces", load: () => import("./namespaces.tsx") },
  { path: "/vector/:tenant/records", title: "Records", load: () => import("./records.tsx") },
  { path: "/vector/:tenant/query", title: "Query", load: () => import("./query.tsx") },
  { path: "/vector/:tenant/map", title: "Map", load: () => import("./map/map.tsx") },
];
