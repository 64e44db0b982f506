import type { Page } from "../pages.ts";

export const operationsPages: readonly Page[] = [];
