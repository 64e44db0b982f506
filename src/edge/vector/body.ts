/**
 * Reads the bodies of the vector index, endpoint by endpoint, into requests of the
 * engine (docs/interface/vector.md).
 *
 * (1) null is the same as absent, and unknown members are ignored, because
 *     clients send both.
 * (2) The result is exact, to the last digit and character. Text with a lone
 *     surrogate is refused: in UTF-8, all of them would become one character. A
 *     number in metadata or as an id keeps its spelling.
 *
 * Everything here throws a RequestFailure that names the field.
 */
import {
  type DeleteSelection,
  type Effort,
  type Include,
  type NewRecord,
  type NewText,
  parseRangeCursor,
  type RangeCursor,
  type RangeRequest,
  RESUMABLE_IDLE_SECONDS,
  RESUMABLE_IDLE_SECONDS_MAX,
  type RecordChange,
  type Selection,
  type TextQuery,
  TOP_K,
  type VectorLimits,
  type VectorQuery,
} from "../../vector/mod.ts";
import {
  type BodyObject,
  type BodyObjects,
  readObject as readAnyObject,
  readObjectOrIds,
  readObjects,
} from "./body-object.ts";
import { effortOfExact, fieldMissing, idsOrPrefix, idsPrefixOrFilter, namespaceInBody, wrongType } from "./failures.ts";

/** The values of these fields. The first is the default, except of `weightings`, which have none. */
export const metadataUpdateModes = ["OVERWRITE", "PATCH"] as const;
export const queryModes = ["HYBRID", "DENSE", "SPARSE"] as const;
export const weightings = ["IDF"] as const;
export const fusions = ["RRF", "DBSF"] as const;

/** An object or a list of objects. The engine checks which vectors a record needs: it knows the type of the index. */
export function readUpsert(body: Buffer, limits: VectorLimits): NewRecord[] {
  return readRecords(body, limits).map((object) => ({
    id: object.id(),
    vector: object.vector(),
    sparseVector: object.sparseVector(),
    metadata: object.metadata(),
    data: object.data(),
  }));
}

export function readUpsertData(body: Buffer, limits: VectorLimits): NewText[] {
  return readRecords(body, limits).map((object) => ({
    id: object.id(),
    data: required(object, "data", object.data()),
    metadata: object.metadata(),
  }));
}

export function readUpdate(body: Buffer, limits: VectorLimits): RecordChange {
  const object = readObject(body, limits);
  return {
    id: object.id(),
    vector: object.vector(),
    sparseVector: object.sparseVector(),
    metadata: object.metadata(),
    data: object.data(),
    metadataUpdateMode: object.word("metadataUpdateMode", metadataUpdateModes) ?? metadataUpdateModes[0],
  };
}

export interface FetchRequest {
  readonly selection: Selection;
  readonly include: Include;
}

export function readFetch(body: Buffer, limits: VectorLimits): FetchRequest {
  const object = readObject(body, limits);
  const ids = object.ids(limits.readsPerRequestMax);
  const prefix = object.text("prefix");
  const include = readInclude(object);
  // Clients without optional members send an empty prefix with ids.
  if (ids !== undefined && (prefix === undefined || prefix === "")) return { selection: { kind: "ids", ids }, include };
  if (ids !== undefined || prefix === undefined) throw idsOrPrefix;
  return { selection: { kind: "prefix", prefix }, include };
}

/** An object, or the id or list of ids of older clients. An empty prefix or filter would delete everything. */
export function readDelete(body: Buffer, limits: VectorLimits): DeleteSelection {
  const object = readObjectOrIds(body, limits, limits.writesPerRequestMax);
  if (Array.isArray(object)) return { kind: "ids", ids: object };
  checkNamespace(object);
  const ids = object.ids(limits.writesPerRequestMax);
  const prefix = object.text("prefix") ?? "";
  const filter = object.text("filter") ?? "";
  if (Number(ids !== undefined) + Number(prefix !== "") + Number(filter !== "") !== 1) throw idsPrefixOrFilter;
  if (ids !== undefined) return { kind: "ids", ids };
  return prefix !== "" ? { kind: "prefix", prefix } : { kind: "filter", filter };
}

export function readRange(body: Buffer, limits: VectorLimits): RangeRequest {
  const object = readObject(body, limits);
  return {
    cursor: readCursor(object),
    limit: required(object, "limit", object.count("limit", limits.topKMax)),
    prefix: object.text("prefix") ?? "",
    include: readInclude(object),
  };
}

export interface QueryBatch<Query> {
  readonly queries: Query[];
  /** Whether the body was a list; one of a single query is answered like an object (B2.result). */
  readonly isList: boolean;
}

export function readQueries(body: Buffer, limits: VectorLimits): QueryBatch<VectorQuery> {
  const { objects, isList } = readQueryObjects(body, limits);
  return { queries: objects.map((object) => readQuery(object, limits)), isList };
}

export function readDataQueries(body: Buffer, limits: VectorLimits): QueryBatch<TextQuery> {
  const { objects, isList } = readQueryObjects(body, limits);
  return { queries: objects.map((object) => readTextQuery(object, limits)), isList };
}

export interface ResumableRequest<Query> {
  readonly query: Query;
  readonly maxIdleSeconds: number;
}

export function readResumableQuery(body: Buffer, limits: VectorLimits): ResumableRequest<VectorQuery> {
  const object = readObject(body, limits);
  return { query: readQuery(object, limits), maxIdleSeconds: readMaxIdle(object) };
}

export function readResumableDataQuery(body: Buffer, limits: VectorLimits): ResumableRequest<TextQuery> {
  const object = readObject(body, limits);
  return { query: readTextQuery(object, limits), maxIdleSeconds: readMaxIdle(object) };
}

export interface ResumableNext {
  readonly uuid: string;
  readonly additionalK: number;
}

export function readResumableNext(body: Buffer, limits: VectorLimits): ResumableNext {
  const object = readObject(body, limits);
  return {
    uuid: required(object, "uuid", object.text("uuid")),
    additionalK: required(object, "additionalK", object.count("additionalK", limits.topKMax)),
  };
}

/** The uuid. */
export function readResumableEnd(body: Buffer, limits: VectorLimits): string {
  const object = readObject(body, limits);
  return required(object, "uuid", object.text("uuid"));
}

export interface Rename {
  readonly namespace: string;
  readonly newNamespace: string;
  readonly deletesExisting: boolean;
}

/** The only body with names of namespaces. The engine interprets empty ones. */
export function readRename(body: Buffer, limits: VectorLimits): Rename {
  const object = readAnyObject(body, limits);
  return {
    namespace: required(object, "namespace", object.text("namespace", limits.namespaceBytesMax)),
    newNamespace: required(object, "newNamespace", object.text("newNamespace", limits.namespaceBytesMax)),
    deletesExisting: object.flag("deleteExisting"),
  };
}

function readRecords(body: Buffer, limits: VectorLimits): readonly BodyObject[] {
  const bounds = { listName: "vectors", countMax: limits.writesPerRequestMax };
  return readObjects(body, limits, bounds).objects.map(checkNamespace);
}

function readQueryObjects(body: Buffer, limits: VectorLimits): BodyObjects {
  const { objects, isList } = readObjects(body, limits, { listName: "queries", countMax: limits.readsPerRequestMax });
  return { objects: objects.map(checkNamespace), isList };
}

function readObject(body: Buffer, limits: VectorLimits): BodyObject {
  return checkNamespace(readAnyObject(body, limits));
}

/** A namespace in the body would be ignored, and the default one used instead. Clients may send an empty one. */
function checkNamespace(object: BodyObject): BodyObject {
  if (object.isGiven("namespace")) throw namespaceInBody(object.nameOf("namespace"));
  return object;
}

function readQuery(object: BodyObject, limits: VectorLimits): VectorQuery {
  return { vector: object.vector(), sparseVector: object.sparseVector(), ...readQueryOptions(object, limits) };
}

function readTextQuery(object: BodyObject, limits: VectorLimits): TextQuery {
  return {
    data: required(object, "data", object.data()),
    mode: object.word("queryMode", queryModes) ?? queryModes[0],
    ...readQueryOptions(object, limits),
  };
}

function readQueryOptions(object: BodyObject, limits: VectorLimits) {
  const effort = readEffort(object, limits);
  return {
    topK: object.count("topK", limits.topKMax) ?? Math.min(TOP_K, limits.topKMax),
    include: readInclude(object),
    filter: object.text("filter") ?? "",
    weighting: object.word("weightingStrategy", weightings),
    fusion: object.word("fusionAlgorithm", fusions) ?? fusions[0],
    ...(effort !== undefined && { effort }),
  } as const;
}

function readEffort(object: BodyObject, limits: VectorLimits): Effort {
  const effort = object.count("effort", limits.effortMax);
  if (!object.flag("exact")) return effort;
  if (effort !== undefined) throw effortOfExact(object.nameOf("effort"));
  return "exact";
}

function readInclude(object: BodyObject): Include {
  return {
    metadata: object.flag("includeMetadata"),
    vectors: object.flag("includeVectors"),
    data: object.flag("includeData"),
  };
}

/** A cursor of an earlier page, an offset as a text or a number, or empty for the start (B1.cursor, B1.offset). */
function readCursor(object: BodyObject): RangeCursor {
  const value = object.textOrNumber("cursor") ?? "";
  const cursor = typeof value === "number" ? value : parseRangeCursor(value);
  if (cursor === undefined || (typeof cursor === "number" && (!Number.isSafeInteger(cursor) || cursor < 0)))
    throw wrongType(object.nameOf("cursor"), '"0" for the start, or the nextCursor of the page before');
  return cursor;
}

function readMaxIdle(object: BodyObject): number {
  return object.count("maxIdle", RESUMABLE_IDLE_SECONDS_MAX) ?? RESUMABLE_IDLE_SECONDS;
}

function required<Value>(object: BodyObject, name: string, value: Value | undefined): Value {
  if (value === undefined) throw fieldMissing(object.nameOf(name));
  return value;
}
