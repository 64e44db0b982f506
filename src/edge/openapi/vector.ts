/**
 * The bodies and answers of the routes of the vector index, for its OpenAPI
 * document: an entry for each row of `vectorRoutes`, by its command.
 */
import {
  filterKinds,
  indexTypes,
  METADATA_DEPTH_MAX,
  RESUMABLE_IDLE_SECONDS,
  RESUMABLE_IDLE_SECONDS_MAX,
  similarities,
  TOP_K,
  topKRanges,
} from "../../vector/mod.ts";
import { fusions, metadataUpdateModes, queryModes, weightings } from "../vector/body.ts";
import type { VectorRoute } from "../vector/route.ts";
import { resetAll, type VectorCommand, vectorRoutes } from "../vector/routes.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  capitalized,
  jsonBody,
  type Operation,
  type OperationMethod,
  type Parameter,
  type RequestBody,
  type Tag,
  TRANSPORT,
} from "./operation.ts";
import {
  anyObject,
  count,
  described,
  either,
  flag,
  integer,
  list,
  mapOf,
  named,
  number,
  object,
  orNull,
  type Schema,
  text,
  words,
} from "./schema.ts";

interface Described {
  /** If absent, a body is ignored. */
  readonly body?: RequestBody;
  readonly parameters?: readonly Parameter[];
  readonly result: Schema;
  /** Refusals besides those of every route. */
  readonly refusals?: readonly Answer[];
  /** The namespace cannot be the default one, so a path without it does not exist. */
  readonly needsNamespace?: true;
  readonly example?: { readonly request?: unknown; readonly result: unknown };
}

const tags: readonly Tag[] = [
  {
    name: "Queries",
    description: "The nearest records to a vector or a text",
    paths: ["/query", "/resumable-query"],
  },
  {
    name: "Namespaces and the index",
    description: "Listing, renaming, emptying and deleting namespaces, and the definition of the index",
    paths: ["/list-namespaces", "/rename-namespace", "/delete-namespace", "/reset", "/info"],
  },
  {
    name: "Records",
    description: "Storing, reading and deleting records",
    paths: ["/upsert", "/update", "/fetch", "/delete", "/range", "/random"],
  },
];

const id = described(either(text, integer), "A number is the same as its text");
const ids = either(list(id), id);
const floats = list(number);
const sparse = object({ indices: list(integer), values: floats });
const done = words("Success");
const positive: Schema = { type: "integer", minimum: 1 };

function wordsWithDefault(all: readonly string[]): Schema {
  return { ...words(...all), default: all[0] };
}

/** Optional fields, which may be null instead of absent. */
function optional(shapes: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, orNull(shape)]));
}

const include = optional({ includeMetadata: flag, includeVectors: flag, includeData: flag });
const metadata = described(anyObject, `Nested at most ${METADATA_DEPTH_MAX} levels deep`);
const options = {
  ...include,
  ...optional({
    topK: { ...positive, default: TOP_K },
    filter: described(text, "A metadata filter; empty for no filter"),
    weightingStrategy: words(...weightings),
    fusionAlgorithm: wordsWithDefault(fusions),
    exact: described(flag, "Rank every record that passes, without the graph; not together with `effort`"),
    effort: described(
      positive,
      "The candidates of the search by the graph, instead of those that the index chooses for its recall target",
    ),
  }),
};
const mode = optional({ queryMode: wordsWithDefault(queryModes) });
const idle = optional({
  maxIdle: { ...positive, maximum: RESUMABLE_IDLE_SECONDS_MAX, default: RESUMABLE_IDLE_SECONDS },
});
const vectors = optional({ vector: floats, sparseVector: sparse });

const record = object({ id }, { ...vectors, ...optional({ metadata, data: text }) });
const textRecord = object({ id, data: text }, optional({ metadata }));
const query = object({}, { ...vectors, ...options });
const textQuery = object({ data: text }, { ...options, ...mode });

const oneOrMore = (shape: Schema): RequestBody => jsonBody(either(shape, list(shape)));
const scores = either(list(named("Scored")), list(list(named("Scored"))));

const conflict = (meaning: string): Answer => answer(409, meaning, named("Error"));
const missing = (meaning: string): Answer => answer(404, meaning, named("Error"));
const tooMany = answer(
  429,
  "A limit of concurrent queries, or of requests per second or day, is exceeded",
  named("Error"),
);

/** The record of the examples. */
const city = { city: "Oslo" };
const storedRecord = { id: "a", vector: [0.1, 0.9, 0.3], metadata: city };

/** A route without a description does not compile, nor does a description without a route. */
const descriptions: Readonly<Record<VectorCommand, Described>> = {
  upsert: {
    body: oneOrMore(record),
    result: done,
    example: { request: [storedRecord], result: "Success" },
  },
  "upsert-data": {
    body: oneOrMore(textRecord),
    result: done,
    example: {
      request: [{ id: "b", data: "A lighthouse keeper writes letters", metadata: { year: 1998 } }],
      result: "Success",
    },
  },
  update: {
    body: jsonBody(
      object(
        { id },
        {
          ...vectors,
          ...optional({
            metadata,
            data: text,
            metadataUpdateMode: wordsWithDefault(metadataUpdateModes),
          }),
        },
      ),
    ),
    result: object({ updated: { type: "integer", minimum: 0, maximum: 1 } }),
    example: {
      request: { id: "a", metadata: { city: "Bergen" }, metadataUpdateMode: "PATCH" },
      result: { updated: 1 },
    },
  },
  fetch: {
    body: jsonBody(
      either(object({ ids }, { ...include, ...optional({ prefix: words("") }) }), object({ prefix: text }, include)),
    ),
    result: list(orNull(named("Record"))),
    example: { request: { ids: ["a", "z"], includeMetadata: true }, result: [{ id: "a", metadata: city }, null] },
  },
  delete: {
    body: jsonBody(either(object({ ids }), object({ prefix: text }), object({ filter: text }), list(id), id)),
    result: object({ deleted: count }),
    example: { request: { ids: ["a", "z"] }, result: { deleted: 1 } },
  },
  range: {
    body: jsonBody(
      object(
        { limit: positive },
        {
          ...include,
          ...optional({
            cursor: described(
              either(text, count),
              "`nextCursor` of the previous page, or a number as an offset; absent for the first page",
            ),
            prefix: text,
          }),
        },
      ),
    ),
    result: object({ nextCursor: described(text, "Empty on the last page"), vectors: list(named("Record")) }),
    example: {
      request: { limit: 100, includeMetadata: true },
      result: { nextCursor: "", vectors: [{ id: "a", metadata: city }] },
    },
  },
  random: { result: orNull(named("Record")) },
  query: {
    body: oneOrMore(query),
    result: described(scores, "A list of lists for a list of queries, otherwise one list"),
    example: {
      request: { vector: [0.2, 0.8, 0.3], topK: 5, filter: "city = 'Oslo'", includeMetadata: true },
      result: [{ id: "a", score: 0.99, metadata: city }],
    },
  },
  "query-data": {
    body: oneOrMore(textQuery),
    result: described(scores, "A list of lists for a list of queries, otherwise one list"),
    example: {
      request: { data: "letters from the sea", topK: 5, includeData: true },
      result: [{ id: "b", score: 0.71, data: "A lighthouse keeper writes letters" }],
    },
  },
  "resumable-query": {
    body: jsonBody(object({}, { ...vectors, ...options, ...idle })),
    result: object({ uuid: text, scores: list(named("Scored")) }),
    example: {
      request: { vector: [0.2, 0.8, 0.3], topK: 5, maxIdle: 60 },
      result: { uuid: "0b6c8f0e", scores: [{ id: "a", score: 0.99 }] },
    },
  },
  "resumable-query-data": {
    body: jsonBody(object({ data: text }, { ...options, ...mode, ...idle })),
    result: object({ uuid: text, scores: list(named("Scored")) }),
  },
  "resumable-query-next": {
    body: jsonBody(object({ uuid: text, additionalK: positive })),
    result: list(named("Scored")),
    refusals: [missing("The query does not exist or has expired")],
  },
  "resumable-query-end": {
    body: jsonBody(object({ uuid: text })),
    result: done,
    refusals: [missing("The query does not exist or has expired")],
  },
  info: { result: named("Info") },
  reset: {
    result: done,
    parameters: [
      {
        name: resetAll.name,
        in: "query",
        schema: words(...resetAll.values),
        description: "Without a value or `true`: empties every namespace; the path must not name one",
      },
    ],
  },
  "list-namespaces": { result: list(text) },
  "delete-namespace": { result: done, refusals: [missing("The namespace does not exist")], needsNamespace: true },
  "rename-namespace": {
    body: jsonBody(object({ namespace: text, newNamespace: text }, optional({ deleteExisting: flag }))),
    result: object({ renamed: flag }),
    refusals: [conflict("A namespace with the new name exists")],
  },
};

const namespace: Parameter = {
  name: "namespace",
  in: "path",
  schema: text,
  description: "The namespace, percent-encoded; it may contain slashes",
};

export function describeVector(): AreaDescription {
  return {
    title: "larder: the vector index",
    description: [
      "The token selects the index; paths may also start with its name, `/<index>/query`.",
      "GET, HEAD, POST, PUT and DELETE do the same on every path; operations with a body are listed once, as POST. Fields that are null count as absent, and unknown fields are ignored.",
      TRANSPORT,
    ].join("\n\n"),
    tags,
    operations: vectorRoutes.flatMap(operationsOf),
    schemas: {
      Record: recordView,
      Scored: scoredView,
      Info: info,
      Counts: counts,
      Error: object({ error: text, status: integer }),
    },
  };
}

function operationsOf(route: VectorRoute<VectorCommand>): readonly Operation[] {
  const {
    body,
    parameters = [],
    result,
    refusals = [],
    needsNamespace,
    example,
  }: Described = descriptions[route.command];
  const places = [...(needsNamespace ? [] : [false]), ...(route.takesNamespace ? [true] : [])];
  const methods: readonly OperationMethod[] =
    body === undefined && route.access === "read" ? ["get", "post"] : ["post"];
  return places.flatMap((isNamed) =>
    methods.map(
      (method): Operation => ({
        id: operationId(route.command, { isNamed: isNamed && places.length > 1, isGet: method === "get" }),
        rule: route.rule,
        method,
        path: isNamed ? `/${route.command}/{namespace}` : `/${route.command}`,
        summary: capitalized(route.summary),
        parameters: [...(isNamed ? [namespace] : []), ...parameters],
        ...(body !== undefined && { body }),
        answers: [answer(200, "Done", object({ result })), ...common(route), ...refusals],
        token: route.access === "read" ? "read-only" : "standard",
        ...(example !== undefined && { example: { request: example.request, answer: { result: example.result } } }),
      }),
    ),
  );
}

function common({ access }: VectorRoute): readonly Answer[] {
  return [
    answer(400, "The body is not JSON, or the namespace is malformed", named("Error")),
    answer(401, "The token is missing or invalid", named("Error")),
    ...(access === "write" ? [answer(403, "A read-only token may not change anything", named("Error"))] : []),
    answer(413, "The body is larger than the limit", named("Error")),
    answer(422, "A field is invalid", named("Error")),
    tooMany,
    answer(500, "Internal error; the log of the server has the cause", named("Error")),
    answer(502, "The embedding model failed", named("Error")),
    answer(503, "The area is starting or stopping, or temporarily refuses writes", named("Error")),
  ];
}

/** `resumableQueryDataIn` for `/resumable-query-data/{namespace}`. */
function operationId(name: string, { isNamed, isGet }: { readonly isNamed: boolean; readonly isGet: boolean }): string {
  const camel = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const form = isGet ? `get${camel.charAt(0).toUpperCase()}${camel.slice(1)}` : camel;
  return isNamed ? `${form}In` : form;
}

const parts = { vector: floats, sparseVector: sparse, metadata: anyObject, data: text };
const recordView = object({ id: text }, parts);
const scoredView = object({ id: text, score: number }, parts);
const share: Schema = { type: "number", minimum: 0, maximum: 1 };
const counts = object({ vectorCount: count, pendingVectorCount: count });
const info = object(
  {
    vectorCount: count,
    pendingVectorCount: count,
    indexSize: count,
    dimension: count,
    similarityFunction: words(...similarities, ""),
    indexType: words(...indexTypes),
    namespaces: mapOf(named("Counts")),
  },
  {
    denseIndex: object({ dimension: count, similarityFunction: text, embeddingModel: text }),
    sparseIndex: object({ embeddingModel: text }),
    recall: described(
      object({
        target: share,
        measured: list(
          object({
            namespace: text,
            topK: words(...topKRanges.map(({ name }) => name)),
            filter: words(...filterKinds.map(({ name }) => name)),
            recall: share,
            lowerBound: share,
            recordCount: count,
            queryCount: count,
            effort: count,
            scanShare: share,
            targetReached: flag,
          }),
        ),
      }),
      "What was measured of the recall; absent while every search is exact",
    ),
    rows: described(words("disk"), "Where the dense vectors of large namespaces are; absent if they are in memory"),
  },
);
