/**
 * two databases of one store share nothing. Two random programs run side by side on the same keys, each in its own
 * database, and each gets the replies and leaves the state of a run alone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../test/budget.ts";
import { bitmapFamily } from "../../test/differential/families/bitmap.ts";
import { genericFamily } from "../../test/differential/families/generic.ts";
import { geoFamily } from "../../test/differential/families/geo.ts";
import { hashFamily } from "../../test/differential/families/hash.ts";
import { jsonFamily } from "../../test/differential/families/json.ts";
import { listFamily } from "../../test/differential/families/list.ts";
import { scriptingFamily } from "../../test/differential/families/scripting.ts";
import { setFamily } from "../../test/differential/families/set.ts";
import { streamFamily } from "../../test/differential/families/stream.ts";
import { stringFamily } from "../../test/differential/families/string.ts";
import { type Command, drawProgram } from "../../test/differential/programs.ts";
import { luaOptions } from "../../test/harness/lua.ts";
import { contentOf, RecordingJournal, replayed, restored } from "../../test/harness/recording-journal.ts";
import { seedFrom } from "../../test/harness/seed.ts";
import { joinLine, plainReply, testCaller } from "../../test/harness/store-harness.ts";
import type { Bytes } from "../kernel/bytes.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import type { Random } from "../kernel/random.ts";
import type { Database } from "./database.ts";
import type { Reply } from "./reply/reply.ts";
import { Store } from "./store.ts";

/** A random source whose results do not depend on its other users. */
const NO_CHANCE: Random = { below: () => 0, unit: () => 0 };

function openStore(journal = new RecordingJournal()): Store {
  return new Store({
    journal,
    clock: new VirtualClock(),
    random: NO_CHANCE,
    hashSeed: new Uint8Array(8),
    lua: luaOptions,
  });
}

function run(database: Database, command: Command): Reply {
  const reply = database.command(testCaller, command);
  assert.ok(!(reply instanceof Promise));
  return plainReply(reply);
}

/**
 * Keys with type, value and expiry, and the functions. A set of integers that had another member comes back from a
 * snapshot in ascending order, so members of sets are sorted, as keys are.
 */
function stateOf(database: Database): unknown {
  const [, keysAndTypes] = run(database, ["SCAN", "0", "COUNT", "1000", "WITHTYPE"]) as [Bytes, readonly Bytes[]];
  const keys: [key: Bytes, ...unknown[]][] = [];
  for (let i = 0; i < keysAndTypes.length; i += 2) {
    const [key, type] = [keysAndTypes[i] as Bytes, keysAndTypes[i + 1] as Bytes];
    const value = run(database, type === "set" ? ["SORT", key, "ALPHA"] : ["DUMP", key]);
    keys.push([key, type, value, run(database, ["PEXPIRETIME", key])]);
  }
  keys.sort(([one], [other]) => (one < other ? -1 : 1));
  return [keys, run(database, ["FUNCTION", "DUMP"])];
}

const mixed = [
  jsonFamily,
  stringFamily,
  bitmapFamily,
  hashFamily,
  listFamily,
  setFamily,
  streamFamily,
  geoFamily,
  genericFamily,
  scriptingFamily,
];

const family = {
  name: mixed.map(({ name }) => name).join(", "),
  commands: mixed.flatMap(({ commands }) => commands),
  extensions: mixed.flatMap(({ extensions }) => extensions ?? []),
};

const first = seedFrom("LARDER_ISOLATION_SEED");

test("A-06: two programs side by side on the same keys get the same replies as alone", () => {
  const isSpent = spending(allowanceOf("isolation"));
  for (let seed = first; !isSpent(seed - first); seed += 1) {
    const programs = [seed, seed + 1_000].map((one) =>
      drawProgram(family, { seed: one, extensions: true }).steps.flat(),
    );
    const journal = new RecordingJournal();
    const shared = openStore(journal);
    const together = ["one", "other"].map((name) => shared.database(name));
    const alone = programs.map(() => openStore().database("one"));

    const length = Math.max(...programs.map((program) => program.length));
    for (let i = 0; i < length; i += 1) {
      for (const [index, program] of programs.entries()) {
        const command = program[i];
        const own = together[index];
        const solo = alone[index];
        if (command === undefined || own === undefined || solo === undefined) continue;
        assert.deepEqual(run(own, command), run(solo, command), `seed ${seed}, command ${i}: ${joinLine(command)}`);
      }
    }

    assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(shared), `journal, seed ${seed}`);
    const rebuilt = restored(shared.dump());
    for (const own of together)
      assert.deepEqual(stateOf(rebuilt.database(own.name)), stateOf(own), `snapshot, seed ${seed}`);
    for (const [index, own] of together.entries())
      assert.deepEqual(
        run(own, ["SCAN", "0", "COUNT", "1000", "WITHTYPE"]),
        run(alone[index] as Database, ["SCAN", "0", "COUNT", "1000", "WITHTYPE"]),
      );
  }
});

test("A-06: emptying and dropping one database leaves the other alone", () => {
  const store = openStore();
  const one = store.database("one");
  const other = store.database("other");
  for (const database of [one, other]) run(database, ["SET", "k", database.name]);

  run(one, ["FLUSHALL"]);
  assert.equal(run(other, ["GET", "k"]), "other");
  run(one, ["SET", "k", "again"]);
  store.dropDatabase("other");
  assert.equal(run(one, ["GET", "k"]), "again");
});
