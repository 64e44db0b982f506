/** Applies frames of a journal or a snapshot to the state: those of `Recorder` and `snapshot.ts`. */

import { assert } from "../../kernel/assert.ts";
import { crc32 } from "../../kernel/checksum/crc32.ts";
import { FrameReader } from "../../kernel/frame.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import { Body } from "../bodies/body.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { AREA } from "./area-records.ts";
import type { BodyField, StoredBody } from "./fields.ts";
import type { ApplyContext, BodyPlacer } from "./row.ts";
import { type AreaKind, areaKindOf, areaRecords, type UserKind, userKindOf, userRecords } from "./table.ts";

/** The location of the payload of a frame; undefined for a frame of a snapshot. */
export interface JournalLocation {
  readonly segment: number;
  readonly offset: number;
}

export function replayFrame(state: MessagingState, frame: Buffer, location: JournalLocation | undefined): void {
  const reader = new FrameReader(frame);
  const number = reader.number();
  if (number === AREA) {
    const bodies = new ReplayedBodies(state, location);
    const context = { state, user: undefined, bodies, isReplay: true };
    while (!reader.isAtEnd) replayAreaRecord(context, reader, areaKindOf(reader.code()));
    return;
  }
  replayUserRecords(state, { user: state.userOf(number), reader, location });
}

/** `reader` has read the number of the user. */
export function replayUserRecords(
  state: MessagingState,
  { user, reader, location }: { user: User; reader: FrameReader; location: JournalLocation | undefined },
): void {
  const context = { state, user, bodies: new ReplayedBodies(state, location), isReplay: true };
  while (!reader.isAtEnd) replayUserRecord(context, reader, userKindOf(reader.code()));
}

function replayAreaRecord<Kind extends AreaKind>(
  context: ApplyContext<undefined>,
  reader: FrameReader,
  kind: Kind,
): void {
  const row = areaRecords[kind];
  row.apply(context, row.read(reader));
}

function replayUserRecord<Kind extends UserKind>(context: ApplyContext<User>, reader: FrameReader, kind: Kind): void {
  const row = userRecords[kind];
  row.apply(context, row.read(reader));
}

/** A body of the journal is read when it is needed; a body that is only in the snapshot is copied into memory. */
class ReplayedBodies implements BodyPlacer {
  readonly #state: MessagingState;
  readonly #location: JournalLocation | undefined;

  constructor(state: MessagingState, location: JournalLocation | undefined) {
    this.#state = state;
    this.#location = location;
  }

  place(field: BodyField, account: MemoryAccount): Body {
    assert(!(field instanceof Body), "a replay reads its bodies");
    const { checksum, bytes, offset } = field;
    if (this.#location === undefined || bytes.length === 0) return this.#take(checksum, bytes, account);
    const body = new Body(undefined, { length: bytes.length, checksum }, false);
    this.#state.bodies.place(body, this.#location.segment, this.#location.offset + offset);
    return body;
  }

  move(body: Body, field: object): void {
    assert(this.#location !== undefined && "offset" in field, "bodies are moved in journals");
    this.#state.bodies.place(body, this.#location.segment, this.#location.offset + Number(field.offset));
  }

  restore(field: StoredBody, account: MemoryAccount): Body {
    if (!("segment" in field)) return this.#take(field.checksum, field.bytes, account);
    const body = new Body(undefined, field, false);
    this.#state.bodies.place(body, field.segment, field.offset);
    return body;
  }

  #take(checksum: number, bytes: Buffer, account: MemoryAccount): Body {
    assert(crc32(bytes) === checksum, "a body in a frame has its checksum");
    const body = new Body(Buffer.from(bytes), { length: bytes.length, checksum }, false);
    this.#state.bodies.keep(body, account);
    return body;
  }
}
