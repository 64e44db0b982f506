/** The families whose commands are compared with a real redis-server by random programs. */
import { stringFamily } from "./families/string.ts";
import type { Family } from "./programs.ts";

export const families: readonly Family[] = [stringFamily];
