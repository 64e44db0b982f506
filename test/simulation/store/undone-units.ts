/**
 * Transactions and scripts that are stopped, and what they leave: nothing.
 *
 * Two stores run the same random program. One of them also runs units that a
 * limit stops after some commands. After each of those its whole state, byte by
 * byte and in order, is that before; and every later reply, and the state at
 * the end, is that of the store that never ran them.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { Database } from "../../../src/store/database.ts";
import { StoppedUnit, TransactionDiscarded } from "../../../src/store/errors.ts";
import { findError, type Reply } from "../../../src/store/reply/reply.ts";
import { Store } from "../../../src/store/store.ts";
import { typeOf } from "../../../src/store/values/table.ts";
import { type Command, drawProgram, type Family } from "../../differential/programs.ts";
import { luaOptions } from "../../harness/lua.ts";
import { memoryFault } from "../../harness/memory-recount.ts";
import { contentOf, RecordingJournal, replayed } from "../../harness/recording-journal.ts";
import { testCaller } from "../../harness/store-harness.ts";

/** Readings of the clock after which a script is stopped; each is a millisecond. */
const SCRIPT_READINGS = 30;
/** Memory of the undo log after which a transaction is stopped: up to some twenty commands, or one on a long value. */
const UNDO_BYTES_MAX = 5_000;
const UNIT_COMMANDS_MAX = 20;
/** One in this many steps comes after a unit that is to be stopped, and one in this many of those is a script. */
const UNIT_ONE_IN = 4;
const SCRIPT_ONE_IN = 12;
/** Now and then keys expire, some of them in a unit. */
const ADVANCE_ONE_IN = 10;
const ADVANCE_MS_MAX = 200_000;

const NOW_MS = 1_800_000_000_000;

/** Runs all commands, each given as the count of its words and the words, and never ends. */
const CALL_ALL: Bytes = `
local at = 1
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  redis.pcall(unpack(ARGV, at + 1, at + count))
  at = at + count + 1
end
while true do end`;

/** The time of a script is the number of readings; commands see a clock that the test moves. */
export class ScriptClock extends VirtualClock {
  wallMs = NOW_MS;
  #readings = 0;

  override nowMs(): number {
    return this.wallMs;
  }

  override monotonicMs(): number {
    this.#readings += 1;
    return this.#readings;
  }

  override threadCpuMs(): number {
    return this.monotonicMs();
  }
}

/** A store whose undo log is as long as a test wants, and whose random numbers follow from the step alone. */
export class Subject {
  readonly journal = new RecordingJournal();
  readonly clock = new ScriptClock();
  readonly store: Store;
  readonly database: Database;
  #random: Random = seededRandom(0);

  constructor() {
    this.store = new Store({
      journal: this.journal,
      clock: this.clock,
      random: { below: (bound) => this.#random.below(bound), unit: () => this.#random.unit() },
      hashSeed: new Uint8Array(8),
      lua: { ...luaOptions, limits: { budgetMs: SCRIPT_READINGS } },
      keepsSettings: true,
    });
    this.database = this.store.database("main");
  }

  /** The limit of the undo log of the next units. */
  set undoBytesMax(bytesMax: number) {
    (this.database.context as { undoBytesMax: number }).undoBytesMax = bytesMax;
  }

  /** Runs a command, or several as a transaction; a refusal of all is one reply. */
  run(step: readonly Command[], seed = 0): readonly Reply[] {
    this.#random = seededRandom(seed);
    const [first] = step;
    if (step.length === 1 && first !== undefined) return [this.database.execute(testCaller, first)];
    try {
      return this.database.transaction(testCaller, step) as readonly Reply[];
    } catch (error) {
      assert.ok(error instanceof TransactionDiscarded);
      return [{ kind: "error", error: error.error }];
    }
  }

  /** What a stopped unit must leave as it was. Memory of a list, sorted set or stream depends on its history too. */
  state(): unknown {
    const { entries, expiries, fieldExpiryKeys, ...rest } = this.database.keyspace;
    const { expiredCount, expiredFieldCount, evictedCount } = rest;
    return {
      content: contentOf(this.store),
      encodings: [...entries.entries()].map(([key, value]) => [key, typeOf(value).encoding(value)]),
      expiries: [...expiries.entries()],
      fieldExpiryKeys: [...fieldExpiryKeys.keys()],
      counts: { expiredCount, expiredFieldCount, evictedCount },
      memoryFault: memoryFault(this.database.keyspace),
      frameCount: this.journal.frames.length,
    };
  }
}

/** The reply of a unit that a limit stopped. */
export function isStopped([reply]: readonly Reply[]): boolean {
  return reply !== undefined && findError(reply) instanceof StoppedUnit;
}

/** A script that runs these commands and is stopped. */
export function endlessScript(commands: readonly Command[]): Command {
  return ["EVAL", CALL_ALL, "0", ...commands.flatMap((words) => [`${words.length}`, ...words])];
}

export interface UndoneCounts {
  undone: number;
  completed: number;
}

/** Runs one program of a family with stopped units between its steps, and counts those. */
export function runUndoneUnits(family: Family, seed: number): UndoneCounts {
  const random = seededRandom(seed);
  const subject = new Subject();
  const twin = new Subject();
  const counts: UndoneCounts = { undone: 0, completed: 0 };
  for (const command of longValues) for (const each of [subject, twin]) each.run([command]);
  const { steps } = drawProgram(family, { seed, extensions: true });
  const units = drawProgram(family, { seed: seed + 1_000_000, extensions: true }).steps.flat();
  for (const [index, step] of steps.entries()) {
    if (random.below(ADVANCE_ONE_IN) === 0) {
      const laterMs = random.below(ADVANCE_MS_MAX);
      for (const each of [subject, twin]) each.clock.wallMs += laterMs;
    }
    if (random.below(UNIT_ONE_IN) === 0) {
      const start = random.below(units.length);
      const commands = units.slice(start, start + 2 + random.below(UNIT_COMMANDS_MAX));
      const unit = random.below(SCRIPT_ONE_IN) === 0 ? [endlessScript(commands)] : commands;
      subject.undoBytesMax = random.below(UNDO_BYTES_MAX);
      const before = subject.state();
      const replies = subject.run(unit, index);
      subject.undoBytesMax = Number.POSITIVE_INFINITY;
      if (isStopped(replies)) {
        counts.undone += 1;
        assert.deepEqual(subject.state(), before, `step ${index}, undone: ${JSON.stringify(unit)}`);
        // Scripts of an undone unit stay cached.
        for (const each of [subject, twin]) each.database.scripts.cache.flush();
      } else {
        counts.completed += 1;
        twin.run(unit, index);
      }
    }
    const replies = subject.run(step, index);
    const expected = twin.run(step, index);
    if (step.some(isUnpromised)) continue;
    // Such a step may have changed something else in each store, so nothing after it can be compared.
    if (step.some(followsOrder) && !isDeepStrictEqual(replies, expected)) return counts;
    if (isDeepStrictEqual(replies, expected)) continue;
    // The reply may tell of what is not stored, such as the chunks of a stream; what is stored must be the same.
    assert.deepEqual(contentOf(subject.store), contentOf(twin.store), `step ${index}: ${JSON.stringify(step)}`);
    return counts;
  }
  assert.deepEqual(contentOf(subject.store), contentOf(twin.store));
  const { wallMs } = subject.clock;
  assert.deepEqual(contentOf(replayed(subject.journal.frames, new VirtualClock(wallMs))), contentOf(subject.store));
  return counts;
}

/** Chance picks by places, and CLAIM takes the entries of one moment in the order in which they became pending. */
function followsOrder(words: Command): boolean {
  return /^(?:[sz]randmember|hrandfield|spop)$/i.test(words[0] ?? "") || words.some((word) => /^claim$/i.test(word));
}

/** The order within a step of a scan is not promised, and a command of an undone unit has used its keys. */
function isUnpromised([name = "", subcommand = ""]: Command): boolean {
  return /scan$/i.test(name) || (/^object$/i.test(name) && /^(?:idletime|freq)$/i.test(subcommand));
}

function range(count: number, words: (index: number) => readonly Bytes[]): Bytes[] {
  return Array.from({ length: count }, (_, index) => words(index)).flat();
}

/** Values in the forms for many elements, at keys that the families use. */
const longValues: readonly Command[] = [
  ["SET", "a", "x".repeat(5_000)],
  ["HSET", "b", ...range(200, (index) => [`f${index}`, `${index}`])],
  ...["f3", "f5", "f150"].map((field, index) => [
    "HPEXPIREAT",
    "b",
    `${NOW_MS + 50_000 + index}`,
    "FIELDS",
    "1",
    field,
  ]),
  ["RPUSH", "c", ...range(400, (index) => [`e${index % 90}`])],
  ["SADD", "d", ...range(300, (index) => [`m${index}`])],
  ["ZADD", "key:5", ...range(200, (index) => [`${index}`, `m${index}`])],
  ["PFADD", "", ...range(2_000, (index) => [`${index}`])],
  ["JSON.SET", "copy", "$", JSON.stringify({ a: Object.fromEntries(range(40, (i) => [`n${i}`]).map((n) => [n, n])) })],
  ...Array.from(
    { length: 250 },
    (_, index): Command => ["XADD", "\x00\xff\r\n", `${index + 1}-0`, "field", `v${index}`],
  ),
  ["XGROUP", "CREATE", "\x00\xff\r\n", "g", "0"],
  ["XREADGROUP", "GROUP", "g", "alice", "COUNT", "20", "STREAMS", "\x00\xff\r\n", ">"],
];
