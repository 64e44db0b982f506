/**
 * The only way to change the state: a change is written into the frame and then
 * applied, so that nothing can be done without a record. A frame is what one
 * decision did to one user; `commit` appends it.
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
  /** Of the user of the frame: most frames follow one of the same user. */
  #context: ApplyContext<User> | undefined;

  constructor(state: MessagingState, journal: Journal) {
    this.#state = state;
    this.#journal = journal;
    this.#bodies = new NewBodies(this.#frame, state);
  }

  /** Changes what a user has, in the frame that is being made. */
  apply<Kind extends UserKind>(user: User, kind: Kind, fields: UserFields<Kind>): UserResult<Kind> {
    const frame = this.#frame;
    assert(!user.isDropped, "nothing is recorded of a dropped user");
    assert(frame.isEmpty || frame.tenantNumber === user.number, "a frame belongs to one user");
    const row = userRecords[kind];
    row.write(frame.record(user.number, row.code), fields);
    if (this.#context?.user !== user) {
      this.#context = { state: this.#state, user, bodies: this.#bodies, isReplay: false };
    }
    return row.apply(this.#context, fields);
  }

  /** A change that is a frame of its own. */
  append<Kind extends UserKind>(user: User, kind: Kind, fields: UserFields<Kind>): UserResult<Kind> {
    assert(this.#frame.isEmpty, "no other frame is being made");
    const result = this.apply(user, kind, fields);
    this.commit();
    return result;
  }

  /** Changes the users of the area. It is a frame of its own. */
  appendToArea<Kind extends AreaKind>(kind: Kind, fields: AreaFields<Kind>): AreaResult<Kind> {
    assert(this.#frame.isEmpty, "no other frame is being made");
    const row = areaRecords[kind];
    row.write(this.#frame.record(AREA, row.code), fields);
    const result = row.apply({ state: this.#state, user: undefined, bodies: this.#bodies, isReplay: false }, fields);
    this.commit();
    return result;
  }

  /** Appends what was done since the last commit, if anything was. Returns the end of the journal. */
  commit(): number {
    if (this.#frame.isEmpty) return this.#journal.end;
    const owner = this.#state.findUserByNumber(this.#frame.tenantNumber);
    const position = this.#journal.append(this.#frame.take(), owner);
    this.#state.bodies.appended(position, this.#journal.appendedOffset);
    return position;
  }
}

/** Bodies of the frame that is being made: where they lie is known when it is written. */
class NewBodies implements BodyPlacer {
  readonly #frame: FrameWriter;
  readonly #state: MessagingState;

  constructor(frame: FrameWriter, state: MessagingState) {
    this.#frame = frame;
    this.#state = state;
  }

  place(field: BodyField, account: MemoryAccount): Body {
    assert(field instanceof Body, "a change brings a body with its bytes");
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
