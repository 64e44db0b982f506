/** The workflow runs of one user: calls the engine, and waits for the disk after changes. */

import type { Notified, RunEntry, RunPage, RunsFilter, StartedRun, WaitRequest, WorkflowApi } from "../api.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Run, Waiter } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { cancelFailureCall, type Resuming, repeatFailureCall, runAgain } from "./resuming.ts";
import { allEntries } from "./run-bodies.ts";
import { listRuns, startedRuns } from "./run-listing.ts";
import { startedRun } from "./starting.ts";
import { checkEventId, notifyEach, notifyRun } from "./waits.ts";
import { WAKES_MAX, type Workflows } from "./workflows.ts";

/** Runs that are cancelled in one turn: each with its waiting messages, and other requests wait meanwhile. */
const CANCELS_MAX = 100;

/** The part of the engine that the workflow runs of a user need. */
export interface WorkflowsHost {
  readonly state: MessagingState;
  readonly workflows: Workflows;
  assertWritable(user: User): void;
  assertMayGrow(user: User): void;
  change<Result>(user: User, work: (unit: UnitOfWork) => Result): Promise<Result>;
  grow<Result>(user: User, work: (unit: UnitOfWork) => Result): Promise<Result>;
  whenSafe(): Promise<void> | undefined;
}

export class UserWorkflows implements WorkflowApi {
  readonly #host: WorkflowsHost;
  readonly #user: User;

  constructor(host: WorkflowsHost, user: User) {
    this.#host = host;
    this.#user = user;
  }

  find(id: string): Run | undefined {
    return this.#user.runs.get(id);
  }

  entries(id: string, { isRedacted }: { isRedacted: boolean }): Promise<readonly RunEntry[]> | undefined {
    const run = this.#user.runs.get(id);
    return run?.isStarted === true ? allEntries(this.#host.state.bodies, run, { isRedacted }) : undefined;
  }

  async finish(id: string, result: Buffer): Promise<void> {
    await this.#host.change(this.#user, (unit) => {
      const run = this.#user.runs.get(id);
      if (run !== undefined) this.#host.workflows.finish(unit, run, result);
    });
  }

  cancel(id: string): Promise<boolean> {
    return this.#host.change(this.#user, (unit) => {
      const run = this.#user.runs.get(id);
      if (run?.isStarted !== true) return false;
      this.#host.workflows.cancel(unit, run);
      return true;
    });
  }

  async cancelMatching(filter: RunsFilter, countMax: number): Promise<number> {
    this.#host.assertWritable(this.#user);
    const found = startedRuns(this.#user, filter, countMax);
    let count = 0;
    for (let from = 0; from < found.length; from += CANCELS_MAX) {
      const some = found.slice(from, from + CANCELS_MAX);
      count += await this.#host.change(this.#user, (unit) => {
        let cancelled = 0;
        for (const run of some) {
          // Another request may have ended it while the last frame was written.
          if (!run.isStarted) continue;
          this.#host.workflows.cancel(unit, run);
          cancelled += 1;
        }
        return cancelled;
      });
    }
    // A run that was not found may have ended by a frame that is not on the disk yet.
    await this.#host.whenSafe();
    return count;
  }

  wait(request: WaitRequest): Promise<void> {
    return this.#host.grow(this.#user, (unit) => {
      checkEventId(request.eventId);
      this.#host.workflows.wait(unit, this.#user, request);
    });
  }

  async notifyAll(eventId: string, data: Buffer): Promise<readonly Notified[]> {
    const user = this.#user;
    this.#host.assertMayGrow(user);
    const waiting = this.waiters(eventId);
    const notified: Notified[] = [];
    for (let from = 0; from < waiting.length; from += WAKES_MAX) {
      const some = waiting.slice(from, from + WAKES_MAX);
      notified.push(...(await this.#host.change(user, (unit) => notifyEach(unit, some, { user, data }))));
    }
    // A run that was not found may have been notified by a frame that is not on the disk yet.
    await this.#host.whenSafe();
    return notified;
  }

  notifyRun(runId: string, eventId: string, data: Buffer): Promise<Notified> {
    return this.#host.grow(this.#user, (unit) => {
      checkEventId(eventId);
      return notifyRun(unit, startedRun(this.#user, runId), { eventId, data });
    });
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
    deadLetterIds: readonly string[],
    overrides: Partial<PublishOptions>,
  ): Promise<readonly StartedRun[]> {
    this.#host.assertWritable(this.#user);
    return runAgain(this.#resuming, this.#user, { how, deadLetterIds, overrides });
  }

  async repeatFailureCall(deadLetterId: string): Promise<StartedRun> {
    this.#host.assertWritable(this.#user);
    return repeatFailureCall(this.#resuming, this.#user, deadLetterId);
  }

  async cancelFailureCall(deadLetterId: string): Promise<void> {
    await this.#host.change(this.#user, (unit) => cancelFailureCall(unit, this.#user, deadLetterId));
  }

  get #resuming(): Resuming {
    return { bodies: this.#host.state.bodies, change: (work) => this.#host.change(this.#user, work) };
  }
}
