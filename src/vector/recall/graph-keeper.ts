/**
 * Lets the builder check and repair the graphs of all namespaces, one portion
 * after the other, in its own thread. It takes at most BUDGET of a core, none
 * while the recall is measured, and at most BUDGET_MISSED while checks show that
 * walks miss too many records.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { NamespaceGraph } from "../graph/graph.ts";

/** Shares of a core. The first one is that of the recall keeper too. */
const BUDGET = 0.02;
const BUDGET_MISSED = 0.2;
const MISSED_SHARE = 0.01;
/** The shortest pause after a portion. */
const PAUSE_MS_MIN = 20;
/** How often graphs are looked through when there is nothing to do. */
const LOOK_MS = 1_000;

export interface GraphKeeperOptions {
  readonly clock: Pick<Clock, "after">;
  graphs(): Iterable<NamespaceGraph>;
  /** True while the recall of a namespace is measured. */
  isMeasuring(): boolean;
}

export class GraphKeeper {
  readonly #options: GraphKeeperOptions;
  /** The graph that had a portion last: the others go first. */
  #last: NamespaceGraph | undefined;
  #cancel: (() => void) | undefined;
  #isRunning = false;
  #usedMs = 0;

  constructor(options: GraphKeeperOptions) {
    this.#options = options;
  }

  /** The processor time used so far, in milliseconds. */
  get usedMs(): number {
    return this.#usedMs;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#later(LOOK_MS);
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancel?.();
  }

  #later(delayMs: number): void {
    if (this.#isRunning) this.#cancel = this.#options.clock.after(delayMs, () => this.#tick());
  }

  #tick(): void {
    const graph = this.#findNext();
    if (graph === undefined || (this.#options.isMeasuring() && graph.missedShare <= MISSED_SHARE)) {
      this.#later(LOOK_MS);
      return;
    }
    this.#last = graph;
    void graph.maintain().then((ms) => {
      this.#usedMs += ms;
      const budget = graph.missedShare > MISSED_SHARE ? BUDGET_MISSED : BUDGET;
      this.#later(Math.max(PAUSE_MS_MIN, ms * (1 / budget - 1)));
    });
  }

  /** The next graph with something to do; first those with too many missed records. */
  #findNext(): NamespaceGraph | undefined {
    const all = [...this.#options.graphs()];
    const start = this.#last === undefined ? 0 : all.indexOf(this.#last) + 1;
    // A closed graph is not kept.
    if (start === 0) this.#last = undefined;
    const wanting = [...all.slice(start), ...all.slice(0, start)].filter((graph) => graph.wantsMaintenance);
    return wanting.find((graph) => graph.missedShare > MISSED_SHARE) ?? wanting[0];
  }
}
