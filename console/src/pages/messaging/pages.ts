import type { Page } from "../pages.ts";

export const messagingPages: readonly Page[] = [];
