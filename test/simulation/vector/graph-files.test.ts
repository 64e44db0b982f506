/**
 * Graphs and their files (threats.md B-06, B-07, A-19): written records are found
 * by their own vectors, and a damaged file counts as missing. Each check finds
 * the bug planted for it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { graphFiles } from "../../../src/program/workers/graph-files.ts";
import type { GraphBuilder, LoadedGraph, NamespaceGraph } from "../../../src/vector/graph/graph.ts";
import { checksumOf } from "../../../src/vector/graph/graph-file.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { GraphWorld, MemoryFiles } from "./graph-world.ts";

const FILE = "graph-1-0";
const DIRECTORY = "/area";
const SAMPLE = 100;
const POWER_CUTS = 20;
/** Each restart replays the whole journal. */
const RESTARTS = 2;

/** Every word of the header and of the trailer, and some between. */
function placesOf(bytes: Uint8Array): readonly number[] {
  const random = seededRandom(5);
  const ends = Array.from({ length: 64 }, (_, i) => [i, bytes.length - 1 - i]).flat();
  return [...ends, ...Array.from({ length: 500 }, () => random.below(bytes.length))];
}

function* damagedFiles(bytes: Uint8Array): Generator<{ readonly what: string; readonly damaged: Uint8Array }> {
  for (const place of placesOf(bytes)) {
    const flipped = bytes.slice();
    flipped[place] = (flipped[place] as number) ^ (1 << (place & 7));
    yield { what: `a bit flipped at ${place}`, damaged: flipped };
    if (place === 0) continue;
    yield { what: `cut off at ${place}`, damaged: bytes.slice(0, place) };
    const start = place & ~63;
    const end = Math.min(bytes.length, start + 64);
    const twice = Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
    yield { what: `64 bytes at ${start} doubled`, damaged: twice };
    if (bytes.subarray(start, end).every((byte) => byte === 0)) continue;
    yield { what: `zeros at ${start}`, damaged: bytes.slice().fill(0, start, end) };
  }
}

/** The first damaged file that is accepted. */
function findBelieved(builder: GraphBuilder, world: GraphWorld, bytes: Uint8Array): string | undefined {
  const { graphOptions, versions } = world;
  for (const { what, damaged } of damagedFiles(bytes)) {
    const loaded = builder.load(graphOptions, damaged, versions);
    if (loaded.kind === "refused") continue;
    loaded.graph.close();
    return what;
  }
  return undefined;
}

describe("a namespace with a graph", () => {
  const world = new GraphWorld();
  const files = new MemoryFiles();

  before(async () => {
    await world.fill();
    await world.write();
  });

  after(() => world.close());

  test("B-07: finds a written record by its own vector, and no deleted one", () => {
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("B-06: finds the same after a restart with the file or an older one", async () => {
    await world.save(files);
    await world.restart(files);
    assert.equal(world.pendingCount, 0, "the file holds all of it");
    assert.deepEqual(world.faults(SAMPLE), []);

    await world.write();
    await world.restart(files);
    assert.ok(world.pendingCount > 0, "the file is older than the records");
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("B-06, A-19: refuses a file damaged anywhere", async () => {
    await world.save(files);
    const bytes = files.files.get(FILE) as Uint8Array;
    assert.equal(findBelieved(world.builder, world, bytes), undefined);
  });

  test("B-06: a refused file counts as missing", async () => {
    await world.save(files);
    const bytes = files.files.get(FILE) as Uint8Array;
    const random = seededRandom(7);
    const all = [...damagedFiles(bytes)];
    for (let i = 0; i < RESTARTS; i += 1) {
      const { what, damaged } = all[random.below(all.length)] as (typeof all)[number];
      files.files.set(FILE, damaged);
      await world.restart(files);
      assert.equal(world.pendingCount, world.vectors.size, `${what}: nothing of it is used`);
      assert.deepEqual(world.faults(SAMPLE), [], what);
    }
    await world.engine.namespaces[0]?.namespace.graph?.whenBuilt();
    assert.equal(world.pendingCount, 0);
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("S-07: a power cut during a write of the file leaves the old one or the new one", async () => {
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DIRECTORY);
    await disk.syncDirectory("/");
    await world.save(graphFiles(disk, DIRECTORY));
    const path = `${DIRECTORY}/${FILE}`;
    const old = disk.bytesOf(path);
    await world.write();

    const left: SimulatedDisk[] = [];
    const random = seededRandom(3);
    disk.onBoundary = () => {
      for (let i = 0; i < POWER_CUTS; i += 1) left.push(disk.afterPowerCut(random));
    };
    await world.save(graphFiles(disk, DIRECTORY));

    const fresh = disk.bytesOf(path);
    assert.ok(!fresh.equals(old), "the graph has changed");
    const found = left.map((each) => each.bytesOf(path));
    assert.ok(found.every((bytes) => bytes.equals(old) || bytes.equals(fresh)));
    assert.ok(found.some((bytes) => bytes.equals(old)) && found.some((bytes) => bytes.equals(fresh)));
    // An unfinished file is not used and does not stay.
    for (const each of left.slice(-RESTARTS)) await world.restart(graphFiles(each, DIRECTORY));
    assert.deepEqual(world.faults(SAMPLE), []);
  });
});

describe("planted bugs", () => {
  test("finds an update that keeps the old row in the graph", async () => {
    const world = new GraphWorld((builder) => new ChangedBuilder(builder, keepingOldRows));
    await world.fill();
    await world.write();
    assert.match(world.faults(SAMPLE).join("\n"), /r-\d+ is found as/);
    world.close();
  });

  test("finds a graph file that is trusted without its checksum", async () => {
    const world = new GraphWorld();
    await world.fill();
    const files = new MemoryFiles();
    await world.save(files);
    const trusting = new ChangedBuilder(world.builder, (graph) => graph);
    trusting.seen = withFittingChecksum;
    assert.match(findBelieved(trusting, world, files.files.get(FILE) as Uint8Array) ?? "none", / at \d+$/);
    world.close();
  });
});

/** A builder whose graphs behave differently, or that sees other file contents. */
class ChangedBuilder implements GraphBuilder {
  readonly #builder: GraphBuilder;
  readonly #change: (graph: NamespaceGraph) => NamespaceGraph;
  seen = (bytes: Uint8Array): Uint8Array => bytes;

  constructor(builder: GraphBuilder, change: (graph: NamespaceGraph) => NamespaceGraph) {
    this.#builder = builder;
    this.#change = change;
  }

  open(options: Parameters<GraphBuilder["open"]>[0]): NamespaceGraph {
    return this.#change(this.#builder.open(options));
  }

  load(...[options, bytes, records]: Parameters<GraphBuilder["load"]>): LoadedGraph {
    return this.#builder.load(options, this.seen(bytes), records);
  }

  close(): Promise<void> {
    return this.#builder.close();
  }
}

function keepingOldRows(graph: NamespaceGraph): NamespaceGraph {
  const known = new Set<number>();
  return new Proxy(graph, {
    get(target, name): unknown {
      if (name === "insert") {
        return (record: number, version: number): void => {
          if (!known.has(record)) target.insert(record, version);
          known.add(record);
        };
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function withFittingChecksum(bytes: Uint8Array): Uint8Array {
  if (bytes.length % 4 !== 0) return bytes;
  const words = new Uint32Array(bytes.slice().buffer);
  words[words.length - 1] = checksumOf(words.subarray(0, -1), 0);
  return new Uint8Array(words.buffer);
}
