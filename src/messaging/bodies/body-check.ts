/**
 * Finds the damaged bodies of a segment, when a check found the segment damaged or
 * missing.
 */
import { nextTurn } from "../../kernel/turn.ts";
import type { BodyOwner } from "../records/body-records.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import { loadUndamaged } from "./body.ts";
import { ownedBodies } from "./owned-bodies.ts";

export interface DamagedBody {
  readonly user: string;
  /** The owner: `message msg_…`, `dead letter 1-0`, `response of the dead letter 1-0`, `run wfr_…`. */
  readonly owner: string;
}

/** Other work gets a turn after this many bodies. */
const VISIT_COUNT = 20_000;

/**
 * Reads every body in these segments, and marks damaged ones in `Bodies`. Resolves with the owners of damaged bodies.
 * Rejects with the system's error.
 */
export async function findDamagedBodies(
  state: MessagingState,
  segments: ReadonlySet<number>,
): Promise<readonly DamagedBody[]> {
  const { bodies } = state;
  const damaged: DamagedBody[] = [];
  let visited = 0;
  for (const { user, body, owner } of ownedBodies(state)) {
    if (body.isWanted && body.length > 0 && segments.has(body.segment)) {
      // Before the read, during which a message may end.
      const text = ownerText(state, owner);
      const bytes = await loadUndamaged(bodies, body);
      if (bytes === undefined && body.isWanted) damaged.push({ user: user.name, owner: text });
    }
    visited += 1;
    if (visited % VISIT_COUNT === 0) await nextTurn();
  }
  return damaged;
}

function ownerText(state: MessagingState, owner: BodyOwner): string {
  switch (owner.kind) {
    case "message":
      return `message ${state.messageOf(owner.sequence).id}`;
    case "deadLetter":
      return `dead letter ${deadLetterIdText(owner.id)}`;
    case "response":
      return `response of the dead letter ${deadLetterIdText(owner.id)}`;
    case "entry":
      return `run ${owner.runId}`;
    case "runResult":
      return `result of the run ${owner.runId}`;
    case "failureAnswer":
      return `answer of the failure function of the run ${owner.runId}`;
    default: {
      const never: never = owner;
      throw never;
    }
  }
}
