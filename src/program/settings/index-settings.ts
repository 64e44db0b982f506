/**
 * Reads and writes the JSON description of an index. The configuration file,
 * the admin API and tokens.json use the same form and the same rules:
 *
 *     { "type": "HYBRID", "dimension": 1024, "similarity": "COSINE",
 *       "embedding": { "model": "BGE_M3" }, "sparseEmbedding": "BM25" }
 *
 * (1) Contradictions are refused by path: a dimension that differs from the
 *     model's, dense vectors of a SPARSE index.
 * (2) Reading the result of `describeIndex` gives the same index.
 */
import {
  DIMENSION_MAX,
  findSparseModel,
  hasDense,
  hasSparse,
  type IndexDefinition,
  indexTypes,
  type RowPlacement,
  rowPlacements,
  similarities,
  sparseModels,
} from "../../vector/mod.ts";
import {
  dimensionsOf,
  type EmbeddingPlan,
  type EmbeddingRules,
  embeddingForms,
  readEmbedding,
} from "./embedding-settings.ts";
import { at, type FieldReader, type Fields } from "./field-reader.ts";
import { choiceField, fieldsAt, rawField, settingField } from "./fields.ts";
import { parseRecallTarget } from "./values.ts";

/** The definition of an index for the vector area. Plain data, so that it can be posted between threads. */
export interface IndexPlan {
  readonly definition: IndexDefinition;
  /** The provider of the definition's dense model. The sparse model is built in. */
  readonly embedding: EmbeddingPlan | undefined;
  /** The share of the nearest records that queries should find; that of the settings if undefined. */
  readonly recallTarget?: number;
  /** Where its dense vectors are; as the settings say if undefined. */
  readonly rows?: RowPlacement;
  /** Hashing stands in for a dense model, which the definition does not have. */
  readonly embedsTexts?: true;
}

/** An index in the form that people read and tokens.json stores. */
export interface IndexDescription {
  readonly type: string;
  /** `auto`: fixed by the first upsert. Absent, like the similarity, if there are no dense vectors. */
  readonly dimension?: number | "auto";
  readonly similarity?: string;
  readonly embedding?: { readonly model: string; readonly provider?: string };
  readonly sparseEmbedding?: string;
  readonly recallTarget?: number;
  readonly rows?: RowPlacement;
}

export interface IndexRules extends EmbeddingRules {
  readonly dimensionMax: number;
  /** The index that is created at run time without any field; absent: the default of each field. */
  readonly undescribed?: IndexPlan;
}

/** The built-in models that turn texts into sparse vectors. */
const servedSparseModels: readonly string[] = sparseModels
  .filter(({ embedder }) => embedder !== undefined)
  .map(({ name }) => name);

export const indexFields = {
  type: choiceField(indexTypes, { meaning: "The kind of vectors of its records", default: "DENSE" }),
  dimension: rawField(
    // 0 is valid only for a SPARSE index.
    { anyOf: [{ enum: ["auto"] }, { type: "integer", minimum: 0, maximum: DIMENSION_MAX }] },
    { meaning: "Dimension of dense vectors; auto takes it from the model, or from the first upsert", default: "auto" },
  ),
  similarity: choiceField(similarities, { meaning: "Similarity of dense vectors", default: "COSINE" }),
  embedding: rawField(
    { container: "object", forms: embeddingForms },
    {
      meaning:
        "The model that turns texts into dense vectors: one of vector.models, or described here with its provider",
      default: "none",
    },
  ),
  sparseEmbedding: rawField(
    { enum: servedSparseModels },
    {
      meaning:
        "The model that turns texts into sparse vectors; a HYBRID index has models for both parts or for neither",
      default: "none",
    },
  ),
  recallTarget: settingField(parseRecallTarget, {
    meaning: "Share of the nearest records that a query finds by dense vectors, on average",
    default: "recallTarget of the program",
  }),
  rows: choiceField(rowPlacements, {
    meaning: "Where the dense vectors of large namespaces are: in memory, or in files. A start applies a change",
    default: "vectorRows of the program",
  }),
};

export const INDEX_KEYS: readonly string[] = Object.keys(indexFields);

export const defaultIndex: IndexPlan = {
  definition: {
    type: "DENSE",
    dimension: undefined,
    similarity: "COSINE",
    denseModel: undefined,
    sparseModel: undefined,
  },
  embedding: undefined,
};

/** The index of `larder dev` that nobody has described: code that sends texts to it works at once. */
export const developmentIndex: IndexPlan = { ...defaultIndex, embedsTexts: true };

/** Reads the fields of an index. The result is valid if the reader has noted no problem. */
export function readIndexPlan(
  reader: FieldReader,
  fields: Fields,
  { path, rules }: { path: string; rules: IndexRules },
): IndexPlan {
  const read = fieldsAt(reader, indexFields, { fields, path });
  const type = read("type") ?? "DENSE";
  if (!hasDense({ type })) {
    for (const key of ["similarity", "embedding", "recallTarget", "rows"]) {
      if (fields.has(key)) reader.problem(at(path, key), `is for dense vectors: leave it out of a ${type} index`);
    }
  }
  if (!hasSparse({ type }) && fields.has("sparseEmbedding")) {
    reader.problem(at(path, "sparseEmbedding"), `is for sparse vectors: leave it out of a ${type} index`);
  }
  const similarity = read("similarity") ?? "COSINE";
  const embedding = hasDense({ type })
    ? readEmbedding(reader, read("embedding"), { path: at(path, "embedding"), rules })
    : undefined;
  const sparseModel = readSparseModel(reader, read("sparseEmbedding"), at(path, "sparseEmbedding"));
  if (type === "HYBRID" && fields.has("embedding") !== fields.has("sparseEmbedding")) {
    const missing = fields.has("embedding") ? "sparseEmbedding" : "embedding";
    reader.problem(at(path, missing), "is missing: a HYBRID index embeds texts for both of its parts or for neither");
  }
  const given = readDimension(reader, read("dimension"), {
    path: at(path, "dimension"),
    dimensionMax: hasDense({ type }) ? rules.dimensionMax : 0,
  });
  const dimension = hasDense({ type })
    ? settleDimension(reader, given, { path, embedding, dimensionMax: rules.dimensionMax })
    : 0;
  const recallTarget = read("recallTarget");
  const rows = read("rows");
  return {
    definition: { type, dimension, similarity, denseModel: embedding?.model, sparseModel },
    embedding,
    ...(recallTarget !== undefined && { recallTarget }),
    ...(rows !== undefined && { rows }),
  };
}

/** The index in the form that `readIndexPlan` reads: keeps (2). */
export function describeIndex({ definition, embedding, recallTarget, rows }: IndexPlan): IndexDescription {
  const { type, dimension, similarity, sparseModel } = definition;
  return {
    type,
    ...(hasDense(definition) && { dimension: dimension ?? "auto", similarity }),
    ...(embedding && {
      embedding: { model: embedding.model, ...(embedding.isInline && { provider: embedding.by.provider }) },
    }),
    ...(sparseModel !== undefined && { sparseEmbedding: sparseModel }),
    ...(recallTarget !== undefined && { recallTarget }),
    ...(rows !== undefined && { rows }),
  };
}

function readSparseModel(reader: FieldReader, value: unknown, path: string): string | undefined {
  if (value === undefined) return undefined;
  const model = typeof value === "string" ? findSparseModel(value) : undefined;
  if (model?.embedder !== undefined) return model.name;
  const fault =
    model === undefined ? `is not one of ${servedSparseModels.join(", ")}` : `${model.name} ${model.summary}`;
  reader.problem(path, fault);
  return undefined;
}

/** Undefined: not given. If `dimensionMax` is 0, there are no dense vectors. */
function readDimension(
  reader: FieldReader,
  value: unknown,
  { path, dimensionMax }: { path: string; dimensionMax: number },
): number | undefined {
  if (value === undefined) return undefined;
  if (dimensionMax === 0) {
    if (value !== 0) reader.problem(path, "is for dense vectors: leave it out of a SPARSE index");
    return undefined;
  }
  if (value === "auto") return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= dimensionMax) return value;
  reader.problem(path, `is neither a whole number from 1 to ${dimensionMax} nor "auto"`);
  return undefined;
}

/** The one dimension that index, model and provider agree on: keeps (1). */
function settleDimension(
  reader: FieldReader,
  given: number | undefined,
  { path, embedding, dimensionMax }: { path: string; embedding: EmbeddingPlan | undefined; dimensionMax: number },
): number | undefined {
  if (embedding === undefined) return given;
  const [first, ...others] = dimensionsOf(embedding);
  for (const [dimension, place] of others) {
    if (first === undefined || dimension === first[0]) continue;
    reader.problem(
      at(path, "embedding"),
      `has conflicting dimensions: ${place} is ${dimension}, but ${first[1]} has ${first[0]}`,
    );
  }
  if (given !== undefined && first !== undefined && given !== first[0]) {
    reader.problem(at(path, "dimension"), `is ${given}, but vectors of ${embedding.model} have ${first[0]}`);
  }
  const dimension = given ?? first?.[0];
  if (dimension !== undefined && dimension > dimensionMax) {
    reader.problem(at(path, "embedding"), `has ${dimension} dimensions, but an index may have at most ${dimensionMax}`);
  }
  if (dimension === undefined && embedding.by.provider === "hashing") {
    reader.problem(at(path, "dimension"), "is missing: hashing needs a dimension");
  }
  return dimension;
}
