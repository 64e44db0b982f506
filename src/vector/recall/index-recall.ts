/** What was measured of the recall of an index: for each class of queries, the namespace that is furthest from the target. */
import type { Namespace } from "../index/namespace.ts";
import type { RecallReport } from "./namespace-recall.ts";

export interface NamespaceReport extends RecallReport {
  readonly namespace: string;
}

export interface IndexRecall {
  readonly target: number;
  /** One for each class that was measured, in the order of the classes. */
  readonly measured: readonly NamespaceReport[];
}

/** The worst report of each class; undefined if no namespace has a graph: then every search is exact. */
export function worstReports(namespaces: Iterable<Namespace>): readonly NamespaceReport[] | undefined {
  const worst = new Map<number, NamespaceReport>();
  let hasGraph = false;
  for (const { name, graph, recall } of namespaces) {
    if (graph === undefined || recall === undefined) continue;
    hasGraph = true;
    for (const report of recall.reports) {
      const known = worst.get(report.number);
      if (known === undefined || isWorse(report, known)) worst.set(report.number, { namespace: name, ...report });
    }
  }
  if (!hasGraph) return undefined;
  return [...worst.values()].sort((one, other) => one.number - other.number);
}

function isWorse(one: RecallReport, other: RecallReport): boolean {
  if (one.isReached !== other.isReached) return !one.isReached;
  return one.recall < other.recall;
}
