/** Refused requests and failed commands, for people who watch (program/events/). */
import type { HttpReply, HttpRequest, RequestHead } from "./handler.ts";

/** The route of requests that were refused before a route was found. */
export const REFUSED_ROUTE = "refused";

/** Replies with such a status are refusals. */
export const REFUSAL_STATUS_MIN = 400;

/** Reported for each refused request: a status from 400, or a failed command of a pipeline. */
export interface Refusal {
  /** Undefined: the request could not be read. */
  readonly head: RequestHead | undefined;
  readonly status: number;
  /** The body of the reply, or the error of the command. */
  readonly reply: Pick<HttpReply, "body" | "bodyIsBytes">;
}

/** Absent where it is optional: nobody watches. */
export type OnRefusal = (refusal: Refusal) => void;

/** What a request reports failed commands with; undefined, so that no command is looked at, if nobody watches. */
export function failureReport(head: RequestHead, onRefusal: OnRefusal | undefined): HttpRequest["commandFailed"] {
  return onRefusal && ((text) => onRefusal({ head, status: 200, reply: { body: text, bodyIsBytes: true } }));
}
