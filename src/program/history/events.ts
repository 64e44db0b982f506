/** The source of the history's events: the module that translates frames of the journal, and its states. */

import { messageState } from "../../messaging/history.ts";
import { entryFile } from "../package-files.ts";

export const eventsModule = entryFile("history-events").href;

/** Final states. */
export const lastStates: readonly number[] = [messageState.delivered, messageState.failed, messageState.cancelled];
