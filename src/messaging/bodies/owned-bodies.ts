/** All bodies of a state with their owners. */
import type { BodyOwner, RunBodyKind } from "../records/body-records.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Run } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { Body } from "./body.ts";

export interface OwnedBody {
  readonly user: User;
  readonly body: Body;
  readonly owner: BodyOwner;
}

/** The body of an entry of a run is also that of its message, and comes once for each. */
export function* ownedBodies(state: MessagingState): Generator<OwnedBody> {
  for (const { user, body, sequence } of state.messages) yield { user, body, owner: { kind: "message", sequence } };
  for (const user of [...state.users]) {
    for (const { id, body, responseBody } of [...user.deadLetters.values()]) {
      yield { user, body, owner: { kind: "deadLetter", id } };
      yield { user, body: responseBody, owner: { kind: "response", id } };
    }
    for (const run of user.runs.values())
      for (const { kind, index, body } of bodiesOf(run)) yield { user, body, owner: { kind, runId: run.id, index } };
  }
}

/** The bodies of a run. */
export function* bodiesOf(
  run: Run,
): Generator<{ readonly kind: RunBodyKind; readonly index: number; readonly body: Body }> {
  for (const [index, { body }] of run.entries.entries()) yield { kind: "entry", index, body };
  if (run.result !== undefined) yield { kind: "runResult", index: 0, body: run.result };
  if (run.failureAnswer !== undefined) yield { kind: "failureAnswer", index: 0, body: run.failureAnswer };
}
