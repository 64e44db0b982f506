/** Messaging: all users of a server, behind one journal. The door of the area. */

import { newSigningKeys } from "./delivery/signing-keys.ts";
import type { SigningKeys, UserDoor } from "./door.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import type { LogReader } from "./log-reader.ts";
import { dumpRealm } from "./records/dump.ts";
import { type Place, replayFrame } from "./records/replay.ts";
import type { User } from "./state/user.ts";
import { EngineUserDoor } from "./user-door.ts";

export interface MessagingOptions extends EngineOptions {
  readonly logReader: LogReader;
}

export class Messaging {
  readonly engine: Engine;
  readonly #options: MessagingOptions;
  readonly #doors = new WeakMap<User, UserDoor>();

  constructor(options: MessagingOptions) {
    this.#options = options;
    this.engine = new Engine(options);
  }

  /** The door of a user, undefined if there is none of this name. */
  user(name: string): UserDoor | undefined {
    const user = this.engine.realm.findUser(name);
    if (user === undefined) return undefined;
    let door = this.#doors.get(user);
    if (door === undefined) {
      door = new EngineUserDoor(this.engine, user, this.#options.logReader);
      this.#doors.set(user, door);
    }
    return door;
  }

  get userNames(): readonly string[] {
    return [...this.engine.realm.users].map(({ name }) => name);
  }

  /**
   * Makes sure that there is a user of this name. `given` are its signing keys as the operator knows them: they replace
   * its own if they are others than were given before, so that a restart takes no rotation back. Absent: it keeps or gets
   * its own.
   */
  async createUser(name: string, given?: SigningKeys): Promise<void> {
    const { changes, realm } = this.engine;
    const known = realm.findUser(name);
    if (known === undefined) changes.createUser(name, given ?? newSigningKeys());
    else if (given !== undefined && !areSame(given, known.givenKeys)) changes.putSigningKeys(known, given, given);
    await this.engine.finish();
  }

  /** Removes a user and everything it has. Calls under way end without a record. */
  async dropUser(name: string): Promise<void> {
    const user = this.engine.realm.findUser(name);
    if (user === undefined) return;
    this.engine.dropUser(user);
    this.#options.outbound.dropUser(name);
    await this.engine.finish();
  }

  /** Empties every user; their signing keys are those that were given again. */
  async reset(): Promise<void> {
    for (const user of [...this.engine.realm.users]) {
      const { name, givenKeys } = user;
      this.engine.dropUser(user);
      this.engine.changes.commit();
      this.engine.changes.createUser(name, givenKeys);
      this.engine.changes.commit();
    }
    await this.engine.finish();
  }

  replay(frame: Buffer, place: Place | undefined): void {
    replayFrame(this.engine.realm, frame, place);
  }

  dump(): Generator<Uint8Array> {
    return dumpRealm(this.engine.realm);
  }
}

function areSame(a: SigningKeys, b: SigningKeys): boolean {
  return a.current === b.current && a.next === b.next;
}
