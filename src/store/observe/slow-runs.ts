/**
 * Detection of slow commands of a database, and their times.
 *
 * A reading of the clock costs about half of a GET in a pipeline, so not every
 * run is timed (command-counts.ts). The clock is read after the runs whose time
 * is unbounded, and the reading before them, mostly that at the beginning of the
 * unit of work, is taken as their start.
 *
 * (1) A run measured like this took at least the given time less a millisecond.
 *     It includes the quick runs before it, fewer than 64 of them (database.ts).
 * (2) A quick run is known to be slow only if it is timed anyway.
 * (3) With a threshold below `EXACT_BELOW_US` every run is timed.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { Reply } from "../reply/reply.ts";
import { LatencyEvents } from "./latency-events.ts";
import { SlowLog } from "./slow-log.ts";

/** CONFIG SET sets these. */
export interface SlowSettings {
  /** Runs of at least this time are logged; negative: none. */
  readonly slowerThanUs: number;
  readonly slowLogCountMax: number;
  /** Runs of at least this time are events of LATENCY; 0: none. */
  readonly latencyThresholdMs: number;
}

/** As in Redis. */
const defaultSettings: SlowSettings = { slowerThanUs: 10_000, slowLogCountMax: 128, latencyThresholdMs: 0 };

const EXACT_BELOW_US = 2_000;

/** With more words, or items in its reply, even a quick command may be slow. */
const QUICK_COUNT_MAX = 16;

/** The caller of a script's command, as Redis prints it. */
const SCRIPT_ADDRESS = "?:0";

/** What the log has of the caller of a command. */
export interface Runner {
  readonly address: string;
  readonly isScript?: boolean;
  readonly session?: { readonly name: Bytes } | undefined;
}

export class SlowRuns {
  readonly log = new SlowLog();
  readonly events = new LatencyEvents();
  #settings = defaultSettings;
  #thresholdMs = 0;
  #timesEveryRun = false;

  constructor() {
    this.settings = defaultSettings;
  }

  get settings(): SlowSettings {
    return this.#settings;
  }

  set settings(settings: SlowSettings) {
    const { slowerThanUs, slowLogCountMax, latencyThresholdMs } = settings;
    this.#settings = settings;
    this.#timesEveryRun = slowerThanUs >= 0 && slowerThanUs < EXACT_BELOW_US; // keeps (3)
    this.#thresholdMs = Math.min(
      slowerThanUs < 0 ? Number.POSITIVE_INFINITY : slowerThanUs / 1_000,
      latencyThresholdMs === 0 ? Number.POSITIVE_INFINITY : latencyThresholdMs,
    );
    this.log.shorten(slowLogCountMax);
  }

  /** Runs of at least this time must be recorded; infinite while nothing is recorded. */
  get thresholdMs(): number {
    return this.#thresholdMs;
  }

  get timesEveryRun(): boolean {
    return this.#timesEveryRun;
  }

  /** Whether to read the clock after a run that was not timed. These readings also end slices of pipelines. */
  mustLook(command: CommandFacts, words: readonly Bytes[], reply: Reply): boolean {
    if (!command.isQuick || words.length > QUICK_COUNT_MAX || itemCountOf(reply) > QUICK_COUNT_MAX) return true;
    return command.isLongWith?.(words) === true;
  }

  /** Records a run that took at least `thresholdMs`. */
  note(command: CommandFacts, run: { caller: Runner; words: readonly Bytes[]; atMs: number; tookMs: number }): void {
    if (!command.isForSlowLog) return;
    const { slowerThanUs, slowLogCountMax, latencyThresholdMs } = this.#settings;
    const { caller, atMs, tookMs } = run;
    const tookUs = Math.round(tookMs * 1_000);
    if (slowerThanUs >= 0 && tookUs >= slowerThanUs) {
      const words = command.shownWords?.(run.words) ?? run.words;
      const address = caller.isScript === true ? SCRIPT_ADDRESS : caller.address;
      this.log.add({ atMs, tookUs, words, address, clientName: caller.session?.name ?? "" }, slowLogCountMax);
    }
    if (latencyThresholdMs > 0 && tookMs >= latencyThresholdMs)
      this.events.add(command.flags.includes("fast") ? "fast-command" : "command", { atMs, tookMs });
  }

  /** Records the time of a sweep. */
  noteSweep(run: { readonly atMs: number; readonly tookMs: number }): void {
    const { latencyThresholdMs } = this.#settings;
    if (latencyThresholdMs > 0 && run.tookMs >= latencyThresholdMs) this.events.add("expire-cycle", run);
  }
}

/** The number of items of the outermost array. */
function itemCountOf(reply: Reply): number {
  if (Array.isArray(reply)) return reply.length;
  if (typeof reply !== "object" || reply === null || !("kind" in reply)) return 0;
  switch (reply.kind) {
    case "flat pairs":
    case "array in resp3":
      return reply.items.length;
    case "map":
    case "pairs":
      return reply.pairs.length;
    case "set":
      return reply.members.length;
    default:
      return 0;
  }
}
