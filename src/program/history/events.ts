/** The source of the history's events: the module that translates frames of the journal, and its states. */

import { messageState } from "../../messaging/history.ts";

const suffix = import.meta.url.endsWith(".ts") ? "ts" : "js";

export const eventsModule = new URL(`../../messaging/history.${suffix}`, import.meta.url).href;

/** Final states. */
export const lastStates: readonly number[] = [messageState.delivered, messageState.failed, messageState.cancelled];
