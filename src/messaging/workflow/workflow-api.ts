/**
 * What the routes of workflows may ask, one user at a time: the part of the
 * user's door (messaging/api.ts) that is about runs. What it says of safety and
 * refusals holds here too.
 */
import type { PublishOptions } from "../options/publish-request.ts";
import type { Run, RunState } from "../state/run.ts";
import type { Waiter } from "../state/waiter.ts";
import type { WaitRequest } from "./waits.ts";

/** All fields together, one value of each. */
export interface RunsFilter {
  readonly ids?: readonly string[];
  readonly urls?: readonly string[];
  /** The URL begins with one of these. */
  readonly urlPrefixes?: readonly string[];
  /** Of the start; inclusive, in ms. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly createdAtMs?: readonly number[];
  readonly states?: readonly RunState[];
  readonly labels?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  readonly callerIps?: readonly string[];
}

export interface RunEntry {
  readonly messageId: string;
  /** Base64, or what stands for a hidden one. */
  readonly body: string;
  readonly callType: string;
}

export interface StartedRun {
  readonly id: string;
  readonly createdAtMs: number;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** Where the next page begins; undefined: there is none. */
  readonly cursor: string | undefined;
}

/** A run that was notified of an event. */
export interface Notified {
  readonly run: Run;
  /** Undefined: nobody waited, and it is saved. */
  readonly waiter: Waiter | undefined;
  readonly messageId: string | undefined;
}

export interface WorkflowApi {
  find(id: string): Run | undefined;
  /** All entries of a run that goes on; undefined for any other. With `isRedacted` hidden bodies are hidden. */
  entries(id: string, options: { readonly isRedacted: boolean }): Promise<readonly RunEntry[]> | undefined;
  /** The function of a run has returned. Nothing happens if the run is gone. */
  finish(id: string, result: Buffer): Promise<void>;
  /** False: it does not exist, or has ended. */
  cancel(id: string): Promise<boolean>;
  /** Oldest first, at most `countMax`, many of them in several frames. Returns how many. */
  cancelMatching(filter: RunsFilter, countMax: number): Promise<number>;

  wait(request: WaitRequest): Promise<void>;
  /** Tells all that wait for it now, many of them in several frames. */
  notifyAll(eventId: string, data: Buffer): Promise<readonly Notified[]>;
  /** Throws "bad request" for a run that does not exist or has ended. */
  notifyRun(runId: string, eventId: string, data: Buffer): Promise<Notified>;
  waiters(eventId: string): readonly Waiter[];

  /** Latest first. A page may hold fewer than there are, with a cursor, where few match. */
  list(filter: RunsFilter, page: { readonly count: number; readonly cursor?: string }): RunPage;

  /** Starts failed runs again where they failed, or from the start; their dead letters go. Throws "not found" for absent ids. */
  again(
    how: "resume" | "restart",
    letterIds: readonly string[],
    overrides: Partial<PublishOptions>,
  ): Promise<readonly StartedRun[]>;
  /** Calls once more who is told of a failure. Throws unless that call has failed. */
  repeatFailureCall(letterId: string): Promise<StartedRun>;
  cancelFailureCall(letterId: string): Promise<void>;
}
