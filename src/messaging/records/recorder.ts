/**
 * The only way to change the state: a change is written into the frame and then
 * applied, so no change is without a record. A frame has the changes of one
 * decision to one user; `commit` appends it.
 */
import { assert } from "../../kernel/assert.ts";
import { FrameWriter } from "../../kernel/frame.ts";
import type { Journal } from "../../kernel/journal.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import { Body } from "../bodies/body.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { AREA } from "./area-records.ts";
import type { BodyField } from "./fields.ts";
import type { ApplyContext, BodyPlacer } from "./row.ts";
import {
  type AreaFields,
  type AreaKind,
  type AreaResult,
  areaRecords,
  type UserFields,
  type UserKind,
  type UserResult,
  userRecords,
} from "./table.ts";

export class Recorder {
  readonly #frame = new FrameWriter();
  readonly #state: MessagingState;
  readonly #journal: Journal;
  readonly #bodies: NewBodies;
  /** The last context, reused because most frames follow one of the same user. */
  #context: ApplyContext<User> | undefined;

  constructor(state: MessagingState, journal: Journal) {
    this.#state = state;
    this.#journal = journal;
    this.#bodies = new NewBodies(this.#frame, state);
  }

  /** Makes a change of a user, in the current frame. */
  apply<Kind extends UserKind>(user: User, kind: Kind, fields: UserFields<Kind>): UserResult<Kind> {
    const frame = this.#frame;
    assert(!user.isDropped, "a dropped user is not changed");
    assert(frame.isEmpty || frame.tenantNumber === user.number, "a frame belongs to one user");
    const row = userRecords[kind];
    row.write(frame.record(user.number, row.code), fields);
    if (this.#context?.user !== user) {
      this.#context = { state: this.#state, user, bodies: this.#bodies, isReplay: false };
    }
    return row.apply(this.#context, fields);
  }

  /** Makes a change of a user as a frame of its own. */
  append<Kind extends UserKind>(user: User, kind: Kind, fields: UserFields<Kind>): UserResult<Kind> {
    assert(this.#frame.isEmpty, "no other frame is open");
    const result = this.apply(user, kind, fields);
    this.commit();
    return result;
  }

  /** Makes a change of the area as a frame of its own. */
  appendToArea<Kind extends AreaKind>(kind: Kind, fields: AreaFields<Kind>): AreaResult<Kind> {
    assert(this.#frame.isEmpty, "no other frame is open");
    const row = areaRecords[kind];
    row.write(this.#frame.record(AREA, row.code), fields);
    const result = row.apply({ state: this.#state, user: undefined, bodies: this.#bodies, isReplay: false }, fields);
    this.commit();
    return result;
  }

  /** Appends the changes since the last commit, if there are any. Returns the end of the journal. */
  commit(): number {
    if (this.#frame.isEmpty) return this.#journal.end;
    const owner = this.#state.findUserByNumber(this.#frame.tenantNumber);
    const position = this.#journal.append(this.#frame.take(), owner);
    this.#state.bodies.appended(position, this.#journal.appendedOffset);
    return position;
  }
}

/** Bodies of the current frame: their location is known when it is written. */
class NewBodies implements BodyPlacer {
  readonly #frame: FrameWriter;
  readonly #state: MessagingState;

  constructor(frame: FrameWriter, state: MessagingState) {
    this.#frame = frame;
    this.#state = state;
  }

  place(field: BodyField, account: MemoryAccount): Body {
    assert(field instanceof Body, "a change has a body with its bytes");
    this.#state.bodies.note(field, this.#frame.byteCount - field.length, account);
    return field;
  }

  move(body: Body): void {
    this.#state.bodies.note(body, this.#frame.byteCount - body.length);
  }

  restore(): never {
    throw new Error("Only a replay restores bodies");
  }
}
