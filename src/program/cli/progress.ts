/**
 * The progress of a long command, on stderr: one line that is rewritten at a
 * terminal, log lines elsewhere. A command that ends within a second reports
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
  /** The counted things, in the plural: `keys`. */
  readonly unit: string;
  /** Prints a count for people; absent: all its digits. */
  readonly print?: (count: number) => string;
  /** Whether the time that is left is told, by the rate so far. */
  readonly tellsTimeLeft?: boolean;
  readonly clock: Clock;
  /** Undefined: stderr is not a terminal, and `log` is used. */
  readonly terminal: Terminal | undefined;
  readonly log: Log;
}

/** No report before this. */
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
  /** Done before this command; not part of the rate. */
  #doneBefore = 0;
  #total: number | undefined;
  #isReported = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startMs = options.clock.monotonicMs();
    this.#pauseMs = options.terminal === undefined ? LOG_PAUSE_MS : TERMINAL_PAUSE_MS;
    this.#nextMs = this.#startMs + SHORT_MS;
  }

  /** Sets the total; undefined: unknown. `doneBefore`: how many an interrupted command had done. */
  expect(total: number | undefined, doneBefore = 0): void {
    this.#total = total;
    this.#done = doneBefore;
    this.#doneBefore = doneBefore;
  }

  /** Adds to the count. */
  add(count: number): void {
    this.reach(this.#done + count);
  }

  /** Sets the count. */
  reach(done: number): void {
    this.#done = done;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + this.#pauseMs;
    this.#report(nowMs);
  }

  /** Clears the line; the log gets a final line if it had one before. */
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
    // A total may be an estimate, so the count may exceed it.
    const percent =
      this.#total === undefined || this.#total === 0
        ? undefined
        : Math.min(100, Math.floor((100 * this.#done) / this.#total));
    this.#isReported = true;
    const secondsLeft = this.#secondsLeft(perSecond);
    if (terminal === undefined) {
      const left = secondsLeft === undefined ? {} : { secondsLeft };
      log.info("progress", { unit, done: this.#done, total: this.#total, percent, perSecond, ...left });
      return;
    }
    const done = print(this.#done);
    const share = this.#total === undefined ? done : `${percent ?? 100} %, ${done} of ${print(this.#total)}`;
    const left = secondsLeft === undefined ? "" : `, ${secondsLeft} s left`;
    terminal(rewrite(`${unit}: ${share}, ${print(perSecond)}/s${left}`));
  }

  #secondsLeft(perSecond: number): number | undefined {
    if (this.#options.tellsTimeLeft !== true || this.#total === undefined || perSecond === 0) return undefined;
    return Math.max(0, Math.ceil((this.#total - this.#done) / perSecond));
  }
}

/** The progress of a command, reported where its log settings say. */
export function progressOf(
  run: RunSettings,
  what: Pick<ProgressOptions, "unit" | "print" | "tellsTimeLeft">,
): Progress {
  const format = formatFor(run.settings.logFormat);
  const log = stderrLog(run.settings.logLevel, format);
  return new Progress({ ...what, clock: systemClock, terminal: stderrTerminal(format), log });
}

/** Runs `work`, which reads or writes many bytes, and reports the progress of one subject after the other. */
export async function reportBytes<Result>(
  run: RunSettings,
  work: (onBytes: OnBytes) => Promise<Result>,
): Promise<Result> {
  let current: { readonly subject: string; readonly progress: Progress } | undefined;
  const onBytes: OnBytes = (subject, done, total) => {
    if (current?.subject !== subject) {
      current?.progress.end();
      current = {
        subject,
        progress: progressOf(run, { unit: `bytes of ${subject}`, print: printMegabytes, tellsTimeLeft: true }),
      };
      // The first piece was done before the clock started.
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

/** `210 MB`, with one decimal place for small numbers: `1.4 MB`. */
export function printMegabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(bytes < 10 * MEGABYTE ? 1 : 0)} MB`;
}
