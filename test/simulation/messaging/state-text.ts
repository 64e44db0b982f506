/**
 * The whole state of messaging as lines of text, without the places of bodies:
 * two realms with equal lines continue in the same way.
 */
import type { Body } from "../../../src/messaging/bodies/body.ts";
import { deadLetterIdText } from "../../../src/messaging/state/dead-letters.ts";
import type { MessagingState } from "../../../src/messaging/state/messaging-state.ts";
import type { User } from "../../../src/messaging/state/user.ts";

/** `latestMs`: the latest time that the wall clock has shown. By default, that of the newest duplicate. */
export function stateLines(state: MessagingState, windowMs: number, latestMs?: number): string[] {
  const lines = [`numbers ${state.userNumberMax} ${state.sequenceMax}`];
  for (const user of [...state.users].sort((a, b) => a.number - b.number))
    lines.push(...userLines(user, windowMs, latestMs));
  for (const message of state.messages) {
    const { sequence, nonce, user, retried, createdAtMs, notBeforeMs, dueMs, slotOwner, envelope } = message;
    const turn = state.turnOf(message);
    const held = state.heldQueueOf(message)?.hasSlot(slotOwner) === true ? slotOwner : 0;
    const facts = {
      nonce,
      user: user.number,
      state: message.state,
      retried,
      createdAtMs,
      notBeforeMs,
      dueMs,
      held,
      turn,
    };
    // The body of a message is not read again once its run has ended.
    const body = message.run?.ignoresOutcomeOf(message) === true ? "-" : bodyText(message.body);
    lines.push(`message ${sequence} ${JSON.stringify(facts)} ${body} ${envelope.text}`);
  }
  return lines;
}

function userLines(user: User, windowMs: number, latestMs: number | undefined): string[] {
  const { number, name, signingKeys, givenKeys, dayCount, countedDay, deadLetters } = user;
  const lines = [JSON.stringify({ number, name, signingKeys, givenKeys, dayCount, countedDay })];
  const add = (what: string, values: Iterable<unknown>): void => {
    lines.push(...[...values].map((value) => `${what} ${name} ${JSON.stringify(value)}`).sort());
  };
  add(
    "queue",
    [...user.queues.values()].map(({ record }) => record),
  );
  add(
    "key",
    [...user.flowKeys.values()].map(({ record }) => record),
  );
  add(
    "schedule",
    [...user.schedules.values()].map(({ record, body }) => [record, body.toString("latin1")]),
  );
  add("group", user.groups.values());
  const entries = [...user.deduplication.entries()];
  const endMs = latestMs ?? Math.max(0, ...entries.map(([, { atMs }]) => atMs));
  // An expired entry may be forgotten at any moment, also when the clock was ahead and is set back later.
  add(
    "same",
    entries.filter(([, { atMs }]) => atMs + windowMs > endMs),
  );
  for (const run of user.runs.values()) {
    const { record, facts, result, entries, waiters } = run;
    const resultText = result === undefined ? "" : bodyText(result);
    lines.push(`run ${run.id} ${JSON.stringify([record, facts, [...waiters]])} ${resultText}`);
    for (const { envelope, body, sequence, nonce, createdAtMs, notBeforeMs, isDelivered } of entries) {
      const entry = { sequence, nonce, createdAtMs, notBeforeMs, isDelivered };
      lines.push(`entry ${run.id} ${JSON.stringify(entry)} ${bodyText(body)} ${envelope.text}`);
    }
  }
  for (const letter of deadLetters.values()) {
    const { sequence, nonce, createdAtMs, notBeforeMs, retried, response, envelope } = letter;
    const facts = { sequence, nonce, createdAtMs, notBeforeMs, retried, response };
    const bodies = `${bodyText(letter.body)} ${bodyText(letter.responseBody)}`;
    lines.push(`letter ${deadLetterIdText(letter.id)} ${JSON.stringify(facts)} ${bodies} ${envelope.text}`);
  }
  lines.push(`last ${deadLetterIdText(deadLetters.lastId)}`);
  return lines;
}

function bodyText({ length, checksum }: Body): string {
  return `${length}:${checksum}`;
}
