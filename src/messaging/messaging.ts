/** Messaging: all users of a server, behind one journal. The door of the area. */
import type { SigningKeys, UserDoor } from "./door.ts";
import { dumpRealm } from "./dump.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import type { LogReader } from "./log-reader.ts";
import { type Place, replayFrame } from "./replay.ts";
import { newSigningKeys } from "./signing-keys.ts";
import type { User } from "./user.ts";
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

  /** Makes sure that there is a user of this name. `keys` replace its signing keys; absent: it keeps or gets its own. */
  async createUser(name: string, keys?: SigningKeys): Promise<void> {
    const { changes, realm } = this.engine;
    const known = realm.findUser(name);
    if (known === undefined) changes.createUser(name, keys ?? newSigningKeys());
    else if (keys !== undefined && (keys.current !== known.signingKeys.current || keys.next !== known.signingKeys.next))
      changes.putSigningKeys(known, keys);
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

  /** Empties every user; their signing keys stay. */
  async reset(): Promise<void> {
    for (const user of [...this.engine.realm.users]) {
      const { name, signingKeys } = user;
      this.engine.dropUser(user);
      this.engine.changes.commit();
      this.engine.changes.createUser(name, signingKeys);
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
