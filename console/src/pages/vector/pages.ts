import type { Page } from "../pages.ts";

export const vectorPages: readonly Page[] = [];
