/**
 * The events that `larder dev` prints, one row each: its level, and how a
 * terminal shows its fields. As JSON, a line has the name and the fields.
 *
 * No event is a success of a usual request: there may be thousands in a second.
 */
import type { LogLevel } from "../../kernel/log.ts";

/** The fields of each event. Scalars, as in every line of the log. */
export interface EventFields {
  "request refused": {
    /** Of the listener: `store`, `messaging`, `vector`, `admin`, `port`. */
    readonly listener: string;
    /** Undefined: the request could not be read. */
    readonly method: string | undefined;
    readonly path: string | undefined;
    readonly status: number;
    readonly reason: string;
    /** The start of the token of a request without access. */
    readonly token: string | undefined;
  };
  "command failed": {
    readonly over: "HTTP" | "RESP";
    readonly reason: string;
  };
  delivery: {
    readonly message: string;
    readonly method: string;
    readonly url: string;
    readonly status: number | undefined;
    /** Why no answer came. */
    readonly failure: string | undefined;
    readonly ms: number;
  };
  "retry planned": {
    readonly message: string;
    readonly url: string;
    readonly retry: number;
    readonly retriesMax: number;
    /** In ISO 8601. */
    readonly next: string;
    readonly inMs: number;
  };
  "dead letter": {
    readonly message: string;
    readonly url: string;
    readonly reason: string;
  };
  "schedule fired": {
    readonly schedule: string;
    readonly destination: string;
    readonly messages: number;
    /** Why it published nothing. */
    readonly failure: string | undefined;
    /** In ISO 8601; undefined: never again. */
    readonly next: string | undefined;
  };
  "step done": {
    readonly run: string;
    readonly step: number | undefined;
    readonly name: string | undefined;
  };
  "run ended": {
    readonly run: string;
    readonly url: string;
    readonly state: "success" | "failed" | "canceled";
    readonly ms: number;
  };
  "tenant made": {
    readonly kind: "database" | "index" | "user";
    readonly name: string;
  };
}

export type EventName = keyof EventFields;

type Colour = "green" | "yellow" | "red" | "cyan";

export interface EventRow<Fields> {
  /** In `larder dev`; elsewhere an event is logged at the level debug. */
  readonly level: (fields: Fields) => LogLevel;
  readonly colour: (fields: Fields) => Colour;
  /** The first word of the line, and the rest. */
  readonly line: (fields: Fields) => readonly [subject: string, text: string];
}

/** The same for each event of the kind. */
function always<Value>(value: Value): () => Value {
  return () => value;
}

export const eventRows: { readonly [Name in EventName]: EventRow<EventFields[Name]> } = {
  "request refused": {
    level: always("warn"),
    colour: always("yellow"),
    line: ({ listener, method, path, status, reason, token }) => [
      "refused",
      `${listener}: ${method === undefined ? "an unreadable request" : `${method} ${path}`}: ${status} ${reason}${token === undefined ? "" : ` (token ${token})`}`,
    ],
  },
  "command failed": {
    level: always("warn"),
    colour: always("yellow"),
    line: ({ over, reason }) => ["failed", `command over ${over}: ${reason}`],
  },
  delivery: {
    level: ({ status }) => (isSuccess(status) ? "info" : "warn"),
    colour: ({ status }) => (isSuccess(status) ? "green" : "yellow"),
    line: ({ method, url, status, failure, ms, message }) => [
      "delivery",
      `${method} ${url}: ${failure ?? status} in ${ms} ms (${message})`,
    ],
  },
  "retry planned": {
    level: always("warn"),
    colour: always("yellow"),
    line: ({ url, retry, retriesMax, next, inMs, message }) => [
      "retry",
      `${retry} of ${retriesMax} of ${url} at ${timeOf(next)}, in ${durationText(inMs)} (${message})`,
    ],
  },
  "dead letter": {
    level: always("error"),
    colour: always("red"),
    line: ({ url, reason, message }) => ["dead letter", `${url}: ${reason} (${message})`],
  },
  "schedule fired": {
    level: ({ failure }) => (failure === undefined ? "info" : "warn"),
    colour: ({ failure }) => (failure === undefined ? "cyan" : "yellow"),
    line: ({ schedule, destination, messages, failure, next }) => [
      "schedule",
      `${schedule} to ${destination}: ${failure ?? (messages === 1 ? "1 message" : `${messages} messages`)}, next ${next ?? "never"}`,
    ],
  },
  "step done": {
    level: always("info"),
    colour: always("cyan"),
    line: ({ run, step, name }) => [
      "step",
      `${step ?? "?"}${name === undefined ? "" : ` ${JSON.stringify(name)}`} of ${run}`,
    ],
  },
  "run ended": {
    level: ({ state }) => (state === "failed" ? "error" : "info"),
    colour: ({ state }) => (state === "success" ? "green" : state === "failed" ? "red" : "yellow"),
    line: ({ run, url, state, ms }) => ["run", `${run} of ${url}: ${state} after ${durationText(ms)}`],
  },
  "tenant made": {
    level: always("info"),
    colour: always("cyan"),
    line: ({ kind, name }) => [kind, `${name} made`],
  },
};

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/** The time of day of a time in ISO 8601. */
export function timeOf(iso: string): string {
  return iso.slice(11, 19);
}

function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 600_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
