/**
 * Clients of the store whose operations are noted from call to reply: together,
 * those of all owners of a shard must be explained by one store without a
 * network (`../linearizability/`).
 *
 * (1) A reply that waits for no commit leaves only while its node owns the shard.
 */

import { defaultUser } from "../../../src/store/acl/built-in-users.ts";
import type { Reply as StoreReply } from "../../../src/store/reply/reply.ts";
import type { Caller } from "../../../src/store/session/caller.ts";
import type { Store } from "../../../src/store/store.ts";
import type { ClientParts, Clients, Reply, Subject } from "../crash/subject.ts";
import type { Input, OperationLog, Output } from "../linearizability/operations.ts";
import { stateOf } from "../store/store-state.ts";
import { storeSubject } from "../store/store-subject.ts";

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };

const KEYS_PER_OBJECT = 2;

/** The store with such clients. All lives of a run note into one log. */
export function linearSubject(log: OperationLog): Subject<Store, string> {
  return { ...storeSubject, clients: (parts) => new LinearClients(parts, log) };
}

class LinearClients implements Clients<string> {
  readonly #parts: ClientParts<Store, string>;
  readonly #log: OperationLog;

  constructor(parts: ClientParts<Store, string>, log: OperationLog) {
    this.#parts = parts;
    this.#log = log;
  }

  begin(): void {
    this.#parts.engine.database("main");
  }

  ask(): Reply {
    const { engine, mayReply } = this.#parts;
    const input = this.#draw();
    const key = `${input.object}${this.#parts.random.below(KEYS_PER_OBJECT)}`;
    const note = this.#log.call(key, input);
    const reply = engine.database("main").command(caller, commandOf(key, input));
    if (reply instanceof Promise) {
      const sent = reply.then((waited) => {
        if (mayReply?.({ hasWaited: true }) !== false) noteReply(note, input, waited);
      });
      return { kind: "waits", sent };
    }
    if (mayReply?.({ hasWaited: false }) !== false) noteReply(note, input, reply); // keeps (1)
    return { kind: "sent" };
  }

  upkeep(): void {}

  changeTenants(): void {}

  state(): string {
    return stateOf(this.#parts.engine);
  }

  #draw(): Input {
    const { random, hasOnlyReaders } = this.#parts;
    const isWrite = hasOnlyReaders?.() !== true && random.below(2) === 0;
    switch (random.below(3)) {
      case 0:
        return isWrite
          ? { object: "register", name: "SET", value: `${random.below(2 ** 32)}` }
          : { object: "register", name: "GET" };
      case 1:
        return { object: "counter", name: isWrite ? "INCR" : "GET" };
      default:
        return isWrite
          ? { object: "list", name: "RPUSH", value: `${random.below(2 ** 32)}` }
          : { object: "list", name: "LRANGE" };
    }
  }
}

function commandOf(key: string, input: Input): readonly string[] {
  if (input.name === "LRANGE") return ["LRANGE", key, "0", "-1"];
  return "value" in input ? [input.name, key, input.value] : [input.name, key];
}

function noteReply(note: (output: Output) => void, input: Input, reply: StoreReply): void {
  const found = outputOf(reply);
  const output = input.object === "counter" && found !== undefined ? Number(found) : found;
  if (output !== undefined) note(output);
}

/** Undefined for an error: the store is full, and it is unknown to the client whether the operation took effect. */
function outputOf(reply: StoreReply): Output | undefined {
  if (Array.isArray(reply)) return (reply as readonly StoreReply[]).map(String);
  if (typeof reply === "string" || typeof reply === "number" || reply === null) {
    return reply;
  }
  return typeof reply === "object" && "kind" in reply && reply.kind === "simple" ? reply.text : undefined;
}
