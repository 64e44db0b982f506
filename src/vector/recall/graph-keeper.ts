/**
 * Lets the builder check and repair the graphs of all namespaces, one portion
 * after the other, in its own thread. It takes at most IDLE_BUDGET of a core, none
 * while the recall is measured, and at most BUDGET_MISSED while checks show that
 * walks miss too many records.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { NamespaceGraph } from "../graph/graph.ts";
import { IDLE_BUDGET, IdleLoop, inTurn } from "./idle-loop.ts";

/** A share of a core, while too many records are missed. */
const BUDGET_MISSED = 0.2;
const MISSED_SHARE = 0.01;
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
  readonly #loop: IdleLoop;

  constructor(options: GraphKeeperOptions) {
    this.#options = options;
    this.#loop = new IdleLoop({ clock: options.clock, lookMs: LOOK_MS, tick: () => this.#tick() });
  }

  /** The processor time used so far, in milliseconds. */
  get usedMs(): number {
    return this.#loop.usedMs;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #tick(): void {
    const graph = this.#findNext();
    if (graph === undefined || (this.#options.isMeasuring() && graph.missedShare <= MISSED_SHARE)) {
      this.#loop.look();
      return;
    }
    this.#last = graph;
    void graph.maintain().then((ms) => {
      this.#loop.use(ms);
      this.#loop.rest(ms, graph.missedShare > MISSED_SHARE ? BUDGET_MISSED : IDLE_BUDGET);
    });
  }

  /** The next graph with something to do; first those with too many missed records. */
  #findNext(): NamespaceGraph | undefined {
    const all = [...this.#options.graphs()];
    // A closed graph is not kept.
    if (this.#last !== undefined && !all.includes(this.#last)) this.#last = undefined;
    const wanting = inTurn(all, (graph) => graph === this.#last).filter((graph) => graph.wantsMaintenance);
    return wanting.find((graph) => graph.missedShare > MISSED_SHARE) ?? wanting[0];
  }
}
