/** Where the history's events come from: the module that translates frames of the journal, and what it means by states. */

import { messageState } from "../../messaging/history.ts";

const suffix = import.meta.url.endsWith(".ts") ? "ts" : "js";

export const eventsModule = new URL(`../../messaging/history.${suffix}`, import.meta.url).href;

/** States after which nothing comes. */
export const lastStates: readonly number[] = [messageState.delivered, messageState.failed, messageState.cancelled];
