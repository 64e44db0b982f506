/**
 * A message that is not finished: accepted, and neither delivered nor failed
 * nor cancelled. Finished messages are only in the history.
 *
 * The journal has the fields from `sequence` to `retried`; the list in which the
 * message waits is derived again after a restart.
 */
import { assert } from "../../kernel/assert.ts";
import type { Body } from "../bodies/body.ts";
import type { Envelope } from "../options/envelope.ts";
import { messageId } from "./message-id.ts";
import type { MessageList } from "./message-list.ts";
import type { Run } from "./run.ts";
import { checkMove, type MessageState, messageState } from "./states.ts";
import type { User } from "./user.ts";

export interface MessageFacts {
  /** Grows with every message of the server. */
  readonly sequence: number;
  /** Makes the id hard to guess. */
  readonly nonce: number;
  readonly createdAtMs: number;
  /** Not delivered before this. */
  readonly notBeforeMs: number;
  /** The message whose queue this callback holds up; 0: none. */
  readonly slotOwner: number;
}

export class Message {
  readonly sequence: number;
  readonly nonce: number;
  readonly user: User;
  readonly envelope: Envelope;
  readonly body: Body;
  readonly createdAtMs: number;
  /** From `createdAtMs` to `notBeforeMs`: mostly a small integer, which takes no memory of its own. */
  readonly #delayMs: number;
  readonly slotOwner: number;
  /** The workflow run that it belongs to. */
  run: Run | undefined = undefined;

  state: MessageState = messageState.created;
  /** Attempts that have ended. */
  retried = 0;
  /** When the next attempt is due; undefined: `notBeforeMs`. */
  #retryAtMs: number | undefined = undefined;

  /** The list in which it waits; undefined if it waits for its due time or the disk, or its call is under way. */
  list: MessageList | undefined = undefined;
  previous: Message | undefined = undefined;
  next: Message | undefined = undefined;
  /** Since when it waits in that list, in real time. */
  waitsSinceMs = 0;
  /** True while it waits in the heap of due times. */
  isTimed = false;

  constructor(user: User, envelope: Envelope, body: Body, facts: MessageFacts) {
    this.user = user;
    this.envelope = envelope;
    this.body = body;
    this.sequence = facts.sequence;
    this.nonce = facts.nonce;
    this.createdAtMs = facts.createdAtMs;
    this.#delayMs = facts.notBeforeMs - facts.createdAtMs;
    this.slotOwner = facts.slotOwner;
  }

  /** Not delivered before this. */
  get notBeforeMs(): number {
    return this.createdAtMs + this.#delayMs;
  }

  /** The next attempt does not start before this. */
  get dueMs(): number {
    return this.#retryAtMs ?? this.notBeforeMs;
  }

  set dueMs(dueMs: number) {
    // A stored number would take 16 bytes, and there are millions of messages.
    this.#retryAtMs = dueMs === this.notBeforeMs ? undefined : dueMs;
  }

  /** True if it is due at a time of the wall clock, and not after a delay. */
  get isDueByWall(): boolean {
    return this.#retryAtMs === undefined && this.envelope.fields.isForMoment === true;
  }

  get id(): string {
    return messageId(this.sequence, this.nonce);
  }

  /**
   * True if it is part of a workflow run. Bulk operations skip messages of runs, because a run that loses one of its
   * steps would wait permanently.
   */
  get isInRun(): boolean {
    return this.run !== undefined;
  }

  /** Throws for a move that does not exist. */
  moveTo(next: MessageState): void {
    checkMove(this.state, next);
    this.state = next;
  }

  /** After a crash during its call the outcome is unknown: it waits again, and the attempt does not count. */
  reopen(): void {
    assert(this.state === messageState.active, "only an active message is opened again");
    this.state = this.retried === 0 ? messageState.created : messageState.retry;
  }
}
