/**
 * Bodies that keep old segments of the journal: when less than half of a
 * segment is bodies that are still wanted, they are written once more at the
 * end of the journal, and the segment can go. So the journal is at most about
 * twice as long as what is in it.
 */
import { nextTurn } from "../../kernel/turn.ts";
import type { BodyOwner, RunBodyKind } from "../records/body-records.ts";
import type { Recorder } from "../records/recorder.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Run } from "../state/run.ts";
import type { User } from "../state/user.ts";
import { type Bodies, type Body, loadUndamaged } from "./body.ts";

/** A segment with a larger share of live bodies is left alone. */
const LIVE_SHARE_MAX = 0.5;
/** Others get a turn after so many bytes. */
const PAUSE_BYTES = 1024 * 1024;
/** Messages or runs that are looked at between two turns of the event loop. */
const LOOK_COUNT = 20_000;

export interface OldSegment {
  readonly number: number;
  readonly bytes: number;
}

/** What bodies are moved in. */
export interface Cleaned {
  readonly state: MessagingState;
  readonly recorder: Recorder;
}

/** Moves bodies out of the segments that are worth it. Resolves with the count of bodies moved, appended but not synced. */
export async function moveBodies({ state, recorder }: Cleaned, segments: readonly OldSegment[]): Promise<number> {
  const { bodies } = state;
  const worthIt = segments.filter(({ number, bytes }) => {
    const live = bodies.liveBytes.get(number) ?? 0;
    return live > 0 && live < bytes * LIVE_SHARE_MAX;
  });
  if (worthIt.length === 0) return 0;
  const numbers = new Set(worthIt.map(({ number }) => number));
  const isOld = (body: Body): boolean =>
    body.isWanted && body.length > 0 && numbers.has(body.segment) && !bodies.isDamaged(body);
  const mover = new Mover(bodies, recorder);
  let looked = 0;
  for (const { user, sequence, body } of state.messages) {
    looked += 1;
    if (looked % LOOK_COUNT === 0) await nextTurn();
    if (!isOld(body)) continue;
    await mover.move(user, body, () => {
      // One that failed meanwhile is a dead letter now, which may come below.
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
    // Not a copy: there may be very many. Runs that come meanwhile have new bodies.
    for (const run of user.runs.values()) {
      looked += 1;
      if (looked % LOOK_COUNT === 0) await nextTurn();
      for (const { kind, index, body } of bodiesOf(run)) {
        if (isOld(body)) await mover.move(user, body, () => ({ kind, runId: run.id, index }));
      }
    }
  }
  return mover.count;
}

function* bodiesOf(run: Run): Generator<{ readonly kind: RunBodyKind; readonly index: number; readonly body: Body }> {
  for (const [index, { body }] of run.entries.entries()) yield { kind: "entry", index, body };
  if (run.result !== undefined) yield { kind: "runResult", index: 0, body: run.result };
  if (run.failureAnswer !== undefined) yield { kind: "failureAnswer", index: 0, body: run.failureAnswer };
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

  /** Reads a body and records it again, unless nobody wants it any more by then: then it has no owner either. */
  async move(user: User, body: Body, ownerNow: () => BodyOwner | undefined): Promise<void> {
    const { segment, checksum } = body;
    const bytes = await loadUndamaged(this.#bodies, body);
    if (bytes === undefined) return; // Whoever asks for it gets an error, and the others continue.
    if (!body.isWanted || body.segment !== segment || user.isDropped) return;
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
