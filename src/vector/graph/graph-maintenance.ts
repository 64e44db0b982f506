/**
 * Keeps a graph whole in the thread that writes it: checks whether walks find its
 * nodes, and removes the nodes of removed or changed records. The rules are in
 * `assembly/graph-repair.ts`; this decides when, and in which portions.
 *
 * Some of it follows each row that is inserted, so that a graph stays good while
 * it changes fast. The rest is done when its owner asks for it in idle time.
 */
import { CHECK_LOST, CHECK_REPAIRED, CHECK_SKIPPED, type GraphKernel, NO_NODE } from "./graph-kernel.ts";

/** The candidates of a walk that must find a node: as many as the lowest effort of searches has (`recall/effort.ts`). */
const CHECK_EFFORT = 80;
/** Checks for each inserted row: about 2 % of its time, and a quarter while walks miss more than MISSED_SHARE. */
const CHECKS_PER_ROW = 1 / 32;
const CHECKS_PER_ROW_MAX = 1 / 2;
const MISSED_SHARE = 0.01;
/** A graph of fewer nodes is not checked while it grows. */
const CHECKED_NODES_MIN = 1_024;
/** The share counts about this many of the last checks. */
const WINDOW = 256;
/** Fewer missed ones may be chance. */
const MISSED_MIN = 4;
/** Retired nodes are removed when there are this many, and this share: each pass changes most lists. bench/graph.bench.ts */
export const RETIRED_MIN = 512;
export const RETIRED_SHARE = 0.1;
/** Nodes of the pass for each inserted row. */
const SWEPT_PER_ROW = 8;
/** The golden ratio: multiples of this share of the nodes are spread evenly over them. */
const STRIDE = 0.618_033_988_749_895;

export interface MaintenanceWork {
  /** Nodes whose records were removed or changed. */
  readonly retired: Uint32Array<ArrayBuffer>;
  /** Checks to do now. */
  readonly checkCount: number;
  /** Nodes of the pass to do now, if one is needed. */
  readonly sweepCount: number;
}

/** What was done since the last report. */
export interface MaintenanceReport {
  readonly checkedCount: number;
  /** Nodes that a walk did not find. */
  readonly missedCount: number;
  /** Those of them that could not be linked again. */
  readonly lost: readonly number[];
  /** Nodes that became free, and free ones that were used again. */
  readonly freedCount: number;
  readonly placedCount: number;
  /** Processor time of work that was asked for, in milliseconds. */
  readonly workMs: number;
}

/** The checks of the last while, and how many found nothing. */
export class CheckTally {
  #checked = 0;
  #missed = 0;

  add(checkedCount: number, missedCount: number): void {
    this.#checked += checkedCount;
    this.#missed += missedCount;
    for (; this.#checked > 2 * WINDOW; this.#checked /= 2) this.#missed /= 2;
  }

  /** The share that was missed; 0 if there were too few to tell. */
  get share(): number {
    return this.#missed < MISSED_MIN ? 0 : this.#missed / this.#checked;
  }
}

export class GraphMaintenance {
  readonly #kernel: GraphKernel;
  readonly #tally = new CheckTally();
  #retired: number[] = [];
  /** The nodes that the current pass removes. */
  #leaving: number[] = [];
  #sweptTo = 0;
  /** Free nodes by level. */
  readonly #free: number[][] = [];
  /** The round of checks: the node, the step to the next one, how many are left. */
  #node = 0;
  #step = 1;
  #roundLeft = 0;
  #roundCount = 0;
  #owedChecks = 0;
  #checkedCount = 0;
  #missedCount = 0;
  #lost: number[] = [];
  #freedCount = 0;
  #placedCount = 0;

  constructor(kernel: GraphKernel) {
    this.#kernel = kernel;
  }

  retire(nodes: Uint32Array): void {
    for (const node of nodes) this.#retired.push(node);
    // One that searches begin at is retired when there is another one.
    for (const node of nodes) this.#kernel.code.retire(node);
  }

  /** A free place for a new node of a level; NO_NODE without one. */
  takePlace(level: number): number {
    const place = this.#free[level]?.pop();
    if (place === undefined) return NO_NODE;
    this.#placedCount += 1;
    return place;
  }

  /** Does the share of this many inserted rows. */
  followRows(count: number): void {
    this.#sweep(count * SWEPT_PER_ROW);
    if (this.#kernel.nodeCount < CHECKED_NODES_MIN) return;
    this.#owedChecks += count * (this.#tally.share > MISSED_SHARE ? CHECKS_PER_ROW_MAX : CHECKS_PER_ROW);
    const whole = Math.floor(this.#owedChecks);
    this.#owedChecks -= whole;
    this.#check(whole);
  }

  run({ retired, checkCount, sweepCount }: MaintenanceWork): void {
    this.retire(retired);
    this.#sweep(sweepCount);
    this.#check(checkCount);
  }

  takeReport(workMs: number): MaintenanceReport {
    const report = {
      checkedCount: this.#checkedCount,
      missedCount: this.#missedCount,
      lost: this.#lost,
      freedCount: this.#freedCount,
      placedCount: this.#placedCount,
      workMs,
    };
    this.#checkedCount = 0;
    this.#missedCount = 0;
    this.#lost = [];
    this.#freedCount = 0;
    this.#placedCount = 0;
    return report;
  }

  #check(count: number): void {
    const { code } = this.#kernel;
    for (let i = 0; i < count; i += 1) {
      const node = this.#nextNode();
      const found = node === undefined ? CHECK_SKIPPED : code.check(node, CHECK_EFFORT);
      if (found === CHECK_SKIPPED || node === undefined) continue;
      const isMissed = found === CHECK_REPAIRED || found === CHECK_LOST;
      this.#checkedCount += 1;
      if (isMissed) this.#missedCount += 1;
      if (found === CHECK_LOST) this.#lost.push(node);
      this.#tally.add(1, isMissed ? 1 : 0);
    }
  }

  /** Each node once in a round, in an order in which any part of the round is a sample of all of them. */
  #nextNode(): number | undefined {
    if (this.#roundLeft === 0) this.#beginRound();
    if (this.#roundCount === 0) return undefined;
    this.#roundLeft -= 1;
    this.#node = (this.#node + this.#step) % this.#roundCount;
    return this.#node;
  }

  #beginRound(): void {
    const count = this.#kernel.nodeCount;
    this.#roundCount = count;
    this.#roundLeft = count;
    this.#step = Math.max(1, Math.round(count * STRIDE));
    while (divisorOf(this.#step, count) > 1) this.#step += 1;
    this.#node %= Math.max(1, count);
  }

  /** Continues the pass that removes nodes, or begins one if it is needed. */
  #sweep(count: number): void {
    const { code, nodeCount } = this.#kernel;
    if (this.#leaving.length === 0 && !this.#beginPass(nodeCount)) return;
    const end = Math.min(nodeCount, this.#sweptTo + count);
    code.sweep(this.#sweptTo, end);
    this.#sweptTo = end;
    if (end === nodeCount) this.#endPass();
  }

  #beginPass(nodeCount: number): boolean {
    if (this.#retired.length < Math.max(RETIRED_MIN, nodeCount * RETIRED_SHARE)) return false;
    const { code } = this.#kernel;
    const retired = this.#retired;
    this.#retired = [];
    for (const node of retired) {
      if (code.retire(node) === 0) this.#retired.push(node);
      else {
        code.leave(node);
        this.#leaving.push(node);
      }
    }
    this.#sweptTo = 0;
    return this.#leaving.length > 0;
  }

  #endPass(): void {
    const { code } = this.#kernel;
    for (const node of this.#leaving) code.unlink(node, CHECK_EFFORT);
    for (const node of this.#leaving) {
      if (code.free(node) === 0) {
        this.#retired.push(node);
        continue;
      }
      const level = code.levelOf(node);
      this.#free[level] ??= [];
      this.#free[level]?.push(node);
      this.#freedCount += 1;
    }
    this.#leaving = [];
  }
}

/** The greatest common divisor. */
function divisorOf(one: number, other: number): number {
  return other === 0 ? one : divisorOf(other, one % other);
}
