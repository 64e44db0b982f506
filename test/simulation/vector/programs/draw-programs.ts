/**
 * Random programs over a few indexes. Each program first draws its character:
 * the indexes, the kind of numbers, how many ids there are, and which steps are
 * frequent, so that programs differ widely.
 */
import { seededRandom } from "../../../../src/kernel/random.ts";
import type { DeleteSelection, QueryOptions, TextQuery, VectorQuery } from "../../../../src/vector/api.ts";
import {
  type IndexDefinition,
  type IndexType,
  indexTypes,
  type RowPlacement,
  similarities,
} from "../../../../src/vector/index/definition.ts";
import type { NewRecord, RecordChange } from "../../../../src/vector/index/record.ts";
import type { Call, CallKind, Command } from "./command.ts";
import { type Components, Draw } from "./draw-values.ts";

export interface ProgramIndex {
  readonly definition: IndexDefinition;
  /** The dimension of its vectors; given for an open dimension too. */
  readonly dimension: number;
  readonly components: Components;
}

/** Some indexes of a program have their rows on disk. */
export interface ProgramRows {
  /** By index. A restart moves some of them. */
  readonly placements: readonly RowPlacement[];
  /** Work from which a namespace has its rows in files. */
  readonly graphWorkMin: number;
  /** Threads search and read; otherwise the thread pool reads. */
  readonly hasThreads: boolean;
}

export interface Program {
  readonly seed: number;
  readonly indexes: readonly ProgramIndex[];
  /**
   * The order in which the plain index adds: the engine's; its own, and then scores are only nearly equal; or any,
   * because every sum is exact.
   */
  readonly sums: "lanes" | "plain" | "exact";
  readonly commands: readonly Command[];
  /** Large namespaces get a graph, so that their searches may miss something. */
  readonly hasGraphs?: boolean;
  /** Absent if all rows are in memory. */
  readonly rows?: ProgramRows | undefined;
}

const COMMANDS_MAX = 120;
const DIMENSIONS: readonly number[] = [2, 2, 3, 4, 5, 8, 8, 17, 40];
/** Ids of a program; with many, whole batches of them are put. */
const ID_COUNTS: readonly number[] = [6, 12, 30, 30, 60, 60, 700];
const MANY_IDS = 700;

/** The work from which rows are in files: from the first one on, or from some records on. */
const FILE_WORK: readonly number[] = [1, 40, 400];

/** No sum of these is close to the idle time allowed for a held query. */
const ADVANCES_MS: readonly number[] = [1, 3_000, 12_000, 30_500];

const READS: readonly CallKind[] = ["query", "query", "query data"];
const WRITES: readonly CallKind[] = [
  ...(["upsert", "upsert", "upsert data", "update", "update", "delete", "delete", "reset"] as const),
  ...(["delete namespace", "rename namespace", "reset all"] as const),
];
/** How often each call is drawn, out of the sum. */
const USUAL_WEIGHTS: Readonly<Record<CallKind, number>> = {
  upsert: 30,
  "upsert data": 6,
  update: 16,
  fetch: 8,
  delete: 10,
  walk: 5,
  random: 2,
  query: 36,
  "query data": 6,
  hold: 6,
  "hold data": 2,
  next: 12,
  end: 2,
  reset: 1,
  "reset all": 0.4,
  "delete namespace": 1.5,
  "rename namespace": 2,
};

export function drawProgram(seed: number): Program {
  return new ProgramDraw(seed).program();
}

class ProgramDraw {
  readonly #seed: number;
  readonly #draw: Draw;
  readonly #indexes: readonly ProgramIndex[];
  readonly #idCount: number;
  /** Most programs stay within few namespaces, so that these fill. */
  readonly #namespaceCount: number;
  /** Whether a held query exists that can be resumed. */
  #isHolding = false;
  readonly #weights: readonly (readonly [CallKind, number])[];

  constructor(seed: number) {
    this.#seed = seed;
    const draw = new Draw(seededRandom(seed));
    this.#draw = draw;
    this.#indexes = draw.list(1 + draw.below(2), () => this.#index());
    this.#idCount = draw.pick(ID_COUNTS);
    this.#namespaceCount = draw.pick([1, 2, 2, 3, 4, 8]);
    // Each kind of call is usual, rare or frequent in this program.
    this.#weights = Object.entries(USUAL_WEIGHTS).map(
      ([kind, weight]) => [kind as CallKind, weight * draw.pick([0.2, 1, 1, 3])] as const,
    );
  }

  program(): Program {
    const draw = this.#draw;
    const commands: Command[] = [];
    for (let count = 10 + draw.below(COMMANDS_MAX); count > 0; count -= 1) commands.push(this.#command());
    const sums = draw.oneIn(4) ? "plain" : "lanes";
    return { seed: this.#seed, indexes: this.#indexes, sums, commands, rows: this.#rows() };
  }

  #rows(): ProgramRows | undefined {
    const draw = this.#draw;
    const placements = this.#indexes.map(() => draw.pick<RowPlacement>(["memory", "disk"]));
    const rows = { placements, graphWorkMin: draw.pick(FILE_WORK), hasThreads: draw.oneIn(2) };
    return placements.includes("disk") ? rows : undefined;
  }

  #index(): ProgramIndex {
    const draw = this.#draw;
    const type: IndexType = draw.pick(indexTypes);
    const dimension = draw.pick(DIMENSIONS);
    const hasModels = draw.oneIn(2);
    const isOpen = draw.oneIn(4) && !hasModels;
    const components = draw.pick<Components>(["halves", "halves", "floats", "wild"]);
    const definition: IndexDefinition = {
      type,
      dimension: type === "SPARSE" ? 0 : isOpen ? undefined : dimension,
      similarity: draw.pick(similarities),
      denseModel: hasModels && type !== "SPARSE" ? "DRAWN" : undefined,
      sparseModel: hasModels && type !== "DENSE" ? "DRAWN" : undefined,
    };
    return { definition, dimension, components };
  }

  #command(): Command {
    const draw = this.#draw;
    const index = draw.below(this.#indexes.length);
    if (this.#isHolding && draw.oneIn(20)) return { kind: "advance", ms: draw.pick(ADVANCES_MS) };
    switch (draw.below(60)) {
      case 0:
        this.#isHolding = false;
        return { kind: "restart" };
      case 1:
        this.#isHolding = false;
        return { kind: "snapshot" };
      case 2:
        this.#isHolding = false;
        return { kind: "crash", lostWrites: draw.below(12) };
      case 3:
      case 4:
        return { kind: "advance", ms: draw.pick(ADVANCES_MS) };
      case 5:
      case 6:
      case 7: {
        const questions: Call[] = draw.list(1 + draw.below(3), () => this.#call(index, draw.pick(READS)));
        // At most one: otherwise it would be open which of two was answered first.
        if (draw.oneIn(3)) questions.push(this.#call(index, "next"));
        const writes = draw.list(1 + draw.below(4), () => ({
          turns: draw.pick([0, 0, 1, 2]),
          call: this.#call(index, draw.pick(WRITES)),
        }));
        return { kind: "meanwhile", index, questions, writes };
      }
      default:
        return { kind: "call", index, call: this.#call(index, this.#kind()) };
    }
  }

  #kind(): CallKind {
    const kind = this.#anyKind();
    const isLost = kind === "next" && !this.#isHolding && !this.#draw.oneIn(10);
    if (isLost || kind.startsWith("hold")) this.#isHolding = true;
    return isLost ? "hold" : kind;
  }

  #anyKind(): CallKind {
    const sum = this.#weights.reduce((total, [, weight]) => total + weight, 0);
    let left = this.#draw.below(2 ** 20) * (sum / 2 ** 20);
    for (const [kind, weight] of this.#weights) {
      if (left < weight) return kind;
      left -= weight;
    }
    return "query";
  }

  #call(index: number, kind: CallKind): Call {
    const draw = this.#draw;
    const namespace = draw.namespace(this.#namespaceCount);
    const about = this.#indexes[index] as ProgramIndex;
    switch (kind) {
      case "upsert":
        return { kind, namespace, records: this.#records(about) };
      case "upsert data": {
        const record = () => ({ id: this.#id(), data: draw.text(), metadata: draw.metadata() });
        return { kind, namespace, records: draw.list(1 + draw.below(4), record) };
      }
      case "update":
        return { kind, namespace, change: this.#change(about) };
      case "fetch": {
        const ids = draw.list(1 + draw.below(5), () => this.#id());
        const selection = draw.oneIn(3)
          ? ({ kind: "prefix", prefix: draw.prefix() } as const)
          : ({ kind: "ids", ids } as const);
        return { kind, namespace, selection, include: draw.include() };
      }
      case "delete":
        return { kind, namespace, selection: this.#deleteSelection() };
      case "walk": {
        const prefix = draw.oneIn(2) ? "" : draw.prefix();
        return { kind, namespace, limit: draw.pick([1, 2, 3, 5, 1000]), prefix, include: draw.include() };
      }
      case "random":
      case "reset":
      case "delete namespace":
        return { kind, namespace };
      case "query":
        return { kind, namespace, queries: draw.list(this.#batchCount(), () => this.#query(about)) };
      case "query data":
        return { kind, namespace, queries: draw.list(this.#batchCount(), () => this.#textQuery()) };
      case "hold":
        return { kind, namespace, query: this.#query(about), maxIdleSeconds: draw.pick([2, 20, 3600]) };
      case "hold data":
        return { kind, namespace, query: this.#textQuery(), maxIdleSeconds: draw.pick([2, 20, 3600]) };
      case "next":
        return { kind, held: Math.min(draw.below(4), draw.below(4)), additionalK: draw.pick([1, 1, 2, 3, 10, 1000]) };
      case "end":
        return { kind, held: draw.below(4) };
      case "reset all":
        return { kind };
      case "rename namespace":
        return { kind, namespace, newName: this.#otherNamespace(namespace), deletesExisting: draw.oneIn(2) };
      default: {
        const never: never = kind;
        return never;
      }
    }
  }

  #id(): string {
    return this.#draw.id(this.#idCount);
  }

  #otherNamespace(namespace: string): string {
    const other = this.#draw.namespace(this.#namespaceCount + 1);
    return other === namespace ? `${namespace}2` : other;
  }

  #batchCount(): number {
    return this.#draw.oneIn(4) ? 2 + this.#draw.below(3) : 1;
  }

  #records(about: ProgramIndex): readonly NewRecord[] {
    const draw = this.#draw;
    const isLarge = this.#idCount >= MANY_IDS && draw.oneIn(3);
    // Almost no batch of hundreds would be accepted if each record could be wrong.
    const isSound = isLarge && !draw.oneIn(4);
    return draw.list(isLarge ? 100 + draw.below(400) : 1 + draw.below(6), () => {
      const vectors = isSound ? this.#soundVectors(about) : this.#vectors(about);
      const record = { id: this.#id(), ...vectors, metadata: draw.metadata() };
      return draw.oneIn(3) ? { ...record, data: draw.text() } : record;
    });
  }

  #change(about: ProgramIndex): RecordChange {
    const draw = this.#draw;
    const hasVectors = draw.oneIn(3);
    const hasData = draw.oneIn(3);
    const hasMetadata = draw.oneIn(2) || (!hasVectors && !hasData);
    const isPatch = draw.oneIn(2);
    // With both text and vectors it would be open which of them the vectors come from.
    const vectors = hasVectors && !hasData ? this.#vectors(about) : {};
    return {
      id: this.#id(),
      ...vectors,
      ...(hasData ? { data: draw.text() } : {}),
      ...(hasMetadata ? { metadata: isPatch ? draw.patch() : (draw.metadata() ?? "{}") } : {}),
      metadataUpdateMode: isPatch ? "PATCH" : "OVERWRITE",
    };
  }

  /** What every index of this kind accepts. */
  #soundVectors(about: ProgramIndex): Pick<NewRecord, "vector" | "sparseVector"> {
    for (;;) {
      const { vector, sparseVector } = this.#vectors(about);
      const { type } = about.definition;
      const isWhole = (vector !== undefined || type === "SPARSE") && (sparseVector !== undefined || type === "DENSE");
      const squares = vector?.reduce((sum, value) => sum + value * value, 0) ?? 1;
      const isUsual = squares > 1e-30 && squares < 1e38 && (vector?.length ?? about.dimension) === about.dimension;
      if (isWhole && isUsual && sparseVector?.indices.length !== 0) return { vector, sparseVector };
    }
  }

  /** What a record of this index needs; sometimes too little or of another dimension. */
  #vectors(about: ProgramIndex): Pick<NewRecord, "vector" | "sparseVector"> {
    const draw = this.#draw;
    const { definition, components } = about;
    const lacksOne = draw.oneIn(150);
    const dimension = draw.oneIn(150) ? about.dimension + 1 : about.dimension;
    const hasVector = definition.type !== "SPARSE" && !(lacksOne && draw.oneIn(2));
    const hasSparse = definition.type !== "DENSE" && !(lacksOne && hasVector);
    return {
      ...(hasVector ? { vector: draw.vector(components, dimension) } : {}),
      ...(hasSparse ? { sparseVector: draw.sparse(components) } : {}),
    };
  }

  #deleteSelection(): DeleteSelection {
    const draw = this.#draw;
    switch (draw.below(4)) {
      case 0:
        return { kind: "prefix", prefix: draw.prefix() };
      case 1:
        return { kind: "filter", filter: draw.oneIn(10) ? "a =" : draw.condition(2) };
      default:
        return { kind: "ids", ids: draw.list(1 + draw.below(4), () => this.#id()) };
    }
  }

  #queryOptions(): QueryOptions {
    const draw = this.#draw;
    return {
      topK: draw.topK(),
      include: draw.include(),
      filter: draw.filter(),
      weighting: draw.oneIn(3) ? "IDF" : undefined,
      fusion: draw.oneIn(2) ? "DBSF" : "RRF",
    };
  }

  #query(about: ProgramIndex): VectorQuery {
    const draw = this.#draw;
    const vectors = this.#vectors(about);
    const options = this.#queryOptions();
    if (about.definition.type !== "HYBRID" || draw.oneIn(2)) return { ...vectors, ...options };
    return draw.oneIn(2) ? { vector: vectors.vector, ...options } : { sparseVector: vectors.sparseVector, ...options };
  }

  #textQuery(): TextQuery {
    const draw = this.#draw;
    return { data: draw.text(), mode: draw.pick(["HYBRID", "DENSE", "SPARSE"]), ...this.#queryOptions() };
  }
}
