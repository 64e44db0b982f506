/** Names and ids of the caller: schedules, queues, URL groups, flow-control keys (H.identifiers). */

import { badRequest, identifierRule, isIdentifier } from "../../messaging/mod.ts";

const SHOWN_LENGTH_MAX = 100;

/** Throws a `MessagingFailure` that names the field. */
export function checkIdentifier(field: string, value: string): void {
  if (isIdentifier(value)) return;
  const shown = value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value;
  throw badRequest(`Invalid value for ${field}: ${JSON.stringify(shown)}: ${identifierRule}`);
}
