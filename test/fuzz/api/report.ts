/** The report of a run of the API fuzzer. */
import type { Finding, Tally } from "./fuzz-api.ts";

/** The number of findings that are shown. */
const SHOWN_COUNT = 20;

/** Operations that only refused the token, or that were never called. */
export function operationsNotHit({ statuses }: Tally): readonly string[] {
  return [...statuses].filter(([, counts]) => ![...counts.keys()].some(isOwn)).map(([name]) => name);
}

/** Operations that never succeeded. Those that are not available never do. */
export function operationsNeverDone({ statuses }: Tally): readonly string[] {
  return [...statuses]
    .filter(([, counts]) => ![...counts.keys()].some((status) => status < 400 || status === 501))
    .map(([name]) => name);
}

function isOwn(status: number): boolean {
  return status !== 401 && status !== 403;
}

export function* reportLines(tally: Tally, { withCounts }: { readonly withCounts: boolean }): Generator<string> {
  if (withCounts) {
    for (const [name, counts] of tally.statuses) {
      const parts = [...counts].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status} x ${count}`);
      yield `${name}: ${parts.join(", ")}`;
    }
  }
  const { size } = tally.statuses;
  const hit = size - operationsNotHit(tally).length;
  yield `${tally.requests} requests, ${hit} of ${size} operations answered, ${tally.findings.length} findings`;
  for (const name of operationsNeverDone(tally)) yield `never succeeded: ${name}`;
  for (const finding of tally.findings.slice(0, SHOWN_COUNT)) yield* findingLines(finding);
}

export function findingLines({ oracle, detail, operation, seed, request }: Finding): readonly string[] {
  return [
    `${oracle}: ${operation}: ${detail}`,
    `    ${request}`,
    `    again: npm run fuzz -- api --seed ${seed} --rounds 1`,
  ];
}
