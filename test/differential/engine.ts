/**
 * Our side of the comparison: a store whose journal retains its frames, so that
 * after a program the same state can be rebuilt from the journal,
 * and from a snapshot, and compared with the served state.
 */
import assert from "node:assert/strict";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import type { Database } from "../../src/store/database.ts";
import { TransactionDiscarded } from "../../src/store/errors.ts";
import { Store } from "../../src/store/store.ts";
import { luaOptions } from "../harness/lua.ts";
import { memoryFault } from "../harness/memory-recount.ts";
import { testCaller } from "../harness/store-harness.ts";
import { asMilliseconds, asMultiset, asPairs, type Comparison, exact, isList, rawReply } from "./compare.ts";
import { asRebuiltStream, asStreamInfo } from "./families/stream.ts";
import type { Command } from "./programs.ts";
import type { RawReply } from "./redis-process.ts";

/** A command with our reply, and the comparison for it. */
export interface Answered {
  readonly command: Command;
  readonly ours: RawReply;
  readonly comparison: Comparison;
}

/** The command that reads a whole value, by type. */
interface Content {
  readonly command: (key: Bytes) => Command;
  readonly comparison: Comparison;
  /** Reads properties that Redis 7.0.15 does not have, or has in another way, given the content. */
  readonly ownCommand?: (key: Bytes, content: readonly RawReply[]) => Command;
  /** Exact if absent. */
  readonly ownComparison?: Comparison;
}

const contents: ReadonlyMap<string, Content> = new Map<string, Content>([
  ["string", { command: (key) => ["GET", key], comparison: exact }],
  [
    "hash",
    {
      command: (key) => ["HGETALL", key],
      comparison: asPairs,
      ownCommand: (key, content) => {
        const fields = content.filter((_, index) => index % 2 === 0).map(String);
        return ["HPEXPIRETIME", key, "FIELDS", `${fields.length}`, ...fields.toSorted()];
      },
    },
  ],
  ["zset", { command: (key) => ["ZRANGE", key, "0", "-1", "WITHSCORES"], comparison: exact }],
  ["list", { command: (key) => ["LRANGE", key, "0", "-1"], comparison: exact }],
  ["set", { command: (key) => ["SMEMBERS", key], comparison: asMultiset }],
  ["ReJSON-RL", { command: (key) => ["JSON.GET", key], comparison: exact }],
  [
    "stream",
    {
      command: (key) => ["XINFO", "STREAM", key, "FULL", "COUNT", "0"],
      comparison: asStreamInfo,
      ownCommand: (key) => ["XINFO", "STREAM", key, "FULL", "COUNT", "0"],
      ownComparison: asRebuiltStream,
    },
  ],
]);

/** A journal in memory, durable at once. */
class KeepingJournal implements Journal {
  readonly appendedOffset = 0;
  readonly frames: Buffer[] = [];
  readonly refusal = undefined;

  get end(): number {
    return this.frames.length;
  }

  get safe(): number {
    return this.frames.length;
  }

  append(frame: Uint8Array): number {
    return this.frames.push(Buffer.from(frame));
  }

  async whenSafe(): Promise<void> {}
}

export class Engine {
  readonly #journal = new KeepingJournal();
  readonly #store: Store;
  readonly #nowMs: number;

  /** A store with the clock stopped at `nowMs`, empty, or built from frames of a journal or a snapshot. */
  constructor(nowMs: number, frames: Iterable<Uint8Array> = [], from: "journal" | "snapshot" = "journal") {
    this.#nowMs = nowMs;
    this.#store = new Store({
      journal: this.#journal,
      clock: new VirtualClock(nowMs),
      random: seededRandom(1),
      hashSeed: new Uint8Array(8),
      lua: luaOptions,
    });
    this.#store.beginRecovery();
    const place = from === "journal" ? { segment: 1, offset: 0 } : undefined;
    for (const frame of frames) this.#store.replay(Buffer.from(frame), place);
    this.#store.endRecovery();
  }

  run(command: Command): RawReply {
    const reply = this.#database.command(testCaller, command);
    assert.ok(!(reply instanceof Promise), "a journal that is always durable answers at once");
    return rawReply(reply);
  }

  /** The replies, or the error that prevented the run. */
  transaction(commands: readonly Command[]): { replies: readonly RawReply[] } | { refusal: string } {
    try {
      const replies = this.#database.transaction(testCaller, commands);
      assert.ok(!(replies instanceof Promise), "a journal that is always durable answers at once");
      return { replies: replies.map(rawReply) };
    } catch (error) {
      if (error instanceof TransactionDiscarded) return { refusal: error.error.text };
      throw error;
    }
  }

  /**
   * Reads the whole state through commands: every key's type, expiry and content; with `own`, also what Redis 7.0.15
   * does not have.
   */
  readState({ own }: { own: boolean }): Answered[] {
    const answered: Answered[] = [];
    const ask = (command: Command, comparison: Comparison): RawReply => {
      const ours = this.run(command);
      answered.push({ command, ours, comparison });
      return ours;
    };
    if (own) ask(["FUNCTION", "LIST", "WITHCODE"], exact);
    const keys = ask(["KEYS", "*"], asMultiset);
    assert.ok(isList(keys), "KEYS answers an array");
    for (const key of keys.map(String).toSorted()) {
      const type = ask(["TYPE", key], exact);
      ask(["PEXPIRETIME", key], asMilliseconds);
      const name = typeof type === "object" && type !== null && "text" in type ? type.text : "none";
      const content = contents.get(name);
      assert.ok(content !== undefined, `type ${name} has a reader`);
      const whole = ask(content.command(key), content.comparison);
      if (own && content.ownCommand !== undefined && isList(whole))
        ask(content.ownCommand(key, whole), content.ownComparison ?? exact);
    }
    return answered;
  }

  /** The error in the memory that the database reports, or undefined. */
  memoryFault(): string | undefined {
    return memoryFault(this.#database.keyspace);
  }

  /** The same state rebuilt from the journal of this one. */
  replayed(): Engine {
    return new Engine(this.#nowMs, this.#journal.frames);
  }

  /** The same state rebuilt from a snapshot of this one. */
  restored(): Engine {
    return new Engine(this.#nowMs, copies(this.#store.dump()), "snapshot");
  }

  get #database(): Database {
    return this.#store.database("main");
  }
}

/** A frame of a snapshot is valid only until the next one is requested. */
function* copies(frames: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const frame of frames) yield Uint8Array.from(frame);
}
