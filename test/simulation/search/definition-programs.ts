/**
 * Indexes and aliases as a state machine beside a model of two maps, and crashes at every frame of its journal.
 *
 * (1) Every reply, and the lists of indexes and aliases after it, are those of the model.
 * (2) A store that replays the journal up to a frame has the lists that the model had then, and its indexes agree with
 *     its keys when SEARCH.WAITINDEXING has answered.
 */
import assert from "node:assert/strict";
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import type { Database } from "../../../src/store/database.ts";
import { findError, type Reply } from "../../../src/store/reply/reply.ts";
import { flat } from "../../../src/store/search/aggregation/slow/slow-aggregations.virtual.ts";
import { Draw } from "../../../src/store/search/query/random-filters.virtual.ts";
import { assertIndexesAgree } from "../../harness/index-agreement.ts";
import { replayed } from "../../harness/recording-journal.ts";
import { nilArray, plainReply, testCaller } from "../../harness/store-harness.ts";
import { isStopped, Subject } from "../store/undone-units.ts";

type Words = readonly Bytes[];

interface Definition {
  readonly type: Bytes;
  /** The words from PREFIX on. */
  readonly rest: Words;
}

/** What the lists show. */
interface Lists {
  readonly indexes: readonly Words[];
  readonly aliases: readonly Words[];
}

const STEPS = 40;
/** Crashes of one program: drawn from all frames. */
const CRASHES = 6;
const NAMES = ["i", "j", "7", "a b"] as const;
const definitions: readonly Definition[] = [
  { type: "HASH", rest: ["PREFIX", "1", "d:", "SCHEMA", "t", "TEXT"] },
  { type: "HASH", rest: ["PREFIX", "2", "d:", "e:", "SCHEMA", "t", "KEYWORD", "n", "U64", "FAST"] },
  { type: "JSON", rest: ["PREFIX", "1", "", "SCHEMA", "t", "TEXT", "FROM", "x.y"] },
];

export interface DefinitionOptions {
  /** A journal that has lost something. */
  readonly damage?: (frames: readonly Buffer[]) => readonly Buffer[];
}

export class DefinitionProgram {
  readonly #draw: Draw;
  readonly #damage: NonNullable<DefinitionOptions["damage"]>;
  readonly #subject = new Subject();
  readonly #indexes = new Map<Bytes, Definition>();
  readonly #aliases = new Map<Bytes, Bytes>();
  /** By the count of frames. */
  readonly #past = new Map<number, Lists>();

  constructor(seed: number, { damage = (frames) => frames }: DefinitionOptions = {}) {
    this.#draw = new Draw(seededRandom(seed));
    this.#damage = damage;
  }

  async run(): Promise<void> {
    this.#compare();
    for (let step = 0; step < STEPS; step += 1) {
      this.#step();
      this.#compare();
    }
    const positions = [...this.#past.keys()];
    for (let crash = 0; crash < CRASHES; crash += 1) await this.#crash(this.#draw.of(positions));
    await this.#crash(positions.at(-1) as number);
  }

  #call(...words: Words): Reply {
    return plainReply(this.#subject.run([words])[0] as Reply);
  }

  #step(): void {
    const draw = this.#draw;
    const name = draw.of(NAMES);
    const choice = draw.below(20);
    if (choice < 5) this.#create(name);
    else if (choice < 7) assert.equal(this.#call("SEARCH.DROP", name), Number(this.#indexes.delete(name)));
    else if (choice < 8) assert.equal(this.#call("UNLINK", name), Number(this.#indexes.delete(name)));
    else if (choice < 12) {
      const target = draw.of(NAMES);
      assert.equal(this.#call("SEARCH.ALIASADD", name, target), this.#aliases.has(name) ? 2 : 1);
      this.#aliases.set(name, target);
    } else if (choice < 14) assert.equal(this.#call("SEARCH.ALIASDEL", name), Number(this.#aliases.delete(name)));
    else if (choice < 15) this.#undo(name);
    else if (choice < 16) {
      this.#call(draw.of(["FLUSHALL", "FLUSHDB"]));
      this.#indexes.clear();
      this.#aliases.clear();
    } else if (choice < 17) {
      const isThere = this.#found(name) !== undefined;
      assert.equal(this.#call("SEARCH.REINDEX", name), Number(isThere));
    } else {
      this.#call("HSET", `${draw.of(["d:", "e:"])}${draw.below(5)}`, "t", `w${draw.below(3)}`, "n", "1");
      this.#call("JSON.SET", `f${draw.below(3)}`, "$", '{"x":{"y":"w"}}');
    }
  }

  #create(name: Bytes): void {
    const draw = this.#draw;
    const made = draw.of(definitions);
    const existsOk = draw.chance(0.4);
    const words = ["SEARCH.CREATE", name, ...(existsOk ? ["EXISTSOK"] : []), "ON", made.type, ...made.rest];
    const known = this.#indexes.get(name);
    const reply = this.#call(...words);
    if (known === undefined) {
      assert.equal(reply, 1);
      this.#indexes.set(name, made);
    } else if (existsOk && known === made) assert.equal(reply, 0);
    else assert.equal(findError(reply)?.text, `ERR Index ${name} already exists`);
  }

  /** A transaction that a limit stops after it has changed names. */
  #undo(name: Bytes): void {
    this.#subject.undoBytesMax = 150;
    const replies = this.#subject.run([
      ["SEARCH.ALIASADD", "undone", name],
      ["SEARCH.DROP", name],
      ["SEARCH.ALIASDEL", name],
      ["FLUSHALL"],
      ["SEARCH.CREATE", "undone", "ON", "HASH", "PREFIX", "1", "d:", "SCHEMA", "t", "TEXT"],
      ...Array.from({ length: 9 }, (_, at): Words => ["SET", `${at}`, "x".repeat(100)]),
    ]);
    this.#subject.undoBytesMax = Number.POSITIVE_INFINITY;
    assert.ok(isStopped(replies));
  }

  #found(name: Bytes): Bytes | undefined {
    if (this.#indexes.has(name)) return name;
    const target = this.#aliases.get(name);
    return target !== undefined && this.#indexes.has(target) ? target : undefined;
  }

  /** (1) */
  #compare(): void {
    const byName = ([one]: [Bytes, unknown], [other]: [Bytes, unknown]): number => (one < other ? -1 : 1);
    const lists: Lists = {
      indexes: [...this.#indexes].sort(byName).map(([name, { type }]) => ["name", name, "type", type]),
      aliases: [...this.#aliases].sort(byName),
    };
    const { database, journal } = this.#subject;
    assert.deepEqual(listsOf(database), lists, "the lists of names");
    for (const name of NAMES) {
      const found = this.#found(name);
      const described = this.#call("SEARCH.DESCRIBE", name);
      if (found === undefined) assert.deepEqual(described, nilArray, `no index is called ${name}`);
      else assert.equal((flat(described) as Bytes[])[1], found, `${name} is described`);
    }
    this.#past.set(journal.frames.length, lists);
  }

  /** (2) */
  async #crash(position: number): Promise<void> {
    const { journal, clock } = this.#subject;
    const store = replayed(this.#damage(journal.frames.slice(0, position)), new VirtualClock(clock.wallMs));
    const database = store.database("main");
    const lists = this.#past.get(position) as Lists;
    assert.deepEqual(listsOf(database), lists, `the lists of names after frame ${position}`);
    for (const [, name = ""] of lists.indexes)
      assert.equal(await database.command(testCaller, ["SEARCH.WAITINDEXING", name]), 1);
    assertIndexesAgree(database, `after frame ${position}`);
  }
}

function listsOf(database: Database): Lists {
  const list = (command: Bytes): readonly Words[] => {
    const reply = database.execute(testCaller, [command]);
    return flat(Array.isArray(reply) ? reply : []) as unknown as readonly Words[];
  };
  return { indexes: list("SEARCH.LISTINDEXES"), aliases: list("SEARCH.LISTALIASES") };
}
