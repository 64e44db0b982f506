import type { Page } from "../pages.ts";

export const storePages: readonly Page[] = [];
