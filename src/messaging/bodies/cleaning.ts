/**
 * Bodies that keep old segments of the journal: when less than half of a
 * segment is bodies that are still wanted, they are written once more at the
 * end of the journal, and the segment can go. So the journal is at most about
 * twice as long as what is in it.
 */
import { nextTurn } from "../../kernel/turn.ts";
import type { Engine } from "../engine.ts";
import type { User } from "../state/user.ts";
import { type Body, loadUndamaged } from "./body.ts";

/** A segment with a larger share of live bodies is left alone. */
const LIVE_SHARE_MAX = 0.5;
/** Others get a turn behind so many bytes. */
const PAUSE_BYTES = 1024 * 1024;
/** Messages or runs that are looked at between two turns of the event loop. */
const LOOK_COUNT = 20_000;

export interface OldSegment {
  readonly number: number;
  readonly bytes: number;
}

/** Moves bodies out of the segments that are worth it. Resolves with the count of bodies moved, appended but not synced. */
export async function moveBodies(engine: Engine, segments: readonly OldSegment[]): Promise<number> {
  const { liveBytes } = engine.realm.bodies;
  const worthIt = segments.filter(({ number, bytes }) => {
    const live = liveBytes.get(number) ?? 0;
    return live > 0 && live < bytes * LIVE_SHARE_MAX;
  });
  if (worthIt.length === 0) return 0;
  const numbers = new Set(worthIt.map(({ number }) => number));
  const { bodies } = engine.realm;
  const isOld = (body: Body): boolean =>
    body.isWanted && body.length > 0 && numbers.has(body.segment) && !bodies.isDamaged(body);
  const mover = new Mover(engine);
  let looked = 0;
  for (const message of engine.realm.messages) {
    looked += 1;
    if (looked % LOOK_COUNT === 0) await nextTurn();
    if (!isOld(message.body)) continue;
    await mover.move(message.user, message.body, (bytes) => {
      // One that failed meanwhile is a dead letter now, which may come below.
      if (engine.realm.messages.get(message.sequence) !== message) return;
      engine.changes.moveMessageBody(message, bytes);
    });
  }
  for (const user of [...engine.realm.users]) {
    for (const letter of [...user.deadLetters.values()]) {
      for (const owner of ["deadLetter", "response"] as const) {
        const body = owner === "deadLetter" ? letter.body : letter.responseBody;
        if (!isOld(body)) continue;
        await mover.move(user, body, (bytes) => engine.changes.moveLetterBody(user, letter, { owner, bytes }));
      }
    }
  }
  for (const user of [...engine.realm.users]) {
    // Not a copy: there may be very many. Runs that come meanwhile have new bodies.
    for (const run of user.runs.values()) {
      looked += 1;
      if (looked % LOOK_COUNT === 0) await nextTurn();
      for (const [index, { body }] of run.entries.entries()) {
        if (!isOld(body)) continue;
        await mover.move(user, body, (bytes) => engine.changes.moveRunBody(run, index, { body, bytes }));
      }
      for (const owner of ["runResult", "failureAnswer"] as const) {
        const body = owner === "runResult" ? run.result : run.failureAnswer;
        if (body === undefined || !isOld(body)) continue;
        await mover.move(user, body, (bytes) => engine.changes.moveRunBody(run, owner, { body, bytes }));
      }
    }
  }
  return mover.count;
}

class Mover {
  count = 0;
  readonly #engine: Engine;
  #bytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Reads a body and records it again, unless nobody wants it any more by then. */
  async move(user: User, body: Body, record: (bytes: Buffer) => void): Promise<void> {
    const { segment } = body;
    const bytes = await loadUndamaged(this.#engine.realm.bodies, body);
    if (bytes === undefined) return; // Whoever asks for it is told, and the others go on.
    if (!body.isWanted || body.segment !== segment || user.isDropped) return;
    record(bytes);
    this.#engine.changes.commit();
    this.count += 1;
    this.#bytes += bytes.length;
    if (this.#bytes < PAUSE_BYTES) return;
    this.#bytes = 0;
    await nextTurn();
  }
}
