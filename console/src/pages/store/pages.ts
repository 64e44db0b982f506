import type { Page } from "../pages.ts";

export const storePages: readonly Page[] = [
  { path: "/store/:tenant/keys", title: "Keys", load: () => import("./keys/keys.tsx") },
];
