/**
 * The progress of a long start: one line for all areas at a terminal, log lines
 * elsewhere.
 *
 *     store: replaying 43 %, 210 MB/s; vector: loading 7 %, 480 MB/s
 *
 * Short starts report nothing. There is no timer: the replay reports its position
 * a few times a second, and only then is the clock read.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { LOG_PAUSE_MS, printMegabytes, SHORT_MS, TERMINAL_PAUSE_MS } from "../cli/progress.ts";
import { rewrite, type Terminal, WIPE } from "../cli/terminal-line.ts";
import type { AreaName, ReplayProgress } from "./area.ts";

export interface ReplayReportOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined: reports go to the log. */
  readonly terminal: Terminal | undefined;
}

const STEP_WORDS: Readonly<Record<ReplayProgress["step"], string>> = { snapshot: "loading", replay: "replaying" };

interface AreaReplay {
  progress: ReplayProgress;
  /** When the step began, and how much was done by then. */
  startMs: number;
  startBytes: number;
  atMs: number;
  loggedMs: number;
}

export class ReplayReport {
  readonly #options: ReplayReportOptions;
  readonly #startMs: number;
  readonly #replays = new Map<AreaName, AreaReplay>();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #isLineOpen = false;
  #isOver = false;

  /** The start begins now. */
  constructor(options: ReplayReportOptions) {
    this.#options = options;
    this.#startMs = options.clock.monotonicMs();
  }

  /** Sets the progress of an area; undefined: it is done. */
  report(area: AreaName, progress: ReplayProgress | undefined): void {
    if (progress === undefined) {
      this.#replays.delete(area);
      if (this.#replays.size === 0) this.#wipe();
      return;
    }
    if (this.#isOver) return;
    const nowMs = this.#options.clock.monotonicMs();
    const replay = this.#follow(area, progress, nowMs);
    if (nowMs - this.#startMs < SHORT_MS) return;
    if (this.#options.terminal === undefined) this.#logReplay(area, replay, nowMs);
    else this.#draw(this.#options.terminal, nowMs);
  }

  /** The start has ended or was abandoned: areas that still replay report nothing more. */
  end(): void {
    this.#isOver = true;
    this.#replays.clear();
    this.#wipe();
  }

  #follow(area: AreaName, progress: ReplayProgress, nowMs: number): AreaReplay {
    const known = this.#replays.get(area);
    if (known !== undefined && known.progress.step === progress.step) {
      known.progress = progress;
      known.atMs = nowMs;
      return known;
    }
    const replay = {
      progress,
      // A step begins where the previous step last reported.
      startMs: known?.atMs ?? this.#startMs,
      startBytes: known?.progress.doneBytes ?? 0,
      atMs: nowMs,
      loggedMs: known?.loggedMs ?? Number.NEGATIVE_INFINITY,
    };
    this.#replays.set(area, replay);
    return replay;
  }

  #logReplay(area: AreaName, replay: AreaReplay, nowMs: number): void {
    if (nowMs - replay.loggedMs < LOG_PAUSE_MS) return;
    replay.loggedMs = nowMs;
    const { step, doneBytes, totalBytes } = replay.progress;
    const facts = { percent: percentOf(replay.progress), doneBytes, totalBytes, bytesPerSecond: speedOf(replay) };
    this.#options.log.info("recovering", { area, step, ...facts });
  }

  #draw(terminal: Terminal, nowMs: number): void {
    if (nowMs - this.#drawnMs < TERMINAL_PAUSE_MS) return;
    this.#drawnMs = nowMs;
    const parts = Array.from(this.#replays, ([area, replay]) => {
      const { progress } = replay;
      return `${area}: ${STEP_WORDS[progress.step]} ${percentOf(progress)} %, ${printMegabytes(speedOf(replay))}/s`;
    });
    terminal(rewrite(parts.join("; ")));
    this.#isLineOpen = true;
  }

  #wipe(): void {
    if (this.#isLineOpen) this.#options.terminal?.(WIPE);
    this.#isLineOpen = false;
  }
}

/** Rounded down, so that 100 means complete. */
export function percentOf({ doneBytes, totalBytes }: ReplayProgress): number {
  return totalBytes === 0 ? 100 : Math.floor((100 * doneBytes) / totalBytes);
}

/** In bytes per second, since its step began. */
function speedOf({ progress, startMs, startBytes, atMs }: AreaReplay): number {
  return atMs === startMs ? 0 : Math.round((1_000 * (progress.doneBytes - startBytes)) / (atMs - startMs));
}
