import type { Page } from "../pages.ts";

export const storePages: readonly Page[] = [
  { path: "/store/:tenant/keys", title: "Keys", load: () => import("./keys/keys.tsx") },
  { path: "/store/:tenant/keys/key", title: "Key", isHidden: true, load: () => import("./key/key.tsx") },
  {
    path: "/store/:tenant/command-line",
    title: "Command line",
    load: () => import("./command-line/command-line.tsx"),
  },
];
