/**
 * Bulk operations: on everything that matches a filter, oldest first, up to the
 * requested count, in one frame (C.pages.bulk). Cancels have a frame for each slice.
 */

import type { Filter, Page } from "./api.ts";
import { type Bodies, loadUndamaged } from "./bodies/body.ts";
import { badRequest, damagedDeadLetter, notFound } from "./failure.ts";
import { deadLetterMatcher, messageMatcher } from "./matching.ts";
import type { PublishOptions } from "./options/publish-request.ts";
import { joinedRedaction } from "./options/redaction.ts";
import { type DeadLetter, deadLetterIdText, parseDeadLetterId } from "./state/dead-letters.ts";
import { newFacts } from "./state/drawn-ids.ts";
import type { Message } from "./state/message.ts";
import { parseMessageId } from "./state/message-id.ts";
import type { MessagingState } from "./state/messaging-state.ts";
import { messageState } from "./state/states.ts";
import type { User } from "./state/user.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

export interface BulkPage {
  readonly countMax?: number;
  readonly cursor?: string;
}

/** The messages that a bulk cancel cancels. */
export function cancellableMessages(
  state: MessagingState,
  user: User,
  { filter, countMax = Number.POSITIVE_INFINITY }: { readonly filter: Filter; readonly countMax?: number | undefined },
): readonly Message[] {
  const matches = messageMatcher(filter);
  const found: Message[] = [];
  for (const message of candidates(state, user, filter)) {
    if (found.length >= countMax) break;
    // A message that is cancelled already, and waits for the end of its call, does not count towards `countMax`.
    if (message.user !== user || message.isInRun || message.state === messageState.cancelRequested) continue;
    if (matches(message)) found.push(message);
  }
  return found;
}

export function deadLettersOf(
  user: User,
  filter: Filter,
  { order, count, cursor }: Page,
  isWanted = isAny,
): { deadLetters: readonly DeadLetter[]; cursor: string | undefined } {
  const matches = deadLetterMatcher(filter, user);
  const isAfterCursor = after(cursor, order === "latest first");
  const deadLetters: DeadLetter[] = [];
  const all = order === "latest first" ? [...user.deadLetters.values()].reverse() : user.deadLetters.values();
  for (const deadLetter of all) {
    if (!isAfterCursor(deadLetter) || !isWanted(deadLetter) || !matches(deadLetter)) continue;
    if (deadLetters.length === count) return { deadLetters, cursor: idOf(deadLetters.at(-1)) };
    deadLetters.push(deadLetter);
  }
  return { deadLetters, cursor: undefined };
}

/** Deletes the dead letters that match. */
export function deleteDeadLetters(
  unit: UnitOfWork,
  user: User,
  { filter, page }: { readonly filter: Filter; readonly page: BulkPage },
): { deleted: number; cursor: string | undefined } {
  const { deadLetters, cursor } = matchingDeadLetters(user, filter, page);
  for (const { id } of deadLetters) unit.apply(user, "deadLetterRemoved", { id });
  return { deleted: deadLetters.length, cursor };
}

/** Which dead letters to publish again, and with which options. */
export interface Retry {
  readonly filter: Filter;
  readonly page: BulkPage;
  readonly overrides: Partial<PublishOptions>;
}

/** The part of the engine that a retry uses: the state with its bodies, and `Engine.change`. */
export interface RetryHost {
  readonly state: MessagingState;
  change<Result>(user: User, work: (unit: UnitOfWork) => Result): Promise<Result>;
}

/** Publishes the dead letters that match again, all in one frame. */
export async function retryDeadLetters(
  host: RetryHost,
  user: User,
  { filter, page, overrides }: Retry,
): Promise<{ published: { messageId: string; isDeduplicated: boolean }[]; cursor: string | undefined }> {
  // Dead letters of runs are resumed or restarted instead, and do not count.
  const isPlain = ({ envelope }: DeadLetter): boolean => envelope.fields.workflow === undefined;
  const { deadLetters, cursor } = matchingDeadLetters(user, filter, page, isPlain);
  assertComplete(filter, deadLetters);
  const bodies = await loadDeadLetters(host.state.bodies, deadLetters, filter);
  return host.change(user, (unit) => {
    // Another request may have retried or deleted some meanwhile.
    for (const deadLetter of deadLetters) {
      const id = deadLetterIdText(deadLetter.id);
      if (user.deadLetters.get(id) !== deadLetter) throw notFound(`dead letter ${id} not found`);
    }
    const published = deadLetters.flatMap((deadLetter, index) => {
      const bytes = bodies[index];
      if (bytes === undefined) return [];
      const message = retryDeadLetter(unit, user, { deadLetter, bytes, overrides });
      return [{ messageId: message.id, isDeduplicated: false }];
    });
    return { published, cursor };
  });
}

/**
 * Loads the bodies of dead letters. A dead letter with a damaged body cannot be sent again: it is left out, so that it
 * does not stop the others, or refused if the filter has ids.
 */
async function loadDeadLetters(
  stored: Bodies,
  deadLetters: readonly DeadLetter[],
  { ids }: Filter,
): Promise<readonly (Buffer | undefined)[]> {
  const bodies = await Promise.all(deadLetters.map(({ body }) => loadUndamaged(stored, body)));
  const damaged = deadLetters[bodies.indexOf(undefined)];
  if (ids === undefined || damaged === undefined) return bodies;
  throw damagedDeadLetter(deadLetterIdText(damaged.id));
}

function retryDeadLetter(
  unit: UnitOfWork,
  user: User,
  { deadLetter, bytes, overrides }: { deadLetter: DeadLetter; bytes: Buffer; overrides: Partial<PublishOptions> },
): Message {
  const nowMs = unit.now.wallMs;
  const {
    delayMs,
    notBeforeMs = nowMs + (delayMs ?? 0),
    deduplicationId: _id,
    isDeduplicatedByContent: _content,
    workflow: _part,
    ...options
  } = overrides;
  const before = deadLetter.envelope.fields;
  const redact = joinedRedaction(before.redact, overrides.redact);
  const isForMoment: true | undefined = overrides.notBeforeMs === undefined ? undefined : true;
  const fields = { ...before, ...options, isForMoment, ...(redact !== undefined && { redact }) };
  if (fields.queueName !== undefined) unit.ensureQueue(user, fields.queueName);
  const facts = newFacts(unit, { nowMs, notBeforeMs: Math.max(nowMs, notBeforeMs), slotOwner: 0 });
  unit.apply(user, "deadLetterRemoved", { id: deadLetter.id });
  return unit.accept(user, facts, { fields, bytes, isNeededSoon: true, deduplicationKey: "" });
}

/** Messages that may match the filter: few if it has ids or queue names. */
function* candidates(state: MessagingState, user: User, { ids, attributes }: Filter): Generator<Message> {
  const wanted = ids ?? attributes.get("messageId");
  if (wanted !== undefined) {
    const sequences = wanted.flatMap((id) => parseMessageId(id)?.sequence ?? []);
    for (const sequence of [...new Set(sequences)].sort((a, b) => a - b)) {
      const message = state.messages.get(sequence);
      if (message !== undefined) yield message;
    }
    return;
  }
  const queueNames = attributes.get("queueName");
  if (queueNames === undefined) {
    yield* state.messages;
    return;
  }
  // A set, because a queue may be named twice.
  const members = [...new Set(queueNames)].flatMap((name) => [...(user.queues.get(name)?.members ?? [])]);
  yield* members.sort((a, b) => a.sequence - b.sequence);
}

function isAny(_deadLetter: DeadLetter): boolean {
  return true;
}

function matchingDeadLetters(
  user: User,
  filter: Filter,
  { countMax = Number.POSITIVE_INFINITY, cursor }: BulkPage,
  isWanted = isAny,
): { deadLetters: readonly DeadLetter[]; cursor: string | undefined } {
  const page = { order: "earliest first", count: countMax } as const;
  if (filter.ids === undefined)
    return deadLettersOf(user, filter, cursor === undefined ? page : { ...page, cursor }, isWanted);
  const known = [...new Set(filter.ids)].flatMap((id) => user.deadLetters.get(id) ?? []);
  const deadLetters = known
    .filter(isWanted)
    .filter(deadLetterMatcher(filter, user))
    .sort((a, b) => a.id.ms - b.id.ms || a.id.number - b.id.number);
  return { deadLetters: deadLetters.slice(0, countMax), cursor: undefined };
}

/** Throws if a dead letter of the filter's ids does not exist. */
function assertComplete({ ids }: Filter, deadLetters: readonly DeadLetter[]): void {
  if (ids === undefined) return;
  const found = new Set(deadLetters.map(({ id }) => deadLetterIdText(id)));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0)
    throw notFound(`Some messages are not in the dead-letter queue: ${missing.slice(0, 10).join(", ")}`);
}

/** Whether a dead letter comes after the cursor in this direction. */
function after(cursor: string | undefined, isReversed: boolean): (deadLetter: DeadLetter) => boolean {
  if (cursor === undefined) return () => true;
  const from = parseDeadLetterId(cursor);
  if (from === undefined) throw badRequest(`Invalid value for cursor: ${cursor}`);
  return ({ id }) => {
    const order = id.ms - from.ms || id.number - from.number;
    return isReversed ? order < 0 : order > 0;
  };
}

function idOf(deadLetter: DeadLetter | undefined): string | undefined {
  return deadLetter === undefined ? undefined : deadLetterIdText(deadLetter.id);
}
