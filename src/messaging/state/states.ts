/**
 * The states of a message and the moves between them (C.states).
 *
 *     CREATED ──> ACTIVE ──> DELIVERED
 *                 ^    └──> ERROR ──> FAILED  (dead letter)
 *                 │           └──> RETRY ─┐
 *                 └───────────────────────┘
 *     CREATED, RETRY, ACTIVE ──> CANCEL_REQUESTED ──> CANCELLED
 *
 * Every move is one entry of the log. Whatever is not in the table is a bug.
 */
import { assert } from "../../kernel/assert.ts";

/** The numbers stand in journals and histories: they never change. */
export const state = {
  created: 0,
  active: 1,
  retry: 2,
  error: 3,
  delivered: 4,
  failed: 5,
  cancelRequested: 6,
  cancelled: 7,
} as const;

export type State = (typeof state)[keyof typeof state];

interface StateRow {
  readonly state: State;
  /** In the spelling of C.states. */
  readonly name: string;
  readonly next: readonly State[];
}

export const stateRows: readonly StateRow[] = [
  { state: state.created, name: "CREATED", next: [state.active, state.cancelRequested] },
  { state: state.active, name: "ACTIVE", next: [state.delivered, state.error, state.cancelRequested] },
  { state: state.retry, name: "RETRY", next: [state.active, state.cancelRequested] },
  { state: state.error, name: "ERROR", next: [state.retry, state.failed] },
  { state: state.delivered, name: "DELIVERED", next: [] },
  { state: state.failed, name: "FAILED", next: [] },
  { state: state.cancelRequested, name: "CANCEL_REQUESTED", next: [state.cancelled] },
  { state: state.cancelled, name: "CANCELLED", next: [] },
];

/** What the filter value IN_PROGRESS stands for. */
export const statesInProgress: readonly State[] = [state.active, state.retry, state.error];

const nextOf = stateRows.map(({ next }) => new Set<State>(next));

/** Throws for a move that is not in the table. */
export function checkMove(from: State, to: State): void {
  assert(nextOf[from]?.has(to) === true, `a message moves from ${nameOf(from)} to ${nameOf(to)}`);
}

export function nameOf(value: State): string {
  return stateRows[value]?.name ?? "";
}
