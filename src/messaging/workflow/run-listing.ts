/**
 * Pages of runs that match a filter. A page visits runs in the order of their
 * start, from the end of the previous page: runs outside its time range are not
 * visited, and nothing is copied.
 */

import type { RunPage, RunsFilter } from "../api.ts";
import { badRequest } from "../failure.ts";
import type { Run } from "../state/run.ts";
import { isBefore, type RunPlace } from "../state/run-order.ts";
import type { User } from "../state/user.ts";

/** A page ends, with a cursor, after visiting this many runs: some milliseconds. */
const VISITS_MAX = 50_000;

/** Latest first. Throws "bad request" for an invalid cursor. */
export function listRuns(
  user: User,
  filter: RunsFilter,
  { count, cursor }: { readonly count: number; readonly cursor?: string },
): RunPage {
  const matches = runsMatcher(filter);
  const runs: Run[] = [];
  let visits = 0;
  let last: Run | undefined;
  for (const run of latestFirst(user, filter, cursor)) {
    // One more than the page holds shows whether another page follows.
    if (visits === VISITS_MAX) return { runs, cursor: last && cursorOf(last) };
    visits += 1;
    const isMatch = matches(run);
    if (isMatch && runs.length === count) return { runs, cursor: cursorOf(runs.at(-1) ?? run) };
    if (isMatch) runs.push(run);
    last = run;
  }
  return { runs, cursor: undefined };
}

/** Matching runs that have not ended, earliest first, at most `countMax`. */
export function startedRuns(user: User, filter: RunsFilter, countMax: number): readonly Run[] {
  const matches = runsMatcher(filter);
  const found: Run[] = [];
  for (const run of earliestFirst(user, filter)) {
    if (found.length >= countMax) break;
    if (run.isStarted && matches(run)) found.push(run);
  }
  return found;
}

function* latestFirst(user: User, filter: RunsFilter, cursor: string | undefined): Generator<Run> {
  const { ids, fromMs = 0, toMs = Number.POSITIVE_INFINITY } = filter;
  const isAfterCursor = cursor === undefined ? undefined : placeOf(user, cursor);
  const end: RunPlace = { record: { createdAtMs: toMs }, number: Number.POSITIVE_INFINITY };
  const before = isAfterCursor === undefined || isBefore(end, isAfterCursor) ? end : isAfterCursor;
  if (ids !== undefined) {
    const named = namedRuns(user, ids).filter((run) => isBefore(run, before));
    yield* named.sort((one, other) => (isBefore(one, other) ? 1 : -1));
    return;
  }
  for (const run of user.runOrder.latestFirst(before)) {
    if (run.record.createdAtMs < fromMs) return;
    yield run;
  }
}

function* earliestFirst(user: User, { ids, fromMs, toMs = Number.POSITIVE_INFINITY }: RunsFilter): Generator<Run> {
  if (ids !== undefined) {
    yield* namedRuns(user, ids).sort((one, other) => (isBefore(one, other) ? -1 : 1));
    return;
  }
  for (const run of user.runOrder.earliestFirst(fromMs)) {
    if (run.record.createdAtMs > toMs) return;
    yield run;
  }
}

function namedRuns(user: User, ids: readonly string[]): Run[] {
  return [...new Set(ids)].flatMap((id) => user.runs.get(id) ?? []);
}

/** Start time and id of the last run of the page: the run may be forgotten before the cursor is used. */
function cursorOf({ id, record }: Run): string {
  return `${record.createdAtMs}-${id}`;
}

const CURSOR_PATTERN = /^(\d{1,15})(?:-(.+))?$/s;

/** A number alone is a time, as for the log of messages: runs that started then or before. */
function placeOf(user: User, cursor: string): RunPlace {
  const [, ms, id] = CURSOR_PATTERN.exec(cursor) ?? [];
  if (ms === undefined) throw badRequest(`Invalid value for cursor: ${JSON.stringify(cursor.slice(0, CURSOR_SHOWN))}`);
  const run = id === undefined ? undefined : user.runs.get(id);
  return run ?? { record: { createdAtMs: Number(ms) }, number: Number.POSITIVE_INFINITY };
}

const CURSOR_SHOWN = 100;

/** The URL of a run is what its client said, which need not be one: such a run has no host and no path. */
function runsMatcher(filter: RunsFilter): (run: Run) => boolean {
  const { urlPrefixes, fromMs, toMs } = filter;
  const urls = setOf(filter.urls);
  const hosts = setOf(filter.hosts);
  const paths = setOf(filter.paths);
  const createdAtMs = setOf(filter.createdAtMs);
  const states = setOf(filter.states);
  const labels = setOf(filter.labels);
  const flowControlKeys = setOf(filter.flowControlKeys);
  const callerIps = setOf(filter.callerIps);
  return ({ record, state }) =>
    (states?.has(state) ?? true) &&
    (urls?.has(record.url) ?? true) &&
    (urlPrefixes?.some((prefix) => record.url.startsWith(prefix)) ?? true) &&
    (hosts?.has(URL.parse(record.url)?.host ?? "") ?? true) &&
    (paths?.has(URL.parse(record.url)?.pathname ?? "") ?? true) &&
    (fromMs === undefined || record.createdAtMs >= fromMs) &&
    (toMs === undefined || record.createdAtMs <= toMs) &&
    (createdAtMs?.has(record.createdAtMs) ?? true) &&
    (labels === undefined || record.config.labels?.some((label) => labels.has(label)) === true) &&
    (flowControlKeys?.has(record.config.flowControl?.key ?? "") ?? true) &&
    (callerIps?.has(record.callerIp) ?? true);
}

function setOf<T>(values: readonly T[] | undefined): ReadonlySet<T> | undefined {
  return values && new Set(values);
}
