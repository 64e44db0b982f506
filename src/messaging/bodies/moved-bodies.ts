/** The bodies of some users that are in a journal, for a journal with these users alone. */
import { assert } from "../../kernel/assert.ts";
import { FrameWriter } from "../../kernel/frame.ts";
import { userRecords } from "../records/table.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import type { Body } from "./body.ts";
import { type OwnedBody, ownedBodies } from "./owned-bodies.ts";

export interface MovedBody {
  /** Where its bytes are. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
  /** The frame for its bytes, valid until that of the next body, and their offset in it. */
  frame(bytes: Buffer): { readonly frame: Uint8Array; readonly offset: number };
  /** It is in another segment from now on, at this offset of the file: for the snapshot that covers that segment. */
  moved(segment: number, offset: number): void;
}

/** Each of them once; the caller moves each before it asks for the next one. Bodies whose bytes are in memory only stay there. */
export function* movedBodies(state: MessagingState, isKept: (user: User) => boolean): Generator<MovedBody> {
  const writer = new FrameWriter();
  for (const { user, body, owner } of bodiesInJournal(state, isKept)) {
    const { segment, offset, length, checksum } = body;
    yield {
      segment,
      offset,
      length,
      frame(bytes) {
        const row = userRecords.bodyMoved;
        row.write(writer.record(user.number, row.code), { owner, body: { checksum, bytes } });
        const frame = writer.take();
        assert(bytes.length === length, "a body that is moved keeps its length");
        return { frame, offset: frame.length - length };
      },
      moved: (number, at) => state.bodies.place(body, number, at),
    };
  }
}

/** The bytes of the bodies of each user that are in a journal. */
export function movedBytes(state: MessagingState): ReadonlyMap<User, number> {
  const bytes = new Map<User, number>();
  for (const { user, body } of bodiesInJournal(state, () => true))
    bytes.set(user, (bytes.get(user) ?? 0) + body.length);
  return bytes;
}

/** Each once. */
function* bodiesInJournal(state: MessagingState, isKept: (user: User) => boolean): Generator<OwnedBody> {
  const done = new Set<Body>();
  for (const owned of ownedBodies(state)) {
    const { user, body } = owned;
    if (!isKept(user) || body.segment <= 0 || body.length === 0 || done.has(body)) continue;
    done.add(body);
    yield owned;
  }
}
