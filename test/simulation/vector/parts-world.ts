/**
 * An index whose graph has several parts, in several lives, beside a Map: random
 * upserts, replacements and removals, of which some move records to other parts,
 * while searches run, with threads or without, with rows in memory or on disk.
 * Before each further life a graph file may be removed or damaged, and the life may
 * begin with a snapshot, which numbers the records again.
 *
 * (1) The hits of an answer are there when it is made, each once, as many as pass.
 * (2) An exact search finds the nearest records, and walks find SHARE_MIN of them.
 * (3) A record that is not in a part yet is found by its own vector.
 * (4) The parts have all rows, once each, in their graphs or pending, and no part
 *     has more than its share.
 * (5) After a start, the records whose file was missing, damaged or mostly of dead
 *     nodes are pending.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import type { Effort } from "../../../src/vector/api.ts";
import type { GraphPart } from "../../../src/vector/graph-parts/graph-part.ts";
import type { PartedGraph } from "../../../src/vector/graph-parts/parted-graph.ts";
import { type Similarity, similarities } from "../../../src/vector/index/definition.ts";
import type { Namespace } from "../../../src/vector/index/namespace.ts";
import type { ScoredView } from "../../../src/vector/index/record.ts";
import { clusteredRows, nearestRows } from "../../harness/clustered-rows.ts";
import { RecordingJournal } from "../../harness/recording-journal.ts";
import { DIMENSION, DiskLife, emptyDisk } from "./disk-world.ts";
import { MemoryFiles } from "./graph-world.ts";

const IDS = 3_000;
const LIVES = 3;
const STEPS = 10;
const TOP_K = 5;
const TENTHS = 10;
/** So little that the walks of all parts cost less than a scan. */
const EFFORTS: readonly Effort[] = ["exact", 12, 16, 24];
const WALK_EFFORT = 16;
const FILTERS = ["", "tenth = 3", "tenth != 3", "thousand = 2"];
const PART_RECORDS = [544, 768, 1_024];
const QUERIES = 12;
const SHARE_MIN = 0.95;
const FRESH = 8;

const DRAWN = 4_000;
const drawn = clusteredRows(seededRandom(17), { count: DRAWN, dimension: DIMENSION, clusters: 60, noise: 0.3 });
const rowAt = (i: number): Float32Array => drawn.slice(i * DIMENSION, (i + 1) * DIMENSION);

/** What a planted bug changes. */
export interface PartsPlant {
  /** Called again after each write, with the graph and perhaps more parts. */
  readonly graph?: (graph: PartedGraph) => void;
  /** Called for the files of each life. */
  readonly files?: (files: MemoryFiles) => void;
}

export interface PartsRun {
  /** The broken rule; undefined if all hold. */
  readonly fault: string | undefined;
  readonly answerCount: number;
  readonly partCount: number;
  readonly recall: number;
}

interface Stored {
  readonly number: number;
  readonly vector: Float32Array;
}

/** Runs the world of a seed. */
export async function runPartsWorld(seed: number, plant: PartsPlant = {}): Promise<PartsRun> {
  const world = new PartsWorld(seed, plant);
  await world.run();
  const { fault, answerCount, partCount, recall } = world;
  return { fault, answerCount, partCount, recall };
}

class PartsWorld {
  readonly #random: Random;
  readonly #plant: PartsPlant;
  readonly #similarity: Similarity;
  readonly #partRecords: number;
  readonly #files = new MemoryFiles();
  readonly #life: Omit<Parameters<typeof DiskLife.begin>[0], "journal" | "disk">;
  readonly #stored = new Map<string, Stored>();
  #current: DiskLife | undefined;
  #asked: Promise<void>[] = [];
  #found = 0;
  #wanted = 0;
  fault: string | undefined;
  answerCount = 0;
  /** The most parts that the graph had. */
  partCount = 0;

  constructor(seed: number, plant: PartsPlant) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#plant = plant;
    this.#similarity = pick(random, similarities);
    this.#partRecords = pick(random, PART_RECORDS);
    plant.files?.(this.#files);
    this.#life = {
      rows: random.below(2) === 0 ? "memory" : "disk",
      hasThreads: random.below(3) > 0,
      definition: { similarity: this.#similarity },
      partRecords: this.#partRecords,
      graphFiles: this.#files,
    };
  }

  get recall(): number {
    return this.#found / Math.max(1, this.#wanted);
  }

  async run(): Promise<void> {
    let life = await DiskLife.begin({ ...this.#life, disk: emptyDisk() });
    for (let count = 0; count < LIVES && this.fault === undefined; count += 1) {
      this.#current = life;
      if (count === 0) this.#put(Array.from({ length: IDS }, (_, number) => number));
      await this.#live();
      const parts = this.#namespace.graph?.parts ?? [];
      const worn = new Set(parts.filter(isWorn).map(({ number }) => number));
      const journal = this.#random.below(2) === 0 ? life.journal : snapshotOf(life);
      await life.end();
      if (this.fault !== undefined) return;
      worn.add(this.#harm());
      const lost = parts.filter(({ number }) => worn.has(number));
      const pendingCount = lost.reduce((sum, { recordCount }) => sum + recordCount, 0);
      life = await DiskLife.begin({ ...this.#life, journal, disk: life.disk });
      this.#current = life;
      this.#checkStart(pendingCount);
    }
    await life.end();
    if (this.recall < SHARE_MIN) this.#break(`(2) walks find ${this.#found} of ${this.#wanted}`);
  }

  async #live(): Promise<void> {
    for (let step = 0; step < STEPS && this.fault === undefined; step += 1) {
      this.#act();
      this.#checkParts();
      for (let turns = this.#random.below(4); turns > 0; turns -= 1) await nextTurn();
    }
    await Promise.all(this.#asked);
    this.#asked = [];
    await this.#here.settled();
    this.#checkParts();
    await this.#checkWalks();
    await this.#checkFresh();
    await this.#here.settled();
  }

  #act(): void {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
      case 1:
        this.#put(Array.from({ length: 1 + random.below(200) }, () => random.below(IDS)));
        break;
      case 2:
        this.#remove(random.below(8));
        break;
      case 3:
        // So many gaps that records move to lower numbers; then some numbers are used again.
        if (random.below(3) === 0) this.#remove(85);
        this.#put(Array.from({ length: IDS / 2 }, () => random.below(IDS)));
        break;
      case 4:
        this.#here.builder.runOnce(random.below(700));
        break;
      default:
        for (let count = random.below(4); count >= 0; count -= 1) this.#asked.push(this.#ask());
    }
  }

  #put(numbers: readonly number[]): void {
    const unique = [...new Set(numbers)];
    for (let from = 0; from < unique.length; from += 500) {
      const records = unique.slice(from, from + 500).map((number) => {
        const vector = rowAt(this.#random.below(DRAWN));
        // The last ones are the ones written last.
        this.#stored.delete(`r-${number}`);
        this.#stored.set(`r-${number}`, { number, vector });
        // The records of a thousand are in few parts.
        const metadata = JSON.stringify({ tenth: number % TENTHS, thousand: Math.floor(number / 1_000) });
        return { id: `r-${number}`, vector, metadata };
      });
      this.#here.index.upsert("", records);
    }
    this.#show();
  }

  /** Removes about so many of a hundred records. */
  #remove(percent: number): void {
    const ids = [...this.#stored.keys()].filter(() => this.#random.below(100) < percent);
    for (let from = 0; from < ids.length; from += 500)
      this.#here.index.delete("", { kind: "ids", ids: ids.slice(from, from + 500) });
    for (const id of ids) this.#stored.delete(id);
    this.#show();
  }

  #show(): void {
    const { graph } = this.#namespace;
    if (graph === undefined) return;
    this.partCount = Math.max(this.partCount, graph.parts.length);
    this.#plant.graph?.(graph);
  }

  async #ask(): Promise<void> {
    const effort = pick(this.#random, EFFORTS);
    const filter = pick(this.#random, FILTERS);
    const vector = rowAt(this.#random.below(DRAWN));
    try {
      const include = { metadata: false, vectors: false, data: false };
      const query = { vector, topK: TOP_K, include, filter, effort, weighting: undefined, fusion: "RRF" } as const;
      const answer = this.#here.index.query("", [query]);
      // An answer at once is checked at once, before the caller writes.
      const [hits = []] = answer instanceof Promise ? await answer : answer;
      this.#checkAnswer(hits, { vector, filter, isExact: effort === "exact" });
    } catch (failure) {
      this.#break(String(failure));
    }
  }

  /** The answer is that of the state now: nothing is written between the last step of a search and its answer. */
  #checkAnswer(
    hits: readonly ScoredView[],
    asked: { readonly vector: Float32Array; readonly filter: string; readonly isExact: boolean },
  ): void {
    this.answerCount += 1;
    const passing = this.#passing(asked.filter);
    for (const { id } of hits) if (!passing.has(id)) this.#break(`(1) ${id} is found, but it is not there`);
    if (new Set(hits.map(({ id }) => id)).size < hits.length) this.#break("(1) a record is found twice");
    const count = Math.min(TOP_K, passing.size);
    if (hits.length !== count) this.#break(`(1) ${hits.length} hits instead of ${count}`);
    if (!asked.isExact) return;
    const missed = this.#missed(hits, asked.vector, passing);
    if (missed > 0) this.#break(`(2) an exact search misses ${missed} records`);
  }

  async #checkWalks(): Promise<void> {
    for (let i = 0; i < QUERIES && this.fault === undefined; i += 1) {
      const vector = rowAt(this.#random.below(DRAWN));
      const filter = i % 3 === 0 ? "thousand = 1" : "";
      const hits = await this.#here.ask({ vector, topK: TOP_K, effort: WALK_EFFORT, filter });
      this.#checkAnswer(hits, { vector, filter, isExact: false });
      this.#wanted += hits.length;
      this.#found += hits.length - this.#missed(hits, vector, this.#passing(filter));
    }
  }

  /** keeps (3) */
  async #checkFresh(): Promise<void> {
    // A longer vector may have a larger product with it than its own.
    if (this.#similarity === "DOT_PRODUCT") return;
    this.#put(Array.from({ length: FRESH }, () => this.#random.below(IDS)));
    for (const { vector } of [...this.#stored.values()].slice(-FRESH)) {
      const [best] = await this.#here.ask({ vector, topK: 1, effort: WALK_EFFORT });
      const wanted = [...this.#stored].filter(([, stored]) => isEqual(stored.vector, vector)).map(([id]) => id);
      if (!wanted.includes(best?.id ?? "")) this.#break(`(3) ${best?.id} is nearer than ${wanted}`);
    }
  }

  /** keeps (4) */
  #checkParts(): void {
    const { graph, rowCount } = this.#namespace;
    if (graph === undefined) return;
    let sum = 0;
    for (const { number, recordCount, graph: part } of graph.parts) {
      const count = part.count + part.pendingCount;
      if (count !== recordCount) this.#break(`(4) part ${number} has ${count} records, but counts ${recordCount}`);
      if (count > this.#partRecords) this.#break(`(4) part ${number} has ${count} records`);
      sum += count;
    }
    if (sum !== rowCount) this.#break(`(4) the parts have ${sum} records, but there are ${rowCount} rows`);
  }

  /** Damages a file. Returns the number of its part, or -1. */
  #harm(): number {
    const { files } = this.#files;
    const names = [...files.keys()];
    const kind = this.#random.below(4);
    if (names.length === 0 || kind === 3) return -1;
    const name = pick(this.#random, names);
    const bytes = files.get(name) as Uint8Array;
    const place = this.#random.below(bytes.length);
    if (kind === 0) files.delete(name);
    else if (kind === 1) files.set(name, bytes.slice(0, place));
    else {
      const damaged = bytes.slice();
      damaged[place] = (damaged[place] as number) ^ 16;
      files.set(name, damaged);
    }
    return Number(name.split("-")[3] ?? 0);
  }

  /** keeps (5) */
  #checkStart(pendingCount: number): void {
    const { graph } = this.#namespace;
    if (graph === undefined) return;
    if (graph.pendingCount !== pendingCount)
      this.#break(`(5) ${graph.pendingCount} records are pending after a start instead of ${pendingCount}`);
    this.#show();
  }

  #passing(filter: string): ReadonlyMap<string, Stored> {
    if (filter === "") return this.#stored;
    const [field, operator, value] = filter.split(" ") as [string, string, string];
    const passes = ({ number }: Stored): boolean => {
      const own = field === "tenth" ? number % TENTHS : Math.floor(number / 1_000);
      return (own === Number(value)) === (operator === "=");
    };
    return new Map([...this.#stored].filter(([, stored]) => passes(stored)));
  }

  /** How many of the nearest records are not hits; equal vectors count as one record. */
  #missed(hits: readonly ScoredView[], vector: Float32Array, passing: ReadonlyMap<string, Stored>): number {
    const all = [...passing.values()];
    const rowOf = (i: number): Float32Array => (all[i] as Stored).vector;
    const nearest = nearestRows(vector, { similarity: this.#similarity, count: TOP_K, among: all.keys(), rowOf });
    const found = hits.flatMap(({ id }) => passing.get(id) ?? []);
    return nearest.filter((i) => !found.some((hit) => isEqual(hit.vector, rowOf(i)))).length;
  }

  get #here(): DiskLife {
    if (this.#current === undefined) throw new Error("A life has begun");
    return this.#current;
  }

  get #namespace(): Namespace {
    const [placed] = this.#here.engine.namespaces;
    if (placed === undefined) throw new Error("The default namespace exists");
    return placed.namespace;
  }

  #break(fault: string): void {
    this.fault ??= `${this.#life.rows}, ${this.#similarity}, parts of ${this.#partRecords}: ${fault}`;
  }
}

/** The file of so few live nodes is refused, because more than half of it is lost. */
function isWorn({ graph }: GraphPart): boolean {
  return graph.count < (graph.kernel?.nodeCount ?? 0) / 2;
}

/** A journal that begins with a snapshot. */
function snapshotOf({ engine }: DiskLife): RecordingJournal {
  const journal = new RecordingJournal();
  for (const frame of engine.dump()) journal.append(frame);
  return journal;
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item;
}

function isEqual(one: Float32Array, other: Float32Array): boolean {
  return one.every((value, i) => value === other[i]);
}
