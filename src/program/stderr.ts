/**
 * In every thread, log lines go to stderr by a synchronous write to its
 * descriptor. A worker's `process.stderr` passes through main's event loop,
 * where pending lines are lost when the process ends.
 */
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { systemClock } from "../kernel/clock.ts";
import { createLog, type Log, type LogFormat, type LogLevel } from "../kernel/log.ts";
import { lineWriter, type Terminal } from "./cli/terminal-line.ts";
import { type EventOutput, EventReporter } from "./events/reporter.ts";
import { codeOf } from "./refusal.ts";

const STDERR = 2;

/** How long to wait for a pipe that is not read; then the text is dropped, so that the server does not stop. */
const BLOCKED_MS_MAX = 200;
const BLOCKED_PAUSE_MS = 5;

/** The log of this process at a level. */
export function stderrLog(level: LogLevel, format: LogFormat): Log {
  const sink = isTerminal(format) ? lineWriter(writeText) : writeText;
  return createLog({ level, format, clock: systemClock, sink });
}

/** Prints events beside the log; undefined: nothing prints them. */
export function stderrEvents({ log, level, format, events }: EventsToStderr): EventReporter | undefined {
  if (events === undefined) return undefined;
  const write = isTerminal(format) ? lineWriter(writeText) : writeText;
  return new EventReporter({
    ...{ ...events, log, level, clock: systemClock },
    write: format === "text" ? write : undefined,
  });
}

interface EventsToStderr {
  readonly log: Log;
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly events: EventOutput | undefined;
}

/** The terminal for rewritten lines of progress; undefined: progress goes to the log. */
export function stderrTerminal(format: LogFormat): Terminal | undefined {
  return isTerminal(format) ? writeText : undefined;
}

/** With the format JSON, stderr has only JSON, at a terminal too. */
function isTerminal(format: LogFormat): boolean {
  return format === "text" && isatty(STDERR);
}

/** True if people read stderr. */
export function isErrorTerminal(): boolean {
  return isatty(STDERR);
}

/** `auto` is text at a terminal and JSON elsewhere. */
export function formatFor(format: "auto" | LogFormat): LogFormat {
  if (format !== "auto") return format;
  return isatty(STDERR) ? "text" : "json";
}

function writeText(text: string): void {
  const bytes = Buffer.from(text, "utf8");
  let written = 0;
  let blockedMs = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(STDERR, bytes, written);
    } catch (fault) {
      // Stderr is gone (EPIPE, EBADF, EIO), and there is no other place to report it.
      if (codeOf(fault) !== "EAGAIN" || blockedMs >= BLOCKED_MS_MAX) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_PAUSE_MS);
      blockedMs += BLOCKED_PAUSE_MS;
    }
  }
}
