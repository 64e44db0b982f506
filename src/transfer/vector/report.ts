/** The counts and the final report of an import or export of an index. */

import type { Progress } from "../../program/cli/progress.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { FIRST_PAGE, type IndexClient } from "./index-client.ts";
import { parseRecord, Tally, type TallyState } from "./tally.ts";

export interface TransferReport {
  readonly total: Tally;
  /** Of this run: records of an interrupted run are only in the total. */
  readonly namespaces: { readonly name: string; readonly count: number }[];
  namespaceCount: number;
  /** One sentence for each mismatch. */
  readonly mismatches: string[];
}

/** How many namespaces the report lists; the total includes the others. */
const LISTED_MAX = 100;

export function reportLines({ total, namespaces, namespaceCount }: TransferReport, done: string): readonly string[] {
  const { count, digest } = total.state;
  const listed = namespaces.slice(0, LISTED_MAX);
  const lines = listed.map((each) => `namespace ${JSON.stringify(each.name)}: ${counted(each.count, "record")}`);
  const more = namespaces.length - listed.length;
  if (more > 0) lines.push(`and ${counted(more, "namespace")} more`);
  return [
    ...lines,
    `${done}: ${counted(count, "record")} in ${counted(namespaceCount, "namespace")}, digest ${digest}`,
  ];
}

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Adds records of a page to a tally. Throws a `StartRefusal` that names an invalid record. */
export function addTexts(tally: Tally, namespace: string, texts: readonly string[]): void {
  for (const text of texts) {
    try {
      tally.add(namespace, parseRecord(text));
    } catch (fault) {
      if (!(fault instanceof SyntaxError)) throw fault;
      throw new StartRefusal(`A record of the namespace ${JSON.stringify(namespace)} cannot be read: ${fault.message}`);
    }
  }
}

/** Reads a whole namespace for its sum. */
export async function readTally(index: IndexClient, namespace: string, progress: Progress): Promise<TallyState> {
  const tally = new Tally();
  let cursor: string | undefined = FIRST_PAGE;
  while (cursor !== undefined) {
    const page = await index.range(namespace, cursor);
    addTexts(tally, namespace, page.records);
    progress.add(page.records.length);
    cursor = page.next;
  }
  return tally.state;
}
