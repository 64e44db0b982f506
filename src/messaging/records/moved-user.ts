/**
 * A user of a journal who moves to another one: read from the frames of the first,
 * as the only user of a state, with the number that it has in the other.
 *
 * (1) Ids of messages stay the same, because their sequence numbers do. Those that
 *     are given next are greater than those of both journals, so that no message
 *     of the user, and none in the log of the other journal, has the same one.
 */
import { FrameReader } from "../../kernel/frame.ts";
import { defaultLimits } from "../limits.ts";
import { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { AREA } from "./area-records.ts";
import { type JournalLocation, replayUserRecords } from "./replay.ts";
import { type AreaFields, type AreaKind, areaKindOf, areaRecords } from "./table.ts";

export interface UserMove {
  readonly name: string;
  /** In the other journal: one that it has not used. */
  readonly number: number;
  /** The last sequence number that the other journal has used. */
  readonly sequence: number;
}

export class MovedUser {
  readonly state = new MessagingState(defaultLimits);
  readonly #move: UserMove;
  /** In the journal that is read. */
  #number: number | undefined;

  constructor(move: UserMove) {
    this.#move = move;
    this.state.raiseSequence(move.sequence); // keeps (1)
  }

  /** The number of the user in the journal that is read; undefined: that has no user of this name. */
  get formerNumber(): number | undefined {
    return this.#number;
  }

  /** Undefined: the journal has no user of this name. */
  get user(): User | undefined {
    return this.state.findUser(this.#move.name);
  }

  /** A frame of the journal, or of its snapshot, for which `location` is undefined. Frames of other users are skipped. */
  replay(frame: Buffer, location: JournalLocation | undefined): void {
    const reader = new FrameReader(frame);
    const number = reader.number();
    if (number === AREA) while (!reader.isAtEnd) this.#replayOfArea(reader, areaKindOf(reader.code()));
    else if (number === this.#number && this.user !== undefined)
      replayUserRecords(this.state, { user: this.user, reader, location });
  }

  #replayOfArea<Kind extends AreaKind>(reader: FrameReader, kind: Kind): void {
    this.#areaRecords[kind](areaRecords[kind].read(reader));
  }

  readonly #areaRecords: { readonly [Kind in AreaKind]: (fields: AreaFields<Kind>) => void } = {
    userCreated: ({ number, name, keys }) => {
      if (name !== this.#move.name) return;
      this.#number = number;
      this.state.createUser(this.#move.number, name, keys);
    },
    userDropped: ({ number }) => {
      if (number !== this.#number || this.user === undefined) return;
      this.#number = undefined;
      this.state.dropUser(this.user);
    },
    numbersGiven: ({ sequence }) => this.state.raiseSequence(sequence), // keeps (1)
  };
}
