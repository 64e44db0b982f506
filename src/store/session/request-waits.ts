/**
 * Requests that must wait before they run: those that are expected to take long,
 * for their turn (kernel/turns.ts), and those that need an index which is not
 * built yet, or a database that runs a command in slices (sliced-runs.ts). A
 * request that waits asks again in each of its turns.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { NextOptions, Tenant } from "../../kernel/turns.ts";
import type { CommandFacts, CommandRequest } from "../command-facts.ts";
import type { SearchUpkeep } from "../search/upkeep/search-upkeep.ts";
import type { SlicedRuns } from "./sliced-runs.ts";

/** Runs before all other waiting work of its tenant, because it came first. */
const HEAVY_AND_FIRST: NextOptions = { isHeavy: true, isFirst: true };
const AS_IT_COMES: NextOptions = {};

/** The database, as far as its waiting requests need it. */
export interface WaitHost {
  readonly turn: Tenant;
  readonly search: SearchUpkeep;
  readonly sliced: Pick<SlicedRuns, "isUnderWay">;
  readonly context: { readonly clock: Clock };
}

/** The table of commands, as far as waiting requests need it. */
export interface WaitTable {
  readonly findCommand: (name: Bytes) => CommandFacts | undefined;
  /** The number of the command of a request. */
  readonly numberOf: (request: CommandRequest) => number;
}

export class RequestWaits {
  readonly #host: WaitHost;
  readonly #table: WaitTable;

  constructor(host: WaitHost, table: WaitTable) {
    this.#host = host;
    this.#table = table;
  }

  /** False if no request must wait: each one asks this first. */
  get areLikely(): boolean {
    return this.#host.turn.hasHeavy || this.#host.sliced.isUnderWay || this.#host.search.isScanning;
  }

  /** How a request waits that must. */
  next(): Promise<void> {
    return this.#host.turn.next(this.#host.sliced.isUnderWay ? AS_IT_COMES : HEAVY_AND_FIRST);
  }

  /**
   * Whether a request must wait, by `next`: with `isHeavy`, for its turn. One that needs an index which is not built yet builds a
   * slice of it, so the index is built at the pace of the turns of its database.
   */
  mustWait(request: CommandRequest): boolean {
    if (this.#host.sliced.isUnderWay) return true;
    return this.#host.turn.mustWaitFor(this.#table.numberOf(request)) || this.#mustWaitForIndex(request);
  }

  /** Whether the command is expected to take long. */
  isHeavy(request: CommandRequest): boolean {
    return this.#host.turn.hasHeavy && this.#host.turn.isHeavy(this.#table.numberOf(request));
  }

  /** Runs a task that executes a request: now if the database may have the thread, else when its turn comes. */
  runInTurn(request: CommandRequest, task: () => void): void {
    const { turn, context } = this.#host;
    const isHeavy = this.isHeavy(request);
    if (isHeavy || !turn.mayRun) {
      turn.queue(task, { isHeavy });
      return;
    }
    const clock = context.clock.real;
    const startMs = clock.monotonicMs();
    task();
    turn.charge(clock.monotonicMs() - startMs);
  }

  #mustWaitForIndex([name = "", index]: CommandRequest): boolean {
    const { search } = this.#host;
    if (index === undefined || !search.isScanning) return false;
    const waitsFor = this.#table.findCommand(name)?.waitsForIndex;
    const live = waitsFor === undefined ? undefined : search.find(index)?.live;
    if (live === undefined) return false;
    if (waitsFor === "scanned" ? live.isScanning : live.isRebuilding) live.runSlice();
    return waitsFor === "scanned" ? live.isScanning : live.isRebuilding;
  }
}
