import type { Page } from "../pages.ts";

export const homePages: readonly Page[] = [{ path: "/", title: "Home", load: () => import("./home.tsx") }];
