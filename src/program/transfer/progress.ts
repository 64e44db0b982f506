/**
 * How far a long command is, on stderr: one line that is written again and
 * again at a terminal, log lines elsewhere.
 *
 *     keys: 45 %, 120000 of 266667, 21000/s
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";

export interface ProgressOptions {
  /** What is counted, in the plural: `keys`. */
  readonly unit: string;
  readonly clock: Clock;
  /** Takes a text for the terminal as it is; undefined: stderr is none, and `log` is used. */
  readonly terminal: ((text: string) => void) | undefined;
  readonly log: Log;
}

const TERMINAL_PAUSE_MS = 200;
const LOG_PAUSE_MS = 5_000;
/** Goes back to the start of the line and clears it. */
const REWRITE = "\r\u001b[2K";

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startMs: number;
  #toldMs: number;
  #done = 0;
  /** What was done before this command, which does not count for the rate. */
  #doneBefore = 0;
  #total: number | undefined;
  #isLineOpen = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startMs = options.clock.monotonicMs();
    this.#toldMs = this.#startMs;
  }

  /** How many there will be; undefined: nobody knows. `doneBefore`: how many an interrupted command had done. */
  expect(total: number | undefined, doneBefore = 0): void {
    this.#total = total;
    this.#done = doneBefore;
    this.#doneBefore = doneBefore;
  }

  add(count: number): void {
    this.#done += count;
    const { clock, terminal } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#toldMs < (terminal === undefined ? LOG_PAUSE_MS : TERMINAL_PAUSE_MS)) return;
    this.#toldMs = nowMs;
    this.#tell(nowMs);
  }

  /** Ends the line, so that what is printed next begins a new one. */
  end(): void {
    this.#tell(this.#options.clock.monotonicMs());
    if (this.#isLineOpen) this.#options.terminal?.("\n");
    this.#isLineOpen = false;
  }

  #tell(nowMs: number): void {
    const { unit, terminal, log } = this.#options;
    const seconds = (nowMs - this.#startMs) / 1_000;
    const perSecond = seconds > 0 ? Math.round((this.#done - this.#doneBefore) / seconds) : 0;
    // A total may be an estimate: what is under way is never all of it.
    const percent =
      this.#total === undefined || this.#total === 0
        ? undefined
        : Math.min(100, Math.floor((100 * this.#done) / this.#total));
    if (terminal === undefined) {
      log.info("progress", { unit, done: this.#done, total: this.#total, percent, perSecond });
      return;
    }
    const share = percent === undefined ? `${this.#done}` : `${percent} %, ${this.#done} of ${this.#total}`;
    terminal(`${REWRITE}${unit}: ${share}, ${perSecond}/s`);
    this.#isLineOpen = true;
  }
}
