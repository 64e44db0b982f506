/**
 * Moves bodies out of old segments of the journal: when bodies in use are less
 * than half of a segment, they are written again at the end of the journal, and
 * the segment can be removed. So the journal is at most about twice as long as
 * its contents.
 */
import { nextTurn } from "../../kernel/turn.ts";
import type { BodyOwner } from "../records/body-records.ts";
import type { Recorder } from "../records/recorder.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { type Bodies, type Body, loadUndamaged } from "./body.ts";
import { bodiesOf } from "./owned-bodies.ts";

/** A segment with a larger share of live bodies is not cleaned. */
const LIVE_SHARE_MAX = 0.5;
/** Other work gets a turn after this many bytes. */
const PAUSE_BYTES = 1024 * 1024;
/** Messages or runs that are visited between two turns of the event loop. */
const VISIT_COUNT = 20_000;

export interface OldSegment {
  readonly number: number;
  readonly bytes: number;
}

/** The state whose bodies are moved, and its recorder. */
export interface Cleaned {
  readonly state: MessagingState;
  readonly recorder: Recorder;
}

/** Moves bodies out of segments with few live bodies. Resolves with the count of moved bodies, not synced yet. */
export async function moveBodies({ state, recorder }: Cleaned, segments: readonly OldSegment[]): Promise<number> {
  const { bodies } = state;
  const chosen = segments.filter(({ number, bytes }) => {
    const live = bodies.liveBytes.get(number) ?? 0;
    return live > 0 && live < bytes * LIVE_SHARE_MAX;
  });
  if (chosen.length === 0) return 0;
  const numbers = new Set(chosen.map(({ number }) => number));
  const isOld = (body: Body): boolean =>
    body.isWanted && body.length > 0 && numbers.has(body.segment) && !bodies.isDamaged(body);
  const mover = new Mover(bodies, recorder);
  let visited = 0;
  for (const { user, sequence, body } of state.messages) {
    visited += 1;
    if (visited % VISIT_COUNT === 0) await nextTurn();
    if (!isOld(body)) continue;
    await mover.move(user, body, () => {
      // A message that failed meanwhile is now a dead letter, which may come below.
      return state.messages.get(sequence)?.body === body ? { kind: "message", sequence } : undefined;
    });
  }
  for (const user of [...state.users]) {
    for (const { id, body, responseBody } of [...user.deadLetters.values()]) {
      if (isOld(body)) await mover.move(user, body, () => ({ kind: "deadLetter", id }));
      if (isOld(responseBody)) await mover.move(user, responseBody, () => ({ kind: "response", id }));
    }
  }
  for (const user of [...state.users]) {
    // Not a copy, because there may be very many runs. Runs that are added meanwhile have new bodies.
    for (const run of user.runs.values()) {
      visited += 1;
      if (visited % VISIT_COUNT === 0) await nextTurn();
      for (const { kind, index, body } of bodiesOf(run)) {
        if (isOld(body)) await mover.move(user, body, () => ({ kind, runId: run.id, index }));
      }
    }
  }
  return mover.count;
}

class Mover {
  count = 0;
  readonly #bodies: Bodies;
  readonly #recorder: Recorder;
  #bytes = 0;

  constructor(bodies: Bodies, recorder: Recorder) {
    this.#bodies = bodies;
    this.#recorder = recorder;
  }

  /** Reads a body and records it again, unless it was freed meanwhile: then it has no owner either. */
  async move(user: User, body: Body, ownerNow: () => BodyOwner | undefined): Promise<void> {
    const { segment, checksum } = body;
    const bytes = await loadUndamaged(this.#bodies, body);
    if (bytes === undefined) return; // A damaged body stays: reading it is an error, and the others are moved.
    if (!body.isWanted || body.segment !== segment || user.isDropped || user.isFrozen) return;
    const owner = ownerNow();
    if (owner === undefined) return;
    this.#recorder.append(user, "bodyMoved", { owner, body: { checksum, bytes } });
    this.count += 1;
    this.#bytes += bytes.length;
    if (this.#bytes < PAUSE_BYTES) return;
    this.#bytes = 0;
    await nextTurn();
  }
}
