/**
 * Log lines: one event, one line, with a level, a time and named fields.
 *
 * (1) A field is named by us and holds a scalar. Whole requests, header maps
 *     and errors cannot be passed, so a secret cannot slip in with them.
 * (2) A line is written when the call returns: the sink is synchronous, so the
 *     last lines of a thread that crashes are not lost.
 * (3) No field can start a new line or move a terminal's cursor: control
 *     characters are escaped in both forms.
 */
import type { Clock } from "./clock.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof logLevels)[number];

/** `json` is one object a line for machines, `text` is for a person at a terminal. */
export type LogFormat = "json" | "text";

/** keeps (1): scalars only. A field without a value is left out. */
export interface LogFields {
  readonly [name: string]: string | number | boolean | undefined;
}

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log whose every line also carries these fields. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  /** Lines below this level are dropped. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock: Clock;
  /** Takes one whole line, newline included, and returns when it is written (2). */
  readonly sink: (line: string) => void;
}

/** A log that writes to `options.sink`. */
export function createLog(options: LogOptions, fixed: LogFields = {}): Log {
  const floor = logLevels.indexOf(options.level);
  const at = (level: LogLevel) => {
    if (logLevels.indexOf(level) < floor) return () => {};
    return (event: string, fields?: LogFields): void => {
      const line = { level, event, fields: fields === undefined ? fixed : { ...fixed, ...fields } };
      const time = new Date(options.clock.nowMs()).toISOString();
      options.sink(options.format === "json" ? jsonLine(time, line) : textLine(time, line));
    };
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => createLog(options, { ...fixed, ...fields }),
  };
}

/** A log that drops everything: for tests and for a server that runs inside another program. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};

/** The fields of a fault in the log: its text and where it was thrown. Never shown to a caller. */
export function faultFields(fault: unknown): LogFields {
  if (!(fault instanceof Error)) return { fault: String(fault) };
  const code = "code" in fault && typeof fault.code === "string" ? fault.code : undefined;
  return { fault: fault.message, code, stack: fault.stack };
}

interface Line {
  level: LogLevel;
  event: string;
  fields: LogFields;
}

function jsonLine(time: string, { level, event, fields }: Line): string {
  // keeps (3): JSON escapes the controls below U+0020 itself, and leaves those from U+007F to U+009F as they are.
  const line = JSON.stringify({ time, level, event, ...fields }).replace(
    CONTROLS,
    (control) => `\\u00${control.charCodeAt(0).toString(16)}`,
  );
  return `${line}\n`;
}

function textLine(time: string, { level, event, fields }: Line): string {
  let line = `${time} ${level.padEnd(5)} ${printable(event)}`;
  let stack = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (name === "stack") stack = `\n${String(value).split("\n").map(printable).join("\n")}`;
    else line += ` ${name}=${typeof value === "string" ? quoted(value) : String(value)}`;
  }
  return `${line}${stack}\n`;
}

/** U+0000 to U+001F, and U+007F to U+009F. */
const CONTROLS = /\p{Cc}/gu;

/** A text whose control characters are escaped: keeps (3). */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

function quoted(value: string): string {
  return /^[\w.:/@%+-]+$/.test(value) ? value : printable(JSON.stringify(value));
}
