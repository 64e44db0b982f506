/**
 * The states of a message and the moves between them (C.states).
 *
 *     CREATED ──> ACTIVE ──> DELIVERED
 *                 ^    └──> ERROR ──> FAILED  (dead letter)
 *                 │           └──> RETRY ─┐
 *                 └───────────────────────┘
 *     CREATED, RETRY, ACTIVE ──> CANCEL_REQUESTED ──> CANCELLED
 *
 * Every move is one entry of the log. A move that is not in the table is a bug.
 */
import { assert } from "../../kernel/assert.ts";

/** Journals and histories store these numbers: they never change. */
export const messageState = {
  created: 0,
  active: 1,
  retry: 2,
  error: 3,
  delivered: 4,
  failed: 5,
  cancelRequested: 6,
  cancelled: 7,
} as const;

export type MessageState = (typeof messageState)[keyof typeof messageState];

interface StateRow {
  readonly state: MessageState;
  /** Spelled as in C.states. */
  readonly name: string;
  readonly next: readonly MessageState[];
}

export const stateRows: readonly StateRow[] = [
  { state: messageState.created, name: "CREATED", next: [messageState.active, messageState.cancelRequested] },
  {
    state: messageState.active,
    name: "ACTIVE",
    next: [messageState.delivered, messageState.error, messageState.cancelRequested],
  },
  { state: messageState.retry, name: "RETRY", next: [messageState.active, messageState.cancelRequested] },
  { state: messageState.error, name: "ERROR", next: [messageState.retry, messageState.failed] },
  { state: messageState.delivered, name: "DELIVERED", next: [] },
  { state: messageState.failed, name: "FAILED", next: [] },
  { state: messageState.cancelRequested, name: "CANCEL_REQUESTED", next: [messageState.cancelled] },
  { state: messageState.cancelled, name: "CANCELLED", next: [] },
];

/** The states that the filter value IN_PROGRESS selects. */
export const statesInProgress: readonly MessageState[] = [messageState.active, messageState.retry, messageState.error];

const nextOf = stateRows.map(({ next }) => new Set<MessageState>(next));

/** Throws for a move that is not in the table. */
export function checkMove(from: MessageState, to: MessageState): void {
  assert(nextOf[from]?.has(to) === true, `a message moves from ${messageStateName(from)} to ${messageStateName(to)}`);
}

export function messageStateName(value: MessageState): string {
  return stateRows[value]?.name ?? "";
}
