/**
 * A reporter for node:test: how long each test file took, the slowest first.
 * For `npm run proof` it also says how much of its ceiling the run used, so
 * that whoever adds to the proof sees what is left (`test/budget.ts`).
 */
import { relative } from "node:path";
import { PROOF_MINUTES_MAX, proofCeilings } from "../test/budget.ts";

const SHOWN_MAX = 25;

interface ReportedEvent {
  readonly type: string;
  readonly data: { readonly file?: string; readonly duration_ms?: number };
}

export default async function* fileTimes(source: AsyncIterable<ReportedEvent>): AsyncGenerator<string> {
  const files: { readonly path: string; readonly ms: number }[] = [];
  let allMs = 0;
  for await (const { type, data } of source) {
    if (type !== "test:summary") continue;
    if (data.file === undefined) allMs = data.duration_ms ?? 0;
    else files.push({ path: relative(process.cwd(), data.file), ms: data.duration_ms ?? 0 });
  }
  files.sort((a, b) => b.ms - a.ms);
  yield "seconds by file:\n";
  for (const { path, ms } of files.slice(0, SHOWN_MAX)) yield `  ${(ms / 1_000).toFixed(1).padStart(7)}  ${path}\n`;
  if (process.env["LARDER_TEST_SIZE"] !== "proof") return;
  const minutes = (allMs / 60_000).toFixed(1);
  const ceiling = proofCeilings.reduce((sum, { isThere, minutesMax }) => sum + (isThere ? minutesMax : 0), 0);
  yield `the proof took ${minutes} minutes: its suites have ${ceiling}, with all that is planned ${PROOF_MINUTES_MAX}\n`;
}
