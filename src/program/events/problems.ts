/**
 * The last warnings and errors that the program logged, in memory, for
 * `GET /v1/problems` and the console. Threads send theirs to main.
 *
 * (1) A problem has what its log line has, without the stack: nothing that the log
 *     does not print, and nothing that its level drops.
 * (2) At most `PROBLEMS_MAX` are kept. The same problem again counts, and becomes the
 *     newest one, so that a fault that repeats does not push out the others.
 */
import type { Problem } from "../../edge/admin/problem.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Log, type LogFields, type LogLevel, logLevels } from "../../kernel/log.ts";

export const PROBLEMS_MAX = 100;
const TEXT_LENGTH_MAX = 500;

/** A line of the log. */
export interface LoggedProblem {
  readonly atMs: number;
  readonly level: "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

interface Counted extends LoggedProblem {
  readonly firstAtMs: number;
  readonly count: number;
}

export class Problems {
  /** By what makes two of them the same; the newest last. */
  readonly #problems = new Map<string, Counted>();

  note(problem: LoggedProblem): void {
    const { level, message, fields } = problem;
    const key = JSON.stringify([level, message, fields["area"], fields["part"], fields["fault"] ?? fields["reason"]]);
    const { count = 0, firstAtMs = problem.atMs } = this.#problems.get(key) ?? {};
    this.#problems.delete(key);
    this.#problems.set(key, { ...problem, firstAtMs, count: count + 1 });
    const [oldest = key] = this.#problems.keys();
    if (this.#problems.size > PROBLEMS_MAX) this.#problems.delete(oldest); // keeps (2)
  }

  /** The newest first. */
  list(): readonly Problem[] {
    return [...this.#problems.values()].reverse().map(({ atMs, firstAtMs, level, message, fields, count }): Problem => {
      const { area, part, ...rest } = fields;
      return {
        time: new Date(atMs).toISOString(),
        level,
        area: String(area ?? part ?? "server"),
        message,
        fields: rest,
        count,
        firstTime: new Date(firstAtMs).toISOString(),
      };
    });
  }
}

export interface Recording {
  /** Of the log: what it drops is not noted. */
  readonly level: LogLevel;
  readonly clock: Pick<Clock, "nowMs">;
  readonly note: (problem: LoggedProblem) => void;
}

/** A log whose warnings and errors are noted too. keeps (1) */
export function recordedLog(log: Log, recording: Recording, fixed: LogFields = {}): Log {
  const floor = logLevels.indexOf(recording.level);
  const at = (level: LoggedProblem["level"]) => (message: string, fields?: LogFields) => {
    log[level](message, fields);
    if (logLevels.indexOf(level) < floor) return;
    recording.note({ atMs: recording.clock.nowMs(), level, message, fields: shownFields({ ...fixed, ...fields }) });
  };
  return {
    debug: (event, fields) => log.debug(event, fields),
    info: (event, fields) => log.info(event, fields),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => recordedLog(log.with(fields), recording, { ...fixed, ...fields }),
  };
}

function shownFields({ stack: _, ...fields }: LogFields): LoggedProblem["fields"] {
  const shown: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) shown[name] = typeof value === "string" ? value.slice(0, TEXT_LENGTH_MAX) : value;
  return shown;
}
