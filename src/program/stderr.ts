/**
 * Log lines go to stderr by a synchronous write to its descriptor, in every
 * thread. A worker's `process.stderr` passes through main's event loop, and
 * what is under way there is lost when the process ends; this is not.
 */
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { systemClock } from "../kernel/clock.ts";
import { createLog, type Log, type LogFormat, type LogLevel } from "../kernel/log.ts";
import { beside, type Terminal } from "./cli/terminal-line.ts";
import { codeOf } from "./refusal.ts";

const STDERR = 2;

/** A pipe that nobody reads is waited for this long; then the text is dropped rather than the server stopped. */
const BLOCKED_MS_MAX = 200;
const BLOCKED_PAUSE_MS = 5;

/** The log of this process at a level. */
export function stderrLog(level: LogLevel, format: LogFormat): Log {
  const sink = isTerminal(format) ? beside(writeText) : writeText;
  return createLog({ level, format, clock: systemClock, sink });
}

/** Where a line of progress goes that is written again and again; undefined: to the log. */
export function stderrTerminal(format: LogFormat): Terminal | undefined {
  return isTerminal(format) ? writeText : undefined;
}

/** Whoever asks for JSON gets nothing else, at a terminal too. */
function isTerminal(format: LogFormat): boolean {
  return format === "text" && isatty(STDERR);
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
      // Nobody is left who could be told that stderr is gone (EPIPE, EBADF, EIO).
      if (codeOf(fault) !== "EAGAIN" || blockedMs >= BLOCKED_MS_MAX) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_PAUSE_MS);
      blockedMs += BLOCKED_PAUSE_MS;
    }
  }
}
