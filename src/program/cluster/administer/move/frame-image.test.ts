/** What moves with a database or an index: the whole of it, and nothing of others, whatever their journal has been through. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../../../test/harness/recording-journal.ts";
import { StagedAreas } from "../../../../../test/harness/staged-area.ts";
import { VirtualClock } from "../../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../../kernel/random.ts";
import { defaultUser, Store } from "../../../../store/mod.ts";
import { VectorEngine } from "../../../../vector/index/mod.ts";
import { defaultVectorLimits } from "../../../../vector/mod.ts";
import { defaultIndex } from "../../../settings/index-settings.ts";
import { type FrameImage, readFrameImage as readImage, readFrameOutline as readOutline } from "./frame-image.ts";

const SEEDS = 25;
const COMMANDS = 400;

/** Each frame is valid until the next one is requested. */
function copied(frames: Iterable<Uint8Array>): readonly Buffer[] {
  return Array.from(frames, (frame) => Buffer.from(frame));
}

async function imageOf(...args: Parameters<typeof readImage>): Promise<FrameImage> {
  const image = await readImage(...args);
  assert.ok(image !== undefined);
  return image;
}

const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" } as const;

function newStore(journal?: RecordingJournal): Store {
  const options = { clock: new VirtualClock(), random: seededRandom(1), hashSeed: new Uint8Array(8) };
  return new Store({ ...options, ...(journal !== undefined && { journal }) });
}

/** Changes of keys of each kind, few and large. */
function randomCommand(below: (count: number) => number): readonly string[] {
  const key = `k${below(6)}`;
  const many = Array.from({ length: 1 + below(below(4) === 0 ? 300 : 5) }, () => `m${below(400)}`);
  const kinds: readonly (() => readonly string[])[] = [
    () => ["SET", `t${key}`, many.join(" "), ...(below(3) === 0 ? ["EX", "1000"] : [])],
    () => ["DEL", `${"tslhz"[below(5)]}${key}`],
    () => ["SADD", `s${key}`, ...many],
    () => ["SREM", `s${key}`, ...many],
    () => ["RPUSH", `l${key}`, ...many],
    () => ["LTRIM", `l${key}`, "1", String(below(100))],
    () => ["HSET", `h${key}`, ...many.flatMap((field) => [field, String(below(9))])],
    () => ["HDEL", `h${key}`, ...many],
    () => ["ZADD", `z${key}`, ...many.flatMap((member) => [String(below(50)), member])],
    () => ["ZREM", `z${key}`, ...many],
    () => ["RENAME", `s${key}`, `sk${below(6)}`],
    () => ["XADD", `x${key}`, "*", "field", many[0] ?? ""],
  ];
  return kinds[below(kinds.length)]?.() ?? [];
}

test("the image of a database has its keys with their values, also when it is read from its copy", async (context) => {
  const files = new StagedAreas(context);
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = seededRandom(seed);
    const below = (count: number): number => random.below(count);
    const journal = new RecordingJournal();
    const store = newStore(journal);
    // A database of this name was dropped before, and the number after it belongs to another one.
    store.database("shop").command(caller, ["SET", "old", "value"]);
    store.dropDatabase("shop");
    for (let count = 0; count < COMMANDS; count += 1)
      store.database(["shop", "toys"][below(2)] ?? "").command(caller, randomCommand(below));
    const source = await files.write("store", undefined, journal.frames);
    assert.deepEqual((await readOutline(source)).names.toSorted(), ["shop", "toys"], `seed ${seed}`);
    const image = await imageOf(source, { name: "shop", number: 9 });
    const target = await files.write("store", copied(image.frames()), []);
    assert.deepEqual(await readOutline(target), {
      names: ["shop"],
      position: 0,
      nextFile: 3,
      nextTenant: 10,
      lastMessage: 0,
    });
    const copy = await imageOf(target, { name: "shop", number: 9 });
    assert.deepEqual([copy.items, copy.checksum], [image.items, image.checksum], `seed ${seed}`);

    const restored = newStore();
    for (const frame of copy.frames()) restored.replay(Buffer.from(frame));
    const own = store.database("shop");
    const keys = own.command(caller, ["KEYS", "*"]) as string[];
    assert.equal(image.items, keys.length);
    for (const key of keys)
      for (const command of ["DUMP", "PEXPIRETIME"])
        assert.deepEqual(
          restored.database("shop").command(caller, [command, key]),
          own.command(caller, [command, key]),
          `seed ${seed}: ${command} ${key}`,
        );
    // One value less, and the checksum differs.
    restored.database("shop").command(caller, ["SET", "other", "value"]);
    const other = await files.write("store", copied(restored.dump()), []);
    assert.notEqual((await imageOf(other, { name: "shop", number: 9 })).checksum, image.checksum);
  }
});

test("a shard without the tenant has no image", async (context) => {
  const files = new StagedAreas(context);
  const journal = new RecordingJournal();
  const store = newStore(journal);
  store.database("toys").command(caller, ["SET", "k", "v"]);
  store.database("shop");
  store.dropDatabase("shop");
  const source = await files.write("store", undefined, journal.frames);
  assert.equal(await readImage(source, { name: "shop", number: 3 }), undefined);
  assert.deepEqual(await readOutline(await files.write("store", undefined, [])), {
    ...{ names: [], position: 0, nextFile: 2, nextTenant: 1, lastMessage: 0 },
  });
});

test("the image of an index has another number than any index of the new shard", async (context) => {
  const files = new StagedAreas(context);
  const journal = new RecordingJournal();
  const engine = new VectorEngine({
    ...{ journal, clock: new VirtualClock(), random: seededRandom(1), limits: defaultVectorLimits, graphs: undefined },
    newHandle: () => "handle",
  });
  const embedders = { dense: undefined, sparse: undefined };
  engine.define("other", defaultIndex.definition, embedders);
  const docs = engine.define("docs", defaultIndex.definition, embedders);
  for (const namespace of ["", "second"])
    for (let count = 0; count < 40; count += 1)
      docs.upsert(namespace, [
        { id: `r${count}`, vector: Float32Array.of(count, 1, 2), metadata: `{"size":${count}}`, data: `text ${count}` },
      ]);
  docs.delete("second", { kind: "ids", ids: ["r1", "r7"] });
  const source = await files.write("vector", undefined, journal.frames);
  const image = await imageOf(source, { name: "docs", number: 300 });
  assert.equal(image.items, 78);
  const target = await files.write("vector", copied(image.frames()), []);
  assert.deepEqual(await readOutline(target), {
    names: ["docs"],
    position: 0,
    nextFile: 3,
    nextTenant: 301,
    lastMessage: 0,
  });
  const copy = await imageOf(target, { name: "docs", number: 300 });
  assert.deepEqual([copy.items, copy.checksum], [78, image.checksum]);
  for (const each of [image, copy]) each.close();
  engine.close();
});
