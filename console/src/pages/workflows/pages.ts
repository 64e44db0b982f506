import type { Page } from "../pages.ts";

export const workflowPages: readonly Page[] = [];
