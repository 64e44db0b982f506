/**
 * Prints the events of a thread: as lines for people in `larder dev`, otherwise
 * as lines of the log.
 *
 * (1) A kind has at most so many lines in a second; then one line counts those
 *     that were left out. A flood of refused requests does not hide the rest.
 * (2) A line of a terminal has no control characters but our own colours.
 */
import { styleText } from "node:util";
import type { Clock } from "../../kernel/clock.ts";
import { type Log, type LogFields, type LogLevel, logLevels, printable } from "../../kernel/log.ts";
import { type EventFields, type EventName, type EventRow, eventRows, timeOf } from "./event-rows.ts";

/** How events are printed. Plain data, so that it can be posted between threads. */
export interface EventOutput {
  /** Events are lines of the log at the level debug. */
  readonly isDebug: boolean;
  readonly isColoured: boolean;
}

export interface EventReporterOptions extends EventOutput {
  readonly log: Log;
  /** Lower levels are not printed. */
  readonly level: LogLevel;
  /** Writes lines for people; undefined: events go to the log. */
  readonly write: ((line: string) => void) | undefined;
  readonly clock: Clock;
}

/** Lines of one kind in a second. */
export const LINES_PER_SECOND_MAX = 20;
const WINDOW_MS = 1_000;
const LINE_LENGTH_MAX = 400;

interface Window {
  startedMs: number;
  count: number;
  leftOutCount: number;
}

export class EventReporter {
  readonly #options: EventReporterOptions;
  readonly #windows = new Map<EventName, Window>();

  constructor(options: EventReporterOptions) {
    this.#options = options;
  }

  /** Prints an event, unless its kind has too many lines. */
  note<Name extends EventName>(name: Name, fields: EventFields[Name]): void {
    const row: EventRow<EventFields[Name]> = eventRows[name];
    const level = this.#options.isDebug ? "debug" : row.level(fields);
    if (logLevels.indexOf(level) < logLevels.indexOf(this.#options.level)) return;
    if (!this.#hasRoom(name)) return;
    const { log, write, isColoured } = this.#options;
    if (write === undefined || this.#options.isDebug) {
      log[level](name, fields as LogFields);
      return;
    }
    const [subject, text] = row.line(fields);
    const shown = subject.padEnd(SUBJECT_LENGTH);
    this.#print(`${isColoured ? styleText(row.colour(fields), shown, { validateStream: false }) : shown} ${cut(text)}`);
  }

  /** keeps (1) */
  #hasRoom(name: EventName): boolean {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    let window = this.#windows.get(name);
    if (window === undefined || nowMs - window.startedMs >= WINDOW_MS) {
      window = { startedMs: nowMs, count: 0, leftOutCount: 0 };
      this.#windows.set(name, window);
    }
    window.count += 1;
    if (window.count <= LINES_PER_SECOND_MAX) return true;
    window.leftOutCount += 1;
    const full = window;
    if (full.leftOutCount === 1) clock.after(full.startedMs + WINDOW_MS - nowMs, () => this.#reportLeftOut(name, full));
    return false;
  }

  #reportLeftOut(event: EventName, { leftOutCount }: Window): void {
    const { log, write, isDebug } = this.#options;
    if (write === undefined || isDebug)
      log[isDebug ? "debug" : "warn"]("events left out", { of: event, count: leftOutCount });
    else this.#print(`${"…".padEnd(SUBJECT_LENGTH)} ${leftOutCount} more of "${event}" left out`);
  }

  #print(line: string): void {
    const { write, clock } = this.#options;
    write?.(`${timeOf(new Date(clock.nowMs()).toISOString())} ${line}\n`);
  }
}

const SUBJECT_LENGTH = "dead letter".length;

/** keeps (2) */
function cut(text: string): string {
  const shown = printable(text);
  return shown.length > LINE_LENGTH_MAX ? `${shown.slice(0, LINE_LENGTH_MAX)}…` : shown;
}
