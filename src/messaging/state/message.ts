/**
 * A message that is not finished: accepted, and neither delivered nor failed
 * nor cancelled. Finished messages are in the history alone.
 *
 * What is written in the journal is `sequence` to `retried`; where the message
 * waits is worked out again after a restart.
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
  /** Between the two moments: mostly a small number, which takes no memory of its own. */
  readonly #delayMs: number;
  readonly slotOwner: number;
  /** The workflow run that it belongs to. */
  run: Run | undefined = undefined;

  state: MessageState = messageState.created;
  /** Attempts that have ended. */
  retried = 0;
  /** When it is to be retried; undefined: it has not failed, and is due when it may be delivered. */
  #retryAtMs: number | undefined = undefined;

  /** The list in which it waits. In none: it waits for its time, or for the disk, or is called. */
  list: MessageList | undefined = undefined;
  previous: Message | undefined = undefined;
  next: Message | undefined = undefined;
  /** Since when it waits in that list, in real time. */
  waitsSinceMs = 0;
  /** It stands in the heap of due times. */
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

  /** The next attempt starts no sooner. */
  get dueMs(): number {
    return this.#retryAtMs ?? this.notBeforeMs;
  }

  set dueMs(dueMs: number) {
    // Each number of its own takes 16 bytes, and there are millions of messages.
    this.#retryAtMs = dueMs === this.notBeforeMs ? undefined : dueMs;
  }

  /** It is due at a moment, and not after a span: it was published for it. */
  get isDueByWall(): boolean {
    return this.#retryAtMs === undefined && this.envelope.fields.isForMoment === true;
  }

  get id(): string {
    return messageId(this.sequence, this.nonce);
  }

  /**
   * It is part of a workflow run. A run ends as a whole, because without one of its steps it would wait permanently: what is
   * done to many messages at once spares those of runs.
   */
  get isInRun(): boolean {
    return this.run !== undefined;
  }

  /** Throws for a move that does not exist. */
  moveTo(next: MessageState): void {
    checkMove(this.state, next);
    this.state = next;
  }

  /** The process that called it is gone, and nobody knows the outcome: it waits again, with the attempt not counted. */
  reopen(): void {
    assert(this.state === messageState.active, "only a message that was called is opened again");
    this.state = this.retried === 0 ? messageState.created : messageState.retry;
  }
}
