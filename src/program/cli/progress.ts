/**
 * How far a long command is, on stderr: one line that is written again and
 * again at a terminal, log lines elsewhere. What is over within a second tells
 * nothing.
 *
 *     keys: 45 %, 120000 of 266667, 21000/s
 */
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { OnBytes } from "../../persistence/byte-progress.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { formatFor, stderrLog, stderrTerminal } from "../stderr.ts";
import { rewrite, type Terminal, WIPE } from "./terminal-line.ts";

export interface ProgressOptions {
  /** What is counted, in the plural: `keys`. */
  readonly unit: string;
  /** A count as people read it; absent: all its digits. */
  readonly print?: (count: number) => string;
  readonly clock: Clock;
  /** Undefined: stderr is none, and `log` is used. */
  readonly terminal: Terminal | undefined;
  readonly log: Log;
}

/** What is over before this tells nothing. */
export const SHORT_MS = 1_000;
/** Between two texts at a terminal. */
export const TERMINAL_PAUSE_MS = 200;
/** Between two log lines about one thing. */
export const LOG_PAUSE_MS = 5_000;

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startMs: number;
  readonly #pauseMs: number;
  #nextMs: number;
  #done = 0;
  /** What was done before this command, which does not count for the rate. */
  #doneBefore = 0;
  #total: number | undefined;
  #isReported = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startMs = options.clock.monotonicMs();
    this.#pauseMs = options.terminal === undefined ? LOG_PAUSE_MS : TERMINAL_PAUSE_MS;
    this.#nextMs = this.#startMs + SHORT_MS;
  }

  /** How many there will be; undefined: nobody knows. `doneBefore`: how many an interrupted command had done. */
  expect(total: number | undefined, doneBefore = 0): void {
    this.#total = total;
    this.#done = doneBefore;
    this.#doneBefore = doneBefore;
  }

  /** So many more are done. */
  add(count: number): void {
    this.reach(this.#done + count);
  }

  /** So many are done altogether. */
  reach(done: number): void {
    this.#done = done;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + this.#pauseMs;
    this.#report(nowMs);
  }

  /** Wipes the line; the log gets how it ended, if it heard of it. */
  end(): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    const { clock, terminal } = this.#options;
    if (terminal === undefined) this.#report(clock.monotonicMs());
    else terminal(WIPE);
  }

  #report(nowMs: number): void {
    const { unit, terminal, log, print = String } = this.#options;
    const seconds = (nowMs - this.#startMs) / 1_000;
    const perSecond = seconds > 0 ? Math.round((this.#done - this.#doneBefore) / seconds) : 0;
    // A total may be an estimate: what is under way is never all of it.
    const percent =
      this.#total === undefined || this.#total === 0
        ? undefined
        : Math.min(100, Math.floor((100 * this.#done) / this.#total));
    this.#isReported = true;
    if (terminal === undefined) {
      log.info("progress", { unit, done: this.#done, total: this.#total, percent, perSecond });
      return;
    }
    const done = print(this.#done);
    const share = this.#total === undefined ? done : `${percent ?? 100} %, ${done} of ${print(this.#total)}`;
    terminal(rewrite(`${unit}: ${share}, ${print(perSecond)}/s`));
  }
}

/** Of a command, where its settings let it be told. */
export function progressOf(run: RunSettings, what: Pick<ProgressOptions, "unit" | "print">): Progress {
  const format = formatFor(run.settings.logFormat);
  const log = stderrLog(run.settings.logLevel, format);
  return new Progress({ ...what, clock: systemClock, terminal: stderrTerminal(format), log });
}

/** Does what reads or writes many bytes, and tells of one subject after the other. */
export async function reportBytes<Result>(
  run: RunSettings,
  work: (onBytes: OnBytes) => Promise<Result>,
): Promise<Result> {
  let current: { readonly subject: string; readonly progress: Progress } | undefined;
  const onBytes: OnBytes = (subject, done, total) => {
    if (current?.subject !== subject) {
      current?.progress.end();
      current = { subject, progress: progressOf(run, { unit: `bytes of ${subject}`, print: printMegabytes }) };
      // The first piece was done before the clock was looked at.
      current.progress.expect(total, done);
    }
    current.progress.reach(done);
  };
  try {
    return await work(onBytes);
  } finally {
    current?.progress.end();
  }
}

const MEGABYTE = 1_000_000;

/** `210 MB`, and `1.4 MB` where a whole number would say little. */
export function printMegabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(bytes < 10 * MEGABYTE ? 1 : 0)} MB`;
}
