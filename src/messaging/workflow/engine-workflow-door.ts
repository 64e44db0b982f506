/** The door of one user's workflow runs: asks the engine, and waits for the disk where something changed. */
import type { Engine } from "../engine.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import type { User } from "../state/user.ts";
import { cancelFailureCall, repeatFailureCall, runAgain } from "./resuming.ts";
import type { Run } from "./run.ts";
import { allEntries } from "./run-bodies.ts";
import { listRuns, type RunPage, startedRuns } from "./run-listing.ts";
import { startedRun } from "./starting.ts";
import type { Waiter } from "./waiter.ts";
import { checkEventId, type WaitRequest } from "./waits.ts";
import type { RunEntry, RunsFilter, StartedRun, WorkflowDoor } from "./workflow-door.ts";
import { type Notified, WAKES_MAX } from "./workflows.ts";

/** Runs that are cancelled in one turn: each takes its waiting messages along, and others wait meanwhile. */
const CANCELS_MAX = 100;

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

  entries(id: string, { isRedacted }: { isRedacted: boolean }): Promise<readonly RunEntry[]> | undefined {
    const run = this.#user.runs.get(id);
    return run?.isStarted === true ? allEntries(this.#engine.realm.bodies, run, { isRedacted }) : undefined;
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
    const found = startedRuns(this.#user, filter, countMax);
    let count = 0;
    for (let from = 0; from < found.length; from += CANCELS_MAX) {
      // Others may have changed everything while it was written.
      this.#engine.assertWritable(this.#user);
      for (const run of found.slice(from, from + CANCELS_MAX)) {
        if (!run.isStarted) continue;
        this.#engine.workflows.cancel(run);
        count += 1;
      }
      await this.#engine.finish();
    }
    // What is found no more may have ended by a frame that is not on the disk yet.
    await this.#engine.finish();
    return count;
  }

  async wait(request: WaitRequest): Promise<void> {
    this.#engine.assertMayGrow(this.#user);
    checkEventId(request.eventId);
    this.#engine.workflows.wait(this.#user, request);
    await this.#engine.finish();
  }

  async notifyAll(eventId: string, data: Buffer): Promise<readonly Notified[]> {
    this.#engine.assertMayGrow(this.#user);
    const waiting = this.waiters(eventId);
    const notified: Notified[] = [];
    for (let from = 0; from < waiting.length; from += WAKES_MAX) {
      // Others may have changed everything while it was written.
      this.#engine.assertWritable(this.#user);
      const some = waiting.slice(from, from + WAKES_MAX);
      notified.push(...this.#engine.workflows.notifyEach(this.#user, some, data));
      await this.#engine.finish();
    }
    // Whoever waited may just have been told, by a frame that is not on the disk yet.
    await this.#engine.finish();
    return notified;
  }

  async notifyRun(runId: string, eventId: string, data: Buffer): Promise<Notified> {
    this.#engine.assertMayGrow(this.#user);
    checkEventId(eventId);
    const notified = this.#engine.workflows.notifyRun(startedRun(this.#user, runId), eventId, data);
    await this.#engine.finish();
    return notified;
  }

  waiters(eventId: string): readonly Waiter[] {
    checkEventId(eventId);
    return [...(this.#user.waiters.get(eventId) ?? [])];
  }

  list(filter: RunsFilter, page: { readonly count: number; readonly cursor?: string }): RunPage {
    return listRuns(this.#user, filter, page);
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
