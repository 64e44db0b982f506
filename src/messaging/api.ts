/**
 * The interface of messaging that the routes of area C call, one user at a time.
 * A method that may change something resolves when the state that it saw is on the
 * disk, also if it changed nothing. Refusals are thrown as `MessagingFailure`,
 * before anything has changed.
 */

import type { Body } from "./bodies/body.ts";
import type { EnvelopeFields } from "./options/envelope.ts";
import type { PublishOptions, PublishOutcome, PublishRequest } from "./options/publish-request.ts";
import type { NamePage } from "./records/name-page.ts";
import type { DeadLetter } from "./state/dead-letters.ts";
import type { FlowKeyRecord } from "./state/flow-key.ts";
import type { Message } from "./state/message.ts";
import type { QueueRecord } from "./state/queue.ts";
import type { Run, RunState, Waiter } from "./state/run.ts";
import type { ScheduleRecord } from "./state/schedule.ts";
import type { MessageState } from "./state/states.ts";
import type { Endpoint, UrlGroup } from "./state/url-group.ts";
import type { SigningKeys, User } from "./state/user.ts";

/**
 * Selects messages, dead letters or log entries: all fields must match (AND), with one of their values (OR). Names of
 * `attributes` are `attributeNames`.
 */
export interface Filter {
  readonly ids?: readonly string[];
  readonly attributes: ReadonlyMap<AttributeName, readonly string[]>;
  /** Creation time of messages, failure time of dead letters, time of log entries; inclusive, in ms. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Dead letters: status of the last attempt. */
  readonly statuses?: readonly number[];
  /** Log entries. */
  readonly states?: readonly MessageState[];
  /** Dead letters: only those of workflow runs that match. */
  readonly runs?: RunFilter;
}

export interface AcceptedMessages {
  readonly outcomes: readonly PublishOutcome[];
  readonly safe: Promise<void> | undefined;
}

/** Selects the run of a dead letter: all fields must match, with one of their values. */
export interface RunFilter {
  readonly ids?: readonly string[];
  readonly urls?: readonly string[];
  readonly createdAtMs?: readonly number[];
  readonly failureFunctionStates?: readonly string[];
}

export const attributeNames = [
  "messageId",
  "url",
  "host",
  "path",
  "topicName",
  "scheduleId",
  "queueName",
  "label",
  "flowControlKey",
  "callerIp",
  "workflowRunId",
  "source",
] as const;

export type AttributeName = (typeof attributeNames)[number];

export interface Page {
  readonly order: "earliest first" | "latest first";
  readonly count: number;
  readonly cursor?: string;
}

export interface QueueView extends QueueRecord {
  /** Messages of the queue without a call under way. */
  readonly lag: number;
}

export interface FlowKeyView extends FlowKeyRecord {
  /** Messages that wait because of the key. */
  readonly waitingCount: number;
  readonly inFlightCount: number;
}

export interface ScheduleView extends ScheduleRecord {
  readonly body: Buffer;
  /** States of the messages of the last firing, by id. */
  readonly lastStates: readonly (readonly [messageId: string, state: "IN_PROGRESS" | "SUCCESS" | "FAIL"])[];
}

/** A message as the log has it. */
export interface LoggedMessage {
  readonly id: string;
  readonly envelope: EnvelopeFields;
  readonly body: Buffer;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
}

export interface LogEntry {
  readonly message: LoggedMessage;
  readonly timeMs: number;
  readonly state: MessageState;
  /** RETRY: when the next attempt is due. */
  readonly nextDeliveryMs?: number;
  /** ERROR: the answer of the destination. */
  readonly response?: {
    readonly status: number;
    readonly headers: readonly string[];
    readonly error: string;
    readonly body: Buffer;
  };
}

export interface LogPage {
  readonly entries: readonly LogEntry[];
  readonly cursor: string | undefined;
}

/** The history as messaging reads it. Start-up passes an implementation. */
export interface LogReader {
  /** Entries that match the filter, including all events before the call. Throws for a malformed cursor. */
  list(user: User, filter: Filter, page: Page): Promise<LogPage>;
}

export interface MessagingApi {
  readonly name: string;

  /** Resolves when all changes so far are on the disk; undefined if they are. No reply may show them before. */
  whenSafe(): Promise<void> | undefined;

  publish(requests: readonly PublishRequest[]): Promise<readonly PublishOutcome[]>;
  /** Like `publish`, but returns at once. `safe` resolves when the messages are on the disk; undefined: they are. */
  accept(requests: readonly PublishRequest[]): AcceptedMessages;

  /** A message that is not finished. */
  findMessage(id: string): Message | undefined;
  /** What an unfinished message waits for, as a sentence without a full stop. */
  waitsFor(message: Message): string;
  /** A message that finished within the last minute. */
  findFinished(id: string): Promise<LoggedMessage | undefined>;
  /** Undefined if the bytes are damaged on the disk. */
  loadBody(body: Body): Buffer | undefined | Promise<Buffer | undefined>;
  /** False if no unfinished message has this id. Rejects for a message of a run that has not ended. */
  cancel(id: string): Promise<boolean>;
  /**
   * The next attempt of a waiting message is due at once. False if no unfinished message has this id. Rejects while it is
   * being called.
   */
  retryNow(id: string): Promise<boolean>;
  /** Oldest first, at most `countMax`; all if it is absent. Returns the count. */
  cancelMatching(filter: Filter, countMax?: number): Promise<number>;

  logs(filter: Filter, page: Page): Promise<LogPage>;

  readonly queues: readonly QueueView[];
  queuePage(page: NamePage): readonly QueueView[];
  queue(name: string): QueueView | undefined;
  /** Creates or changes; an absent field keeps its value (new: 1, false). */
  putQueue(name: string, change: { readonly parallelism?: number; readonly isPaused?: boolean }): Promise<void>;
  /** Its messages are cancelled. Nothing happens if it does not exist. */
  deleteQueue(name: string): Promise<void>;

  readonly schedules: readonly ScheduleView[];
  schedulePage(page: NamePage): readonly ScheduleView[];
  schedule(id: string): ScheduleView | undefined;
  /** Creates a schedule, or replaces the one of this id. Returns the id. */
  putSchedule(request: {
    readonly id?: string;
    readonly cron: string;
    readonly destination: string;
    readonly options: PublishOptions;
    readonly body: Buffer;
    readonly callerIp: string;
  }): Promise<string>;
  /** False: it does not exist. */
  deleteSchedule(id: string): Promise<boolean>;
  pauseSchedule(id: string, isPaused: boolean): Promise<boolean>;
  /** Publishes its message now; its next time stays. Undefined: it does not exist. */
  runSchedule(id: string): Promise<PublishOutcome | undefined>;

  readonly groups: readonly UrlGroup[];
  groupPage(page: NamePage): readonly UrlGroup[];
  group(name: string): UrlGroup | undefined;
  addEndpoints(name: string, endpoints: readonly Endpoint[]): Promise<void>;
  /** By url or by name. The group goes with its last endpoint. */
  removeEndpoints(name: string, endpoints: readonly { readonly url?: string; readonly name?: string }[]): Promise<void>;
  /** False: the group does not exist. */
  setGroupHeaders(name: string, headers: readonly (readonly [string, string | readonly string[]])[]): Promise<boolean>;
  deleteGroup(name: string): Promise<void>;

  deadLetter(id: string): DeadLetter | undefined;
  /** A cursor is the id of the last dead letter of the previous page. Throws for a malformed cursor. */
  deadLetters(
    filter: Filter,
    page: Page,
  ): { readonly deadLetters: readonly DeadLetter[]; readonly cursor: string | undefined };
  /** Deletes matching ones, oldest first, at most `countMax`. Returns their count, and a cursor if more match. */
  deleteDeadLetters(
    filter: Filter,
    page: { readonly countMax?: number; readonly cursor?: string },
  ): Promise<{
    readonly deleted: number;
    readonly cursor: string | undefined;
  }>;
  /**
   * Publishes each again as a new message, with `overrides` in place of its own options. With ids: throws "not found"
   * if one is absent, and nothing is retried.
   */
  retryDeadLetters(
    filter: Filter,
    page: { readonly countMax?: number; readonly cursor?: string },
    overrides: Partial<PublishOptions>,
  ): Promise<{ readonly published: readonly Published[]; readonly cursor: string | undefined }>;

  /** Keys whose name contains the text; all keys without it. */
  flowKeys(search?: string): readonly FlowKeyView[];
  flowKeyPage(page: NamePage): readonly FlowKeyView[];
  flowKey(key: string): FlowKeyView | undefined;
  pauseFlowKey(key: string, isPaused: boolean): Promise<void>;
  pinFlowKey(
    key: string,
    pin: { readonly parallelism?: number; readonly rate?: number; readonly periodMs?: number },
  ): Promise<void>;
  unpinFlowKey(key: string, unpin: { readonly parallelism: boolean; readonly rate: boolean }): Promise<void>;
  /** Forgets the rate window, and with `isWhole` the calls under way too. */
  resetFlowKey(key: string, isWhole: boolean): Promise<void>;
  readonly globalParallelism: { readonly max: number; readonly count: number };

  readonly workflows: WorkflowApi;

  readonly signingKeys: SigningKeys;
  /** The next key becomes the current one, and a new key the next one. */
  rotateSigningKeys(): Promise<SigningKeys>;
}

interface Published {
  readonly messageId: string;
  readonly isDeduplicated: boolean;
}

// Workflow runs.

/** All fields must match, with one of their values. */
export interface RunsFilter {
  readonly ids?: readonly string[];
  readonly urls?: readonly string[];
  /** The URL begins with one of these. */
  readonly urlPrefixes?: readonly string[];
  /** Of the URL, with its port unless that is the default. */
  readonly hosts?: readonly string[];
  readonly paths?: readonly string[];
  /** Start time; inclusive, in ms. */
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
  /** Base64, or the replacement of a hidden body. */
  readonly body: string;
  readonly callType: string;
}

export interface StartedRun {
  readonly id: string;
  readonly createdAtMs: number;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** Where the next page begins; undefined: it is the last one. */
  readonly cursor: string | undefined;
}

/** A run that was notified of an event. */
export interface Notified {
  readonly run: Run;
  /** Undefined: the run did not wait for the event, which is saved for it. */
  readonly waiter: Waiter | undefined;
  readonly messageId: string | undefined;
}

export interface WaitRequest {
  readonly eventId: string;
  readonly runId: string;
  /** Names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  readonly contentType: string | undefined;
  readonly body: Buffer;
  /** Why a URL may not be called, or undefined. */
  readonly refusalOf: (url: URL) => string | undefined;
}

export interface WorkflowApi {
  find(id: string): Run | undefined;
  /** All entries of a run that has not ended; undefined for other runs. `isRedacted` applies the run's redaction. */
  entries(id: string, options: { readonly isRedacted: boolean }): Promise<readonly RunEntry[]> | undefined;
  /** The function of a run has returned. Does nothing if the run no longer exists. */
  finish(id: string, result: Buffer): Promise<void>;
  /** False: it does not exist, or has ended. */
  cancel(id: string): Promise<boolean>;
  /** Oldest first, at most `countMax`; in several frames if they are many. Returns the count. */
  cancelMatching(filter: RunsFilter, countMax: number): Promise<number>;

  wait(request: WaitRequest): Promise<void>;
  /** Notifies all runs that wait for the event; in several frames if they are many. */
  notifyAll(eventId: string, data: Buffer): Promise<readonly Notified[]>;
  /** Throws "bad request" for a run that does not exist or has ended. */
  notifyRun(runId: string, eventId: string, data: Buffer): Promise<Notified>;
  waiters(eventId: string): readonly Waiter[];

  /** Latest first. If few match, a page may have fewer runs than `count`, with a cursor. */
  list(filter: RunsFilter, page: { readonly count: number; readonly cursor?: string }): RunPage;

  /**
   * Starts failed runs again where they failed, or from the start, and removes their dead letters. Throws "not found"
   * for ids that do not exist.
   */
  again(
    how: "resume" | "restart",
    deadLetterIds: readonly string[],
    overrides: Partial<PublishOptions>,
  ): Promise<readonly StartedRun[]>;
  /** Repeats the call that reports a failure. Throws unless that call has failed. */
  repeatFailureCall(deadLetterId: string): Promise<StartedRun>;
  cancelFailureCall(deadLetterId: string): Promise<void>;
}
