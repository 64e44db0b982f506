/**
 * Turns requests into messages: resolves URL groups, finds duplicates and
 * checks the user's quotas. `planPublish` decides and changes nothing;
 * `carryOut` executes the plan. Nothing runs between them, so a batch is
 * accepted whole or not at all.
 */
import { createHash } from "node:crypto";
import type { Random } from "../kernel/random.ts";
import { badRequest, DailyLimitExceeded, MessagingFailure, quotaExceeded } from "./failure.ts";
import type { MessagingLimits } from "./limits.ts";
import type { EnvelopeFields, EnvelopeSource } from "./options/envelope.ts";
import {
  envelopeFields,
  type Published,
  type PublishOptions,
  type PublishOutcome,
  type PublishRequest,
} from "./options/publish-request.ts";
import type { Accepted } from "./state/deduplication.ts";
import { newFacts } from "./state/drawn-ids.ts";
import type { MessageFacts } from "./state/message.ts";
import { messageId } from "./state/message-id.ts";
import type { MessagingState } from "./state/messaging-state.ts";
import type { Moment } from "./state/moment.ts";
import { newQueue } from "./state/queue.ts";
import { findGroup, isUrl, type UrlGroup } from "./state/url-group.ts";
import type { User } from "./state/user.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import { carryOutRun, planRunMessage, RunCounts, type RunDraft } from "./workflow/starting.ts";

interface Draft {
  readonly fields: EnvelopeFields;
  /** The source of these fields, if other messages have it too. */
  readonly source: EnvelopeSource | undefined;
  readonly bytes: Buffer;
  readonly notBeforeMs: number;
  readonly deduplicationKey: string;
  /** The message that this one duplicates: accepted before, or a draft of the same batch. */
  readonly original: Accepted | Draft | undefined;
}

interface PlannedRequest {
  readonly isGroup: boolean;
  /** A message of a workflow run, in place of drafts. */
  readonly run?: RunDraft;
  readonly drafts: readonly Draft[];
}

export interface PublishPlan {
  readonly requests: readonly PlannedRequest[];
  /** Accepted messages. */
  readonly newCount: number;
  readonly duplicateCount: number;
  /** Queues to create. */
  readonly newQueues: readonly string[];
}

export interface PublishContext {
  readonly state: MessagingState;
  readonly limits: MessagingLimits;
  readonly user: User;
  readonly nowMs: number;
  readonly random: Random;
}

const DAY_MS = 86_400_000;
/** More than the record of a message without body and headers mostly takes. */
const MESSAGE_BYTES = 1_024;
/** The body of a message that is due within this time stays in memory. */
const SOON_MS = 10_000;
/** Longer ids are replaced by their hash, so that long ids do not fill the memory. */
const KEY_LENGTH_MAX = 64;

/** Plans which messages these requests publish. Throws a `MessagingFailure`. */
export function planPublish(
  context: PublishContext,
  requests: readonly PublishRequest[],
  scheduleId?: string,
): PublishPlan {
  const { user, limits } = context;
  if (requests.length > limits.batchCountMax) {
    throw badRequest(`The batch has ${requests.length} messages; the limit is ${limits.batchCountMax}`);
  }
  const seen = new Map<string, Draft>();
  const newQueues = new Set<string>();
  const planned: PlannedRequest[] = [];
  const runs = new RunCounts();
  let count = 0;
  let duplicateCount = 0;
  for (const [index, request] of requests.entries()) {
    const one = planNumbered(context, request, { seen, scheduleId, runs, index });
    if (one.run !== undefined) {
      if (one.run.kind === "duplicate") duplicateCount += 1;
      else count += 1;
    }
    for (const { original } of one.drafts) {
      if (original === undefined) count += 1;
      else duplicateCount += 1;
    }
    planned.push(one);
    const { queueName } = request.options;
    if (queueName !== undefined && !user.queues.has(queueName) && isAnyNew(one)) newQueues.add(queueName);
  }
  if (newQueues.size > 0 && user.queues.size + newQueues.size > limits.queuesMax) {
    throw quotaExceeded(`Maximum number of queues exceeded: ${limits.queuesMax}`);
  }
  if (limits.messagesPerDayMax > 0 && dayCountOf(context) + count > limits.messagesPerDayMax) {
    throw new DailyLimitExceeded(limits.messagesPerDayMax, (Math.floor(context.nowMs / DAY_MS) + 1) * DAY_MS);
  }
  return { requests: planned, newCount: count, duplicateCount, newQueues: [...newQueues] };
}

/** Whether the request creates a message: a duplicate creates none. */
function isAnyNew({ drafts, run }: PlannedRequest): boolean {
  return run === undefined ? drafts.some(({ original }) => original === undefined) : run.kind !== "duplicate";
}

/** Publishes all of these requests or none. Throws a `MessagingFailure` before anything has changed. */
export function publish(
  unit: UnitOfWork,
  user: User,
  {
    requests,
    scheduleId,
    now = unit.now,
  }: { readonly requests: readonly PublishRequest[]; readonly scheduleId?: string; readonly now?: Moment },
): PublishOutcome[] {
  const { state, limits, random, counts } = unit;
  const context = { state, limits, user, nowMs: now.wallMs, random };
  const plan = planPublish(context, requests, scheduleId);
  unit.assertFits(bytesOf(plan));
  const outcomes = carryOut(unit, context, plan);
  counts.accepted += plan.newCount;
  counts.deduplicated += plan.duplicateCount;
  return outcomes;
}

/** About how many bytes the records of a plan have: rather more. */
function bytesOf({ requests }: PublishPlan): number {
  let bytes = 0;
  for (const { drafts, run } of requests) {
    if (run !== undefined) bytes += MESSAGE_BYTES + run.bytes.length + lengthOf(run.fields);
    for (const draft of drafts)
      if (draft.original === undefined) bytes += MESSAGE_BYTES + draft.bytes.length + lengthOf(draft.fields);
  }
  return bytes;
}

/** A character of a text has up to three bytes. */
function lengthOf(fields: EnvelopeFields | undefined): number {
  if (fields === undefined) return 0;
  return 3 * fields.headers.reduce((sum, text) => sum + text.length, fields.url.length);
}

function carryOut(unit: UnitOfWork, context: PublishContext, plan: PublishPlan): PublishOutcome[] {
  const { user, nowMs } = context;
  for (const name of plan.newQueues) unit.apply(user, "queuePut", { record: newQueue(name, nowMs) });
  let factsOf: Map<Draft, MessageFacts> | undefined;
  const publishDraft = (draft: Draft): Published => {
    const { fields, source, bytes, notBeforeMs, deduplicationKey, original } = draft;
    if (original !== undefined) {
      const first = "fields" in original ? factsOf?.get(original) : original;
      const id = first === undefined ? "" : messageId(first.sequence, first.nonce);
      return { messageId: id, url: fields.url, isDeduplicated: true };
    }
    const facts = newFacts(context, { nowMs, notBeforeMs, slotOwner: 0 });
    if (deduplicationKey !== "") {
      factsOf ??= new Map();
      factsOf.set(draft, facts);
    }
    const isNeededSoon = notBeforeMs <= nowMs + SOON_MS;
    const message = unit.accept(user, facts, { fields, source, bytes, deduplicationKey, isNeededSoon });
    return { messageId: message.id, url: fields.url, isDeduplicated: false };
  };
  return plan.requests.map(({ isGroup, drafts, run }) => {
    if (run !== undefined) {
      const isNeededSoon = run.notBeforeMs <= nowMs + SOON_MS;
      return { kind: "url", published: carryOutRun(unit, user, { draft: run, nowMs, isNeededSoon }) };
    }
    const [first] = drafts;
    if (!isGroup && first !== undefined) return { kind: "url", published: publishDraft(first) };
    return { kind: "group", published: drafts.map(publishDraft) };
  });
}

interface Batch {
  readonly seen: Map<string, Draft>;
  readonly scheduleId: string | undefined;
  readonly runs: RunCounts;
  /** Of the request. */
  readonly index: number;
}

/** A refusal says which request it is about. */
function planNumbered(context: PublishContext, request: PublishRequest, batch: Batch): PlannedRequest {
  try {
    return planRequest(context, request, batch);
  } catch (thrown) {
    throw thrown instanceof MessagingFailure ? new MessagingFailure(thrown.kind, thrown.text, batch.index) : thrown;
  }
}

function planRequest(
  context: PublishContext,
  request: PublishRequest,
  { seen, scheduleId, runs }: Batch,
): PlannedRequest {
  const { user, nowMs, limits } = context;
  const { destination, body, options } = request;
  if (body.length > limits.bodyBytesMax) {
    throw badRequest(`The body has ${body.length} bytes; the limit is ${limits.bodyBytesMax}`);
  }
  const { workflow } = options;
  if (workflow !== undefined) {
    if (!isUrl(destination))
      throw badRequest(`Invalid destination: ${destination}: the destination of a workflow must be a URL`);
    return { isGroup: false, drafts: [], run: planRunMessage(context, request, { counts: runs, workflow }) };
  }
  const deduplication = { seen, nowMs, user };
  if (isUrl(destination)) {
    const source = sourceOf(request, scheduleId);
    return { isGroup: false, drafts: [draftOf(request, source.fields, { source, isGroup: false, deduplication })] };
  }
  const group = findGroup(user.groups, destination);
  const headers = group.headers === undefined ? options.headers : withDefaults(options.headers, group);
  const drafts = group.endpoints.map(({ url, name }) => {
    const origin = { topicName: group.name, endpointName: name, callerIp: request.callerIp, scheduleId };
    const fields = envelopeFields(url, options, origin, headers);
    return draftOf(request, fields, { source: undefined, isGroup: true, deduplication });
  });
  return { isGroup: true, drafts };
}

/** The envelope of a message to a URL. */
function sourceOf({ destination, options, callerIp, shared }: PublishRequest, scheduleId?: string): EnvelopeSource {
  const known = shared?.source;
  if (known !== undefined) return known;
  const source = { fields: envelopeFields(destination, options, { callerIp, scheduleId }) };
  if (shared !== undefined) shared.source = source;
  return source;
}

interface DraftFacts {
  readonly source: EnvelopeSource | undefined;
  readonly isGroup: boolean;
  readonly deduplication: {
    /** Drafts of the same batch, by their keys. */
    readonly seen: Map<string, Draft>;
    readonly nowMs: number;
    readonly user: User;
  };
}

function draftOf(
  { body, options }: PublishRequest,
  fields: EnvelopeFields,
  { source, isGroup, deduplication: { seen, nowMs, user } }: DraftFacts,
): Draft {
  const { url, headers } = fields;
  const notBeforeMs = Math.max(options.notBeforeMs ?? nowMs + (options.delayMs ?? 0), nowMs);
  const deduplicationKey = deduplicationKeyOf(options, { url, headers, body, isGroup });
  if (deduplicationKey === "")
    return { fields, source, bytes: body, notBeforeMs, deduplicationKey, original: undefined };
  const original = user.deduplication.find(deduplicationKey, nowMs) ?? seen.get(deduplicationKey);
  const draft = { fields, source, bytes: body, notBeforeMs, deduplicationKey, original };
  if (original === undefined) seen.set(deduplicationKey, draft);
  return draft;
}

/** The forwarded headers, and headers of the group that the publisher did not forward. */
function withDefaults(given: readonly string[], group: UrlGroup): readonly string[] {
  const names = new Set<string>();
  for (let i = 0; i < given.length; i += 2) names.add((given[i] as string).toLowerCase());
  const all = [...given];
  for (const [name, values] of group.headers ?? []) {
    if (names.has(name.toLowerCase())) continue;
    for (const value of typeof values === "string" ? [values] : values) all.push(name, value);
  }
  return all;
}

/** Messages with the same key are duplicates; empty if the publisher asked for no deduplication. */
function deduplicationKeyOf(
  { deduplicationId, isDeduplicatedByContent }: PublishOptions,
  { url, headers, body, isGroup }: { url: string; headers: readonly string[]; body: Buffer; isGroup: boolean },
): string {
  if (deduplicationId !== undefined) {
    // Each endpoint of a group has duplicates of its own.
    const key = isGroup ? `${deduplicationId}\u0000${url}` : deduplicationId;
    return key.length <= KEY_LENGTH_MAX ? `i${key}` : `h${createHash("sha256").update(key).digest("base64")}`;
  }
  if (isDeduplicatedByContent !== true) return "";
  const hash = createHash("sha256").update(JSON.stringify([url, headers]));
  return `c${hash.update(body).digest("base64")}`;
}

function dayCountOf({ user, nowMs }: PublishContext): number {
  return user.countedDay === Math.floor(nowMs / DAY_MS) ? user.dayCount : 0;
}
