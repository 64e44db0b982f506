/**
 * Finds the damaged bodies of a segment, when a check found the segment damaged or
 * missing.
 */
import { nextTurn } from "../../kernel/turn.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import { type Body, loadUndamaged } from "./body.ts";

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
    visited += 1;
    if (visited % VISIT_COUNT === 0) await nextTurn();
    if (!body.isWanted || body.length === 0 || !segments.has(body.segment)) continue;
    const bytes = await loadUndamaged(bodies, body);
    if (bytes === undefined && body.isWanted) damaged.push({ user, owner: owner() });
  }
  return damaged;
}

interface OwnedBody {
  readonly user: string;
  readonly body: Body;
  readonly owner: () => string;
}

function* ownedBodies(state: MessagingState): Generator<OwnedBody> {
  for (const message of state.messages) {
    yield { user: message.user.name, body: message.body, owner: () => `message ${message.id}` };
  }
  for (const { name: user, deadLetters, runs } of [...state.users]) {
    for (const deadLetter of [...deadLetters.values()]) {
      const id = (): string => deadLetterIdText(deadLetter.id);
      yield { user, body: deadLetter.body, owner: () => `dead letter ${id()}` };
      yield { user, body: deadLetter.responseBody, owner: () => `response of the dead letter ${id()}` };
    }
    for (const run of runs.values()) {
      for (const { body } of run.entries) yield { user, body, owner: () => `run ${run.id}` };
      if (run.result !== undefined) yield { user, body: run.result, owner: () => `result of the run ${run.id}` };
      if (run.failureAnswer !== undefined) {
        yield { user, body: run.failureAnswer, owner: () => `answer of the failure function of the run ${run.id}` };
      }
    }
  }
}
