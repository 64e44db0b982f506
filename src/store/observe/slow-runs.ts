/**
 * Which runs of commands a database remembers as slow, and how it comes to know
 * how long they took.
 *
 * To look at the clock costs about half of what a GET of a pipeline does, so not
 * every run is timed (command-counts.ts). The clock is looked at behind those
 * whose time nothing bounds, and the look before them, mostly that of the
 * beginning of the unit of work, says when they began.
 *
 * (1) A run that is looked at took at least as long as is said, less a
 *     millisecond, and what the quick runs in front of it took counts with it:
 *     there are less than 64 of them (database.ts).
 * (2) A quick run is known to be slow only when it is timed anyway.
 * (3) Where runs below `EXACT_BELOW_US` are asked for, every run is timed.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { Reply } from "../reply/reply.ts";
import { LatencyEvents } from "./latency-events.ts";
import { SlowLog } from "./slow-log.ts";

/** CONFIG SET sets these. */
export interface SlowSettings {
  /** A run that takes at least so long is in the log; negative: none is. */
  readonly slowerThanUs: number;
  readonly slowLogCountMax: number;
  /** What takes at least so long is an event for LATENCY; 0: nothing is. */
  readonly latencyThresholdMs: number;
}

/** As in Redis. */
const defaultSettings: SlowSettings = { slowerThanUs: 10_000, slowLogCountMax: 128, latencyThresholdMs: 0 };

const EXACT_BELOW_US = 2_000;

/** More words, or items in an answer, and even a command that is quick may have taken its time. */
const QUICK_COUNT_MAX = 16;

/** As Redis prints who calls a command from a script. */
const SCRIPT_ADDRESS = "?:0";

/** What the log says of the caller that ran a command. */
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

  /** A run that takes at least so long is to be noted; infinite while nobody wants to know. */
  get thresholdMs(): number {
    return this.#thresholdMs;
  }

  get timesEveryRun(): boolean {
    return this.#timesEveryRun;
  }

  /** Whether the clock is to be looked at behind a run that was not timed. Slices of pipelines end by these looks too. */
  mustLook(command: CommandFacts, words: readonly Bytes[], reply: Reply): boolean {
    if (!command.isQuick || words.length > QUICK_COUNT_MAX || itemCountOf(reply) > QUICK_COUNT_MAX) return true;
    return command.isLongWith?.(words) === true;
  }

  /** A run that took at least as long as `thresholdMs`. */
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

  /** How long a sweep took. */
  noteSweep(run: { readonly atMs: number; readonly tookMs: number }): void {
    const { latencyThresholdMs } = this.#settings;
    if (latencyThresholdMs > 0 && run.tookMs >= latencyThresholdMs) this.events.add("expire-cycle", run);
  }
}

/** Of the outermost array. */
function itemCountOf(reply: Reply): number {
  if (Array.isArray(reply)) return reply.length;
  if (typeof reply !== "object" || reply === null || !("kind" in reply)) return 0;
  switch (reply.kind) {
    case "flat pairs":
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
