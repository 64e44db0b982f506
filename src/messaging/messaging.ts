/** Messaging: all users of a server, with one journal. */

import type { LogReader, MessagingApi } from "./api.ts";
import { newSigningKeys } from "./delivery/signature.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import { type JournalLocation, replayFrame } from "./records/replay.ts";
import { snapshotFrames } from "./records/snapshot.ts";
import type { SigningKeys, User } from "./state/user.ts";
import { UserMessaging } from "./user-messaging.ts";

export interface MessagingOptions extends EngineOptions {
  readonly logReader: LogReader;
}

export class Messaging {
  readonly engine: Engine;
  readonly #options: MessagingOptions;
  readonly #apis = new WeakMap<User, MessagingApi>();

  constructor(options: MessagingOptions) {
    this.#options = options;
    this.engine = new Engine(options);
  }

  /** Messaging of a user; undefined if no user has this name. */
  user(name: string): MessagingApi | undefined {
    const user = this.engine.state.findUser(name);
    if (user === undefined) return undefined;
    let api = this.#apis.get(user);
    if (api === undefined) {
      api = new UserMessaging(this.engine, user, this.#options.logReader);
      this.#apis.set(user, api);
    }
    return api;
  }

  get userNames(): readonly string[] {
    return [...this.engine.state.users].map(({ name }) => name);
  }

  /**
   * Makes sure that a user of this name exists. `given` are the signing keys that the operator configured: they replace
   * the user's own if they differ from those configured before, so a restart does not undo a rotation. Without them the
   * user keeps its own keys, or gets new ones.
   */
  async createUser(name: string, given?: SigningKeys): Promise<void> {
    const known = this.engine.state.findUser(name);
    if (known === undefined) await this.engine.createUser(name, given ?? newSigningKeys());
    else if (given !== undefined && !areSame(given, known.givenKeys)) await this.engine.giveSigningKeys(known, given);
    else await this.engine.whenSafe();
  }

  /** Removes a user and everything it has. Calls under way end without a record. */
  async dropUser(name: string): Promise<void> {
    const user = this.engine.state.findUser(name);
    if (user === undefined) return;
    const dropped = this.engine.dropUser(user);
    this.#options.outbound.dropUser(name);
    await dropped;
  }

  /** Empties every user; their signing keys are the configured ones again. */
  async reset(): Promise<void> {
    const users = [...this.engine.state.users];
    await Promise.all(
      users.flatMap((user) => [this.engine.dropUser(user), this.engine.createUser(user.name, user.givenKeys)]),
    );
  }

  replay(frame: Buffer, location: JournalLocation | undefined): void {
    replayFrame(this.engine.state, frame, location);
  }

  dump(): Generator<Uint8Array> {
    return snapshotFrames(this.engine.state);
  }
}

function areSame(a: SigningKeys, b: SigningKeys): boolean {
  return a.current === b.current && a.next === b.next;
}
