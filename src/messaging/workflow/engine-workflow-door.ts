/** The door of one user's workflow runs: asks the engine, and waits for the disk where something changed. */
import type { Engine } from "../engine.ts";
import { badRequest } from "../failure.ts";
import type { PublishOptions } from "../publish-request.ts";
import type { User } from "../user.ts";
import { cancelFailureCall, repeatFailureCall, runAgain } from "./resuming.ts";
import type { Run } from "./run.ts";
import { allEntries } from "./run-bodies.ts";
import { startedRun } from "./starting.ts";
import type { Waiter } from "./waiter.ts";
import { checkEventId, type WaitRequest } from "./waits.ts";
import type { RunEntry, RunsFilter, StartedRun, WorkflowDoor } from "./workflow-door.ts";
import type { Notified } from "./workflows.ts";

export class EngineWorkflowDoor implements WorkflowDoor {
  readonly #engine: Engine;
  readonly #user: User;

  constructor(engine: Engine, user: User) {
    this.#engine = engine;
    this.#user = user;
  }

  find(id: string): Run | undefined {
    return this.#user.runs.get(id);
  }

  entries(id: string): Promise<readonly RunEntry[]> | undefined {
    const run = this.#user.runs.get(id);
    return run?.isStarted === true ? allEntries(this.#engine.realm.bodies, run.entries) : undefined;
  }

  async finish(id: string, result: Buffer): Promise<void> {
    this.#engine.assertWritable(this.#user);
    const run = this.#user.runs.get(id);
    if (run === undefined) return;
    this.#engine.workflows.finish(run, result);
    await this.#engine.finish();
  }

  async cancel(id: string): Promise<boolean> {
    this.#engine.assertWritable(this.#user);
    const run = this.#user.runs.get(id);
    if (run?.isStarted !== true) return false;
    this.#engine.workflows.cancel(run);
    await this.#engine.finish();
    return true;
  }

  async cancelMatching(filter: RunsFilter, countMax: number): Promise<number> {
    this.#engine.assertWritable(this.#user);
    const matches = runsMatcher(filter);
    const found: Run[] = [];
    for (const run of candidates(this.#user, filter)) {
      if (found.length >= countMax) break;
      if (run.isStarted && matches(run)) found.push(run);
    }
    for (const run of found) if (run.isStarted) this.#engine.workflows.cancel(run);
    await this.#engine.finish();
    return found.length;
  }

  async wait(request: WaitRequest): Promise<void> {
    this.#engine.assertWritable(this.#user);
    checkEventId(request.eventId);
    this.#engine.workflows.wait(this.#user, request);
    await this.#engine.finish();
  }

  async notifyAll(eventId: string, data: Buffer): Promise<readonly Notified[]> {
    this.#engine.assertWritable(this.#user);
    checkEventId(eventId);
    const notified = this.#engine.workflows.notifyAll(this.#user, eventId, data);
    await this.#engine.finish();
    return notified;
  }

  async notifyRun(runId: string, eventId: string, data: Buffer): Promise<Notified> {
    this.#engine.assertWritable(this.#user);
    checkEventId(eventId);
    const notified = this.#engine.workflows.notifyRun(startedRun(this.#user, runId), eventId, data);
    await this.#engine.finish();
    return notified;
  }

  waiters(eventId: string): readonly Waiter[] {
    checkEventId(eventId);
    return [...(this.#user.waiters.get(eventId) ?? [])];
  }

  list(
    filter: RunsFilter,
    { count, cursor }: { readonly count: number; readonly cursor?: string },
  ): { readonly runs: readonly Run[]; readonly cursor: string | undefined } {
    const matches = runsMatcher(filter);
    const all = [...candidates(this.#user, filter)].reverse();
    const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    if (cursor !== undefined && from === 0) throw badRequest(`Invalid value for cursor: ${cursor}`);
    const runs: Run[] = [];
    for (const run of all.slice(from)) {
      if (!matches(run)) continue;
      if (runs.length === count) return { runs, cursor: runs.at(-1)?.id };
      runs.push(run);
    }
    return { runs, cursor: undefined };
  }

  async again(
    how: "resume" | "restart",
    letterIds: readonly string[],
    overrides: Partial<PublishOptions>,
  ): Promise<readonly StartedRun[]> {
    this.#engine.assertWritable(this.#user);
    const started = await runAgain(this.#engine, this.#user, { how, letterIds, overrides });
    await this.#engine.finish();
    return started;
  }

  async repeatFailureCall(letterId: string): Promise<StartedRun> {
    this.#engine.assertWritable(this.#user);
    const run = await repeatFailureCall(this.#engine, this.#user, letterId);
    await this.#engine.finish();
    return run;
  }

  async cancelFailureCall(letterId: string): Promise<void> {
    this.#engine.assertWritable(this.#user);
    cancelFailureCall(this.#engine, this.#user, letterId);
    await this.#engine.finish();
  }
}

/** Oldest first. */
function* candidates(user: User, { ids }: RunsFilter): Generator<Run> {
  if (ids === undefined) {
    yield* user.runs.values();
    return;
  }
  for (const id of new Set(ids)) {
    const run = user.runs.get(id);
    if (run !== undefined) yield run;
  }
}

function runsMatcher(filter: RunsFilter): (run: Run) => boolean {
  const { urls, urlPrefixes, fromMs, toMs, createdAtMs, states, labels, flowControlKeys, callerIps } = filter;
  return ({ record, state }) =>
    (urls?.includes(record.url) ?? true) &&
    (urlPrefixes?.some((prefix) => record.url.startsWith(prefix)) ?? true) &&
    (fromMs === undefined || record.createdAtMs >= fromMs) &&
    (toMs === undefined || record.createdAtMs <= toMs) &&
    (createdAtMs?.includes(record.createdAtMs) ?? true) &&
    (states?.includes(state) ?? true) &&
    (labels?.some((label) => record.config.labels?.includes(label) === true) ?? true) &&
    (flowControlKeys?.includes(record.config.flowControl?.key ?? "") ?? true) &&
    (callerIps?.includes(record.callerIp) ?? true);
}
