/**
 * Counts the rounds of each suite over all long runs of a folder, and chooses
 * the next batch.
 */
import { type Budget, batchCountOf, budgets } from "../budget.ts";
import type { SuiteSettingName } from "../harness/cluster/suite-setting.ts";

/** One batch: test files that run together, and their suites. */
export interface Batch {
  readonly files: readonly string[];
  readonly suites: readonly Budget[];
  /** The server of the suites; absent: a single one. */
  readonly setting?: SuiteSettingName | undefined;
}

export interface SuiteTally {
  /** The count of all batches without a failure. */
  counted: number;
  batches: number;
  failures: number;
}

/** Keyed by the name of a suite. */
export type Tally = Map<string, SuiteTally>;

/**
 * The batches of some suites, or of all suites if `names` is empty. Suites with
 * the same files and the same server share a batch. Throws for an unknown name.
 */
export function batchesOf(names: readonly string[]): readonly Batch[] {
  const unknown = names.find((name) => !budgets.some(({ suite }) => suite === name));
  if (unknown !== undefined)
    throw new Error(`Unknown suite: ${unknown}. Suites: ${budgets.map(({ suite }) => suite).join(", ")}`);
  const byFiles = new Map<string, Budget[]>();
  for (const budget of budgets) {
    if (names.length > 0 && !names.includes(budget.suite)) continue;
    const key = [budget.setting, ...budget.files].join(" ");
    const suites = byFiles.get(key);
    if (suites === undefined) byFiles.set(key, [budget]);
    else suites.push(budget);
  }
  return [...byFiles.values()].map((suites) => ({
    files: suites[0]?.files ?? [],
    suites,
    setting: suites[0]?.setting,
  }));
}

/** Counts a batch that has ended. */
export function count(tally: Tally, { suites }: Batch, outcome: "passed" | "failed"): void {
  for (const budget of suites) {
    const row = tally.get(budget.suite) ?? { counted: 0, batches: 0, failures: 0 };
    row.batches += 1;
    if (outcome === "passed") row.counted += batchCountOf(budget);
    else row.failures += 1;
    tally.set(budget.suite, row);
  }
}

/** The batch whose suites have run the fewest batches; of equal ones, the first in the table. */
export function nextBatch(batches: readonly Batch[], tally: Tally): Batch {
  const roundsOf = ({ suites }: Batch): number =>
    Math.min(...suites.map(({ suite }) => tally.get(suite)?.batches ?? 0));
  const [first, ...rest] = batches;
  if (first === undefined) throw new Error("There is no batch to choose from");
  return rest.reduce((best, batch) => (roundsOf(batch) < roundsOf(best) ? batch : best), first);
}

export function printTally(tally: Tally): string {
  return `${JSON.stringify(Object.fromEntries(tally), null, 2)}\n`;
}

/** Throws if the text is not from `printTally`. */
export function parseTally(text: string): Tally {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error("The counts of long runs are not an object");
  return new Map(
    Object.entries(value).map(([suite, row]: [string, unknown]) => {
      const fields = new Map(typeof row === "object" && row !== null ? Object.entries(row) : []);
      const [counted, batches, failures] = ["counted", "batches", "failures"].map((name) => fields.get(name));
      if (typeof counted !== "number" || typeof batches !== "number" || typeof failures !== "number")
        throw new Error(`The counts of ${suite} are not numbers`);
      return [suite, { counted, batches, failures }];
    }),
  );
}

/** The counts of this run and of all runs, and the goals, as a Markdown table. */
export function describeTally(now: Tally, all: Tally): string {
  const rows = budgets
    .filter(({ suite }) => all.has(suite))
    .map(({ suite, unit, goal }) => {
      const ours = now.get(suite);
      const total = all.get(suite);
      const failures = total === undefined || total.failures === 0 ? "0" : `**${total.failures}**`;
      const cells = [suite, unit, format(ours?.counted ?? 0), format(total?.counted ?? 0), format(goal), failures];
      return `| ${cells.join(" | ")} |`;
    });
  return ["| suite | unit | this run | all runs | goal | failures |", "|---|---|---|---|---|---|", ...rows].join("\n");
}

function format(count: number | undefined): string {
  return count === undefined ? "" : count.toLocaleString("en-US");
}
