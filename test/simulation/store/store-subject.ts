/** The store as the subject of crash tests. */
import { defaultUser } from "../../../src/store/acl/built-in-users.ts";
import { TransactionDiscarded } from "../../../src/store/errors.ts";
import type { Caller } from "../../../src/store/session/caller.ts";
import { Store } from "../../../src/store/store.ts";
import { assertIndexesAgree } from "../../harness/index-agreement.ts";
import { luaOptions } from "../../harness/lua.ts";
import type { ClientParts, Clients, Reply, Subject } from "../crash/subject.ts";
import {
  type Server as CrashServer,
  type ServerOptions,
  startServer as startCrashServer,
  writeServerSnapshot,
} from "../server.ts";
import { stateOf } from "./store-state.ts";
import { Workload } from "./workload.ts";

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };

/** A state is its text: the live store itself says what it must hold. */
export const storeSubject: Subject<Store, string> = {
  area: "store",
  empty: "",
  open: (parts) => new Store({ ...parts, hashSeed: new Uint8Array(8), lua: luaOptions }),
  stateOf,
  textOf: (state) => state,
  clients: (parts) => new StoreClients(parts),
};

class StoreClients implements Clients<string> {
  readonly #parts: ClientParts<Store, string>;
  readonly #workload: Workload;

  constructor(parts: ClientParts<Store, string>) {
    this.#parts = parts;
    this.#workload = new Workload(parts.random);
  }

  begin(): void {
    this.#parts.engine.database("main");
  }

  ask(): Reply {
    const { engine: store, journal, random, note } = this.#parts;
    const { databaseNames } = store;
    const database = store.database(databaseNames[random.below(databaseNames.length)] ?? "main");
    const request = this.#workload.request();
    switch (request.kind) {
      case "command":
        return replyOf(() => database.command(caller, request.command));
      case "transaction":
        return replyOf(() => database.transaction(caller, request.commands));
      case "pipeline": {
        // Each of its commands is a unit, so each frame has a state after it.
        journal.onAppend = note;
        const reply = replyOf(() => database.pipeline(caller, request.commands));
        journal.onAppend = () => {};
        return reply;
      }
    }
  }

  upkeep(): void {
    const { engine: store, note } = this.#parts;
    for (const database of store.databases) {
      database.sweepExpired();
      note();
      assertIndexesAgree(database, "upkeep");
    }
  }

  changeTenants(): void {
    const { engine: store } = this.#parts;
    if (store.databaseNames.includes("second")) store.dropDatabase("second");
    else store.database("second");
  }

  state(): string {
    return stateOf(this.#parts.engine);
  }
}

function replyOf(run: () => unknown): Reply {
  let reply: unknown;
  try {
    reply = run();
  } catch (error) {
    if (!(error instanceof TransactionDiscarded)) throw error;
    return { kind: "blind" }; // It saw nothing of the store's contents.
  }
  return reply instanceof Promise ? { kind: "waits", sent: reply } : { kind: "sent" };
}

// A server of the store for tests without random draws.

export interface Server extends Omit<CrashServer<Store>, "engine"> {
  readonly store: Store;
}

export async function startServer(options: Omit<ServerOptions<Store>, "subject">): Promise<Server> {
  const { engine: store, ...rest } = await startCrashServer({ ...options, subject: storeSubject });
  return { ...rest, store };
}

export function writeStoreSnapshot(
  options: Pick<ServerOptions<Store>, "disk" | "clock" | "random" | "harness">,
): Promise<boolean> {
  return writeServerSnapshot({ ...options, subject: storeSubject });
}
