/**
 * What is done to many at once: all that a filter means, oldest first, at most
 * as many as asked for, in one frame (C.pages.bulk).
 */
import { loadUndamaged } from "./bodies/body.ts";
import type { Filter, Page } from "./door.ts";
import type { Engine } from "./engine.ts";
import { badRequest, damagedLetter, notFound } from "./failure.ts";
import { letterMatcher, messageMatcher } from "./matching.ts";
import type { PublishOptions } from "./options/publish-request.ts";
import { joinedRedaction } from "./options/redaction.ts";
import { newFacts } from "./publish.ts";
import { type DeadLetter, deadLetterIdText, parseDeadLetterId } from "./state/dead-letters.ts";
import type { Message } from "./state/message.ts";
import { parseMessageId } from "./state/message-id.ts";
import { state } from "./state/states.ts";
import type { User } from "./state/user.ts";

interface BulkPage {
  readonly countMax?: number;
  readonly cursor?: string;
}

/** Cancels the messages that match. Returns how many. `engine.finish` has to follow. */
export function cancelMatching(
  engine: Engine,
  user: User,
  filter: Filter,
  countMax = Number.POSITIVE_INFINITY,
): number {
  const matches = messageMatcher(filter);
  const found: Message[] = [];
  for (const message of candidates(engine, user, filter)) {
    if (found.length >= countMax) break;
    // One that is cancelled already, and waits for the end of its call, must not take the place of another.
    if (message.user !== user || message.isInRun || message.state === state.cancelRequested) continue;
    if (matches(message)) found.push(message);
  }
  for (const message of found) engine.cancel(message);
  return found.length;
}

export function deadLettersOf(
  user: User,
  filter: Filter,
  { order, count, cursor }: Page,
  isWanted = isAny,
): { letters: readonly DeadLetter[]; cursor: string | undefined } {
  const matches = letterMatcher(filter, user);
  const isBehind = behind(cursor, order === "latest first");
  const letters: DeadLetter[] = [];
  const all = order === "latest first" ? [...user.deadLetters.values()].reverse() : user.deadLetters.values();
  for (const letter of all) {
    if (!isBehind(letter) || !isWanted(letter) || !matches(letter)) continue;
    if (letters.length === count) return { letters, cursor: idOf(letters.at(-1)) };
    letters.push(letter);
  }
  return { letters, cursor: undefined };
}

/** Deletes those that match. `engine.finish` has to follow. */
export function deleteDeadLetters(
  engine: Engine,
  user: User,
  filter: Filter,
  page: BulkPage,
): { deleted: number; cursor: string | undefined } {
  const { letters, cursor } = matchingLetters(user, filter, page);
  for (const letter of letters) engine.changes.removeDeadLetter(user, letter);
  return { deleted: letters.length, cursor };
}

/** Publishes those that match again, all in one frame, which is appended. `engine.finish` has to follow. */
export async function retryDeadLetters(
  engine: Engine,
  user: User,
  { filter, page, overrides }: { filter: Filter; page: BulkPage; overrides: Partial<PublishOptions> },
): Promise<{ published: { messageId: string; isDeduplicated: boolean }[]; cursor: string | undefined }> {
  // Those of runs are resumed or restarted instead, and do not count.
  const isPlain = ({ envelope }: DeadLetter): boolean => envelope.fields.workflow === undefined;
  const { letters, cursor } = matchingLetters(user, filter, page, isPlain);
  assertComplete(filter, letters);
  const bodies = await loadLetters(engine, letters, filter);
  // Others may have retried or deleted some meanwhile.
  for (const letter of letters) {
    if (user.deadLetters.get(deadLetterIdText(letter.id)) !== letter)
      throw notFound(`dead letter ${deadLetterIdText(letter.id)} not found`);
  }
  engine.assertWritable(user);
  const published = letters.flatMap((letter, index) => {
    const bytes = bodies[index];
    if (bytes === undefined) return [];
    const message = retryLetter(engine, user, { letter, bytes, overrides });
    return [{ messageId: message.id, isDeduplicated: false }];
  });
  // At once: before whoever waits for this goes on, others may begin a frame.
  engine.commitFresh();
  return { published, cursor };
}

/**
 * The bodies of dead letters. A damaged one cannot be sent again: the letter is left out, so that it does not stop the
 * others, or refused if it was named.
 */
async function loadLetters(
  engine: Engine,
  letters: readonly DeadLetter[],
  { ids }: Filter,
): Promise<readonly (Buffer | undefined)[]> {
  const bodies = await Promise.all(letters.map(({ body }) => loadUndamaged(engine.realm.bodies, body)));
  const damaged = letters[bodies.indexOf(undefined)];
  if (ids === undefined || damaged === undefined) return bodies;
  throw damagedLetter(deadLetterIdText(damaged.id));
}

function retryLetter(
  engine: Engine,
  user: User,
  { letter, bytes, overrides }: { letter: DeadLetter; bytes: Buffer; overrides: Partial<PublishOptions> },
): Message {
  const nowMs = engine.nowMs();
  const {
    delayMs,
    notBeforeMs = nowMs + (delayMs ?? 0),
    deduplicationId: _id,
    isDeduplicatedByContent: _content,
    workflow: _part,
    ...options
  } = overrides;
  const redact = joinedRedaction(letter.envelope.fields.redact, overrides.redact);
  const isForMoment: true | undefined = overrides.notBeforeMs === undefined ? undefined : true;
  const fields = { ...letter.envelope.fields, ...options, isForMoment, ...(redact !== undefined && { redact }) };
  if (fields.queueName !== undefined) engine.queueFor(user, fields.queueName);
  const facts = newFacts(engine, { nowMs, notBeforeMs: Math.max(nowMs, notBeforeMs), slotOwner: 0 });
  engine.changes.removeDeadLetter(user, letter);
  const message = engine.changes.accept(user, facts, { fields, bytes, isNeededSoon: true, deduplicationKey: "" });
  engine.addFresh(message);
  return message;
}

/** Messages among which the filter finds its own: far fewer than all where it names ids or queues. */
function* candidates(engine: Engine, user: User, { ids, attributes }: Filter): Generator<Message> {
  const wanted = ids ?? attributes.get("messageId");
  if (wanted !== undefined) {
    const sequences = wanted.flatMap((id) => parseMessageId(id)?.sequence ?? []);
    for (const sequence of [...new Set(sequences)].sort((a, b) => a - b)) {
      const message = engine.realm.messages.get(sequence);
      if (message !== undefined) yield message;
    }
    return;
  }
  const queueNames = attributes.get("queueName");
  if (queueNames === undefined) {
    yield* engine.realm.messages;
    return;
  }
  // A queue that is named twice has its messages once.
  const members = [...new Set(queueNames)].flatMap((name) => [...(user.queues.get(name)?.members ?? [])]);
  yield* members.sort((a, b) => a.sequence - b.sequence);
}

function isAny(_letter: DeadLetter): boolean {
  return true;
}

function matchingLetters(
  user: User,
  filter: Filter,
  { countMax = Number.POSITIVE_INFINITY, cursor }: BulkPage,
  isWanted = isAny,
): { letters: readonly DeadLetter[]; cursor: string | undefined } {
  const page = { order: "earliest first", count: countMax } as const;
  if (filter.ids === undefined)
    return deadLettersOf(user, filter, cursor === undefined ? page : { ...page, cursor }, isWanted);
  const known = [...new Set(filter.ids)].flatMap((id) => user.deadLetters.get(id) ?? []);
  const letters = known
    .filter(isWanted)
    .filter(letterMatcher(filter, user))
    .sort((a, b) => a.id.ms - b.id.ms || a.id.number - b.id.number);
  return { letters: letters.slice(0, countMax), cursor: undefined };
}

/** With ids, none may be absent. */
function assertComplete({ ids }: Filter, letters: readonly DeadLetter[]): void {
  if (ids === undefined) return;
  const found = new Set(letters.map((letter) => deadLetterIdText(letter.id)));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0)
    throw notFound(`Some messages are not in the dead-letter queue: ${missing.slice(0, 10).join(", ")}`);
}

/** Whether a letter comes behind the cursor in this direction. */
function behind(cursor: string | undefined, isReversed: boolean): (letter: DeadLetter) => boolean {
  if (cursor === undefined) return () => true;
  const from = parseDeadLetterId(cursor);
  if (from === undefined) throw badRequest(`Invalid value for cursor: ${cursor}`);
  return ({ id }) => {
    const order = id.ms - from.ms || id.number - from.number;
    return isReversed ? order < 0 : order > 0;
  };
}

function idOf(letter: DeadLetter | undefined): string | undefined {
  return letter === undefined ? undefined : deadLetterIdText(letter.id);
}
