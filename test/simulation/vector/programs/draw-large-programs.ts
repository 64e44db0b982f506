/**
 * Random programs with so much work that a search takes several steps: a dense
 * vector of many dimensions, a sparse vector of many values, or a filter with
 * many conditions. Records change between the steps.
 */
import { seededRandom } from "../../../../src/kernel/random.ts";
import type { VectorQuery } from "../../../../src/vector/api.ts";
import type { IndexDefinition } from "../../../../src/vector/index/definition.ts";
import type { NewRecord } from "../../../../src/vector/index/record.ts";
import type { Call, Command } from "./command.ts";
import type { Program, ProgramRows } from "./draw-programs.ts";
import { Draw } from "./draw-values.ts";

interface Shape {
  readonly definition: Pick<IndexDefinition, "type" | "dimension">;
  readonly recordCount: number;
  /** Values of a sparse vector; slightly more indices exist. */
  readonly sparseCount: number;
  /** Conditions of a filter. */
  readonly conditionCount: number;
  /** 0 or absent: vectors are anywhere. */
  readonly centreCount?: number;
  /** How often questions are asked while records change. */
  readonly rounds?: number;
}

/** Rows from which the namespace has them in files, in every other program. */
const FILE_ROWS = 500;

/** A step is limited in `search/dense.ts`, `search/sparse.ts` and `search/namespace-search.ts`: it has two or three. */
const SHAPES: readonly Shape[] = [
  { definition: { type: "DENSE", dimension: 4_096 }, recordCount: 2_500, sparseCount: 0, conditionCount: 2 },
  { definition: { type: "SPARSE", dimension: 0 }, recordCount: 2_500, sparseCount: 220, conditionCount: 2 },
  { definition: { type: "HYBRID", dimension: 3_000 }, recordCount: 2_500, sparseCount: 110, conditionCount: 2 },
  { definition: { type: "DENSE", dimension: 2 }, recordCount: 6_000, sparseCount: 0, conditionCount: 30 },
];
const SPARE_INDICES = 16;
const LOAD_COUNT = 500;
const ROUNDS = 5;

export function drawLargeProgram(seed: number): Program {
  const draw = new Draw(seededRandom(seed));
  return new LargeDraw(draw, draw.pick(SHAPES)).program(seed);
}

/**
 * Gathered around a few centres as embeddings are; enough rows, with so few dimensions that they have no codes
 * (`row-store.ts`), that the graph is used rather than a scan (`search/dense.ts`).
 */
const GRAPH_SHAPE: Shape = {
  definition: { type: "DENSE", dimension: 112 },
  recordCount: 6_000,
  sparseCount: 0,
  conditionCount: 2,
  centreCount: 60,
  rounds: 4,
};

/** The same over a graph, which is built while records are added, changed and removed. */
export function drawGraphProgram(seed: number): Program {
  const program = new LargeDraw(new Draw(seededRandom(seed)), GRAPH_SHAPE).program(seed);
  return { ...program, hasGraphs: true };
}

class LargeDraw {
  readonly #draw: Draw;
  readonly #shape: Shape;
  readonly #centres: readonly Float32Array[];

  constructor(draw: Draw, shape: Shape) {
    this.#draw = draw;
    this.#shape = shape;
    this.#centres = draw.list(shape.centreCount ?? 0, () => this.#anywhere());
  }

  program(seed: number): Program {
    const { definition } = this.#shape;
    const commands: Command[] = [];
    commands.push(...this.#loads());
    // So few of each range of numbers are left that the next large delete moves records.
    if (this.#draw.oneIn(this.#centres.length > 0 ? 6 : 2)) commands.push(this.#deleteGroup("a-"));
    const query = { ...this.#query(), topK: 20 };
    // A filter, or the writes of the rounds, may make a scan cheaper than the graph: this query comes before them.
    const asked = this.#centres.length > 0 ? { ...query, filter: "" } : query;
    const held = { kind: "hold", namespace: "", query: asked, maxIdleSeconds: 3_600 } as const;
    commands.push(this.#command(held));
    for (let round = 0; round < (this.#shape.rounds ?? ROUNDS); round += 1)
      commands.push(this.#round(), ...this.#between());
    const dimension = definition.dimension ?? 0;
    return {
      seed,
      indexes: [
        {
          definition: {
            ...definition,
            similarity: this.#draw.pick(["EUCLIDEAN", "DOT_PRODUCT", "COSINE"]),
            denseModel: undefined,
            sparseModel: undefined,
          },
          dimension,
          components: "halves",
        },
      ],
      sums: "exact",
      commands,
      rows: this.#rows(),
    };
  }

  #rows(): ProgramRows | undefined {
    const draw = this.#draw;
    const { dimension = 0 } = this.#shape.definition;
    const rows = { graphWorkMin: FILE_ROWS * dimension, hasThreads: draw.oneIn(2) };
    return draw.oneIn(2) && dimension > 0 ? { ...rows, placements: ["disk"] } : undefined;
  }

  /** Loads everything again, enough for searches in steps; not where each row goes into a graph. */
  #reload(): readonly Command[] {
    return this.#centres.length > 0 ? [] : [...this.#loads(), this.#deleteGroup("a-")];
  }

  #deleteGroup(prefix: string): Command {
    return this.#command({ kind: "delete", namespace: "", selection: { kind: "prefix", prefix } });
  }

  #loads(): readonly Command[] {
    const starts = Array.from({ length: this.#shape.recordCount / LOAD_COUNT }, (_, i) => i * LOAD_COUNT);
    return starts.map((start) => {
      const records = Array.from({ length: LOAD_COUNT }, (_, i) => this.#record(idOf(start + i)));
      return this.#command({ kind: "upsert", namespace: "", records });
    });
  }

  #command(call: Call): Command {
    return { kind: "call", index: 0, call };
  }

  /** Questions, and writes while they are answered. */
  #round(): Command {
    const draw = this.#draw;
    const questions: Call[] = draw.list(1 + draw.below(3), (): Call => {
      return { kind: "query", namespace: "", queries: draw.list(1, () => this.#query()) };
    });
    questions.push({ kind: "next", held: 0, additionalK: draw.pick([1, 30, 500]) });
    const writes = draw.list(1 + draw.below(6), () => ({ turns: draw.below(3), call: this.#write() }));
    return { kind: "meanwhile", index: 0, questions, writes };
  }

  /** Sometimes deletes very many records, or restarts the engine. */
  #between(): readonly Command[] {
    const draw = this.#draw;
    switch (draw.below(12)) {
      case 0:
        return [this.#deleteGroup(draw.pick(GROUPS))];
      case 1:
        return [
          this.#command({
            kind: "delete",
            namespace: "",
            selection: { kind: "filter", filter: `n < ${draw.below(9)}` },
          }),
        ];
      case 2:
        return [{ kind: "restart" }];
      case 3:
        return [{ kind: "snapshot" }];
      case 4:
        return [{ kind: "crash", lostWrites: draw.below(3) }];
      case 5:
      case 6:
      case 7:
        return this.#reload();
      default:
        return [];
    }
  }

  #write(): Call {
    const draw = this.#draw;
    switch (draw.below(10)) {
      case 0:
      case 1:
        return {
          kind: "delete",
          namespace: "",
          selection: { kind: "ids", ids: draw.list(1 + draw.below(200), () => this.#id()) },
        };
      case 7:
      case 8:
        // So many that the remaining ones move together.
        return { kind: "delete", namespace: "", selection: { kind: "ids", ids: this.#mostIds() } };
      case 2: {
        const metadata = `{"n":${draw.below(10)}}`;
        return { kind: "update", namespace: "", change: { id: this.#id(), metadata, metadataUpdateMode: "PATCH" } };
      }
      case 3: {
        const { id, vector, sparseVector } = this.#record(this.#id());
        return { kind: "update", namespace: "", change: { id, vector, sparseVector, metadataUpdateMode: "PATCH" } };
      }
      case 4:
        if (!draw.oneIn(6))
          return { kind: "fetch", namespace: "", selection: { kind: "ids", ids: [this.#id()] }, include: NOTHING };
        return draw.pick<Call>([
          { kind: "reset", namespace: "" },
          { kind: "rename namespace", namespace: "other", newName: "third", deletesExisting: true },
        ]);
      default:
        return {
          kind: "upsert",
          namespace: "",
          records: draw.list(1 + draw.below(60), () => this.#record(this.#id())),
        };
    }
  }

  #query(): VectorQuery {
    const draw = this.#draw;
    const { vector, sparseVector } = this.#record("");
    const filter = draw.list(this.#shape.conditionCount, () => draw.condition(0)).join(draw.pick([" OR ", " AND "]));
    return {
      vector,
      sparseVector,
      topK: draw.pick([1, 10, 100, 1_000]),
      include: NOTHING,
      filter: draw.oneIn(2) || this.#shape.conditionCount > 2 ? filter : "",
      weighting: undefined,
      fusion: draw.pick(["RRF", "DBSF"]),
    };
  }

  /** Most of those outside the first group, as many as one request may name. */
  #mostIds(): readonly string[] {
    const start = this.#draw.below(this.#shape.recordCount / 2);
    return Array.from({ length: 1_000 }, (_, i) => idOf((start + i) * 2 + 1));
  }

  /** One of the loaded ids, or one of a few others. */
  #id(): string {
    return idOf(this.#draw.below(this.#shape.recordCount + 100));
  }

  #record(id: string): NewRecord {
    const draw = this.#draw;
    const { sparseCount } = this.#shape;
    const vector = this.#centres.length === 0 ? this.#anywhere() : this.#around(draw.pick(this.#centres));
    const indices = new Int32Array(sparseCount);
    const values = new Float32Array(sparseCount);
    for (let i = 0; i < sparseCount; i += 1) {
      indices[i] = draw.below(sparseCount + SPARE_INDICES);
      values[i] = (1 + draw.below(8)) / 4;
    }
    return {
      id,
      ...(vector.length > 0 ? { vector } : {}),
      ...(sparseCount > 0 ? { sparseVector: { indices, values } } : {}),
      metadata: draw.metadata(),
    };
  }

  #anywhere(): Float32Array {
    const draw = this.#draw;
    const vector = new Float32Array(this.#shape.definition.dimension ?? 0);
    for (let i = 0; i < vector.length; i += 1) vector[i] = (draw.below(9) - 4) / 2;
    // Never zero, which has no direction.
    if (vector.length > 0) vector[0] = (1 + draw.below(4)) / 2;
    return vector;
  }

  /** One value in four differs. */
  #around(centre: Float32Array): Float32Array {
    const vector = Float32Array.from(centre);
    for (let i = 1; i < vector.length; i += 1) if (this.#draw.below(4) === 0) vector[i] = (this.#draw.below(9) - 4) / 2;
    return vector;
  }
}

const NOTHING = { metadata: false, vectors: false, data: false } as const;
const GROUPS = ["a-", "b-", "c-"] as const;

/** The first group is half of all. */
function idOf(number: number): string {
  return `${GROUPS[number % 2 === 0 ? 0 : 1 + (number % 4 === 1 ? 0 : 1)]}${number}`;
}
