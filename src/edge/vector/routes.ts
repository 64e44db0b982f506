/**
 * All routes of area B, the vector index (docs/interface/vector.md).
 * All methods of a path do the same; `area.ts` checks them.
 */
import type { Eventually } from "../../vector/mod.ts";
import { emptyQueryList, resetAllMalformed, resetOfAllAndOne } from "../errors.ts";
import {
  type QueryBatch,
  readDataQueries,
  readDelete,
  readFetch,
  readQueries,
  readRange,
  readRename,
  readResumableDataQuery,
  readResumableEnd,
  readResumableNext,
  readResumableQuery,
  readUpdate,
  readUpsert,
  readUpsertData,
} from "./body.ts";
import { infoView } from "./info-view.ts";
import type { JsonBody } from "./json-writer.ts";
import { printRange, printRecord, printRecords, printResult, printResumable, printScores } from "./record-json.ts";
import { type VectorCall, vectorRoute } from "./route.ts";

/** The answer of commands without a result. */
const success = printResult("Success");

/** The query parameter of a reset. */
export const resetAll: { readonly name: string; readonly values: readonly string[] } = {
  name: "all",
  values: ["true", "false", ""],
};

export const vectorRoutes = [
  vectorRoute({
    rule: "B",
    command: "upsert",
    summary: "stores a record or a list of records; a record replaces the one with its id",
    takesNamespace: true,
    access: "write",
    run: ({ index, namespace, body, limits }) => done(index.upsert(namespace, readUpsert(body, limits))),
  }),
  vectorRoute({
    rule: "B",
    command: "upsert-data",
    summary: "stores texts, which the models of the index convert to vectors",
    takesNamespace: true,
    access: "write",
    run: ({ index, namespace, body, limits }) => done(index.upsertData(namespace, readUpsertData(body, limits))),
  }),
  vectorRoute({
    rule: "B",
    command: "update",
    summary: "changes parts of a record; `metadataUpdateMode` `PATCH` merges metadata",
    takesNamespace: true,
    access: "write",
    run: ({ index, namespace, body, limits }) =>
      printed(index.update(namespace, readUpdate(body, limits)), (updated) => printResult({ updated })),
  }),
  vectorRoute({
    rule: "B",
    command: "fetch",
    summary: "returns the records of `ids`, null for missing ones, or those whose ids start with `prefix`",
    takesNamespace: true,
    access: "read",
    run: fetchRecords,
  }),
  vectorRoute({
    rule: "B",
    command: "delete",
    summary:
      "deletes the records of `ids`, a `prefix` or a `filter` and returns their number; ids may also be the whole body",
    takesNamespace: true,
    access: "write",
    run: ({ index, namespace, body, limits }) =>
      printed(index.delete(namespace, readDelete(body, limits)), (deleted) => printResult({ deleted })),
  }),
  vectorRoute({
    rule: "B1",
    command: "range",
    summary: "lists the records page by page in insertion order, even if records are deleted between two pages",
    takesNamespace: true,
    access: "read",
    run: ({ index, namespace, body, limits }) => printed(index.range(namespace, readRange(body, limits)), printRange),
  }),
  vectorRoute({
    rule: "B",
    command: "random",
    summary: "returns a random record, or null if the namespace is empty",
    takesNamespace: true,
    access: "read",
    run: ({ index, namespace }) => printed(index.random(namespace), printRecord),
  }),
  vectorRoute({
    rule: "B2",
    command: "query",
    summary: "returns the `topK` records nearest to a vector; for a list of queries, a list of such lists",
    takesNamespace: true,
    access: "read",
    run: ({ index, namespace, body, limits }) =>
      printed(index.query(namespace, queriesOf(readQueries(body, limits))), printScores),
  }),
  vectorRoute({
    rule: "B",
    command: "query-data",
    summary: "returns the `topK` records nearest to a text; `queryMode` selects the parts of a HYBRID index",
    takesNamespace: true,
    access: "read",
    run: ({ index, namespace, body, limits }) =>
      printed(index.queryData(namespace, queriesOf(readDataQueries(body, limits))), printScores),
  }),
  vectorRoute({
    rule: "B",
    command: "resumable-query",
    summary: "returns the first hits of a query and the `uuid` to continue it; it expires after `maxIdle` idle seconds",
    takesNamespace: true,
    access: "read",
    run: startQuery,
  }),
  vectorRoute({
    rule: "B",
    command: "resumable-query-data",
    summary: "returns the first hits of a query by text and the `uuid` to continue it",
    takesNamespace: true,
    access: "read",
    run: startDataQuery,
  }),
  vectorRoute({
    rule: "B",
    command: "resumable-query-next",
    summary: "returns the next `additionalK` hits of the query `uuid`",
    takesNamespace: false,
    access: "read",
    run: continueQuery,
  }),
  vectorRoute({
    rule: "B",
    command: "resumable-query-end",
    summary: "ends the query `uuid`",
    takesNamespace: false,
    access: "read",
    run: ({ index, body, limits }) => done(index.resumableQueryEnd(readResumableEnd(body, limits))),
  }),
  vectorRoute({
    rule: "B3",
    command: "info",
    summary: "returns the definition of the index and the size of its namespaces",
    takesNamespace: false,
    access: "read",
    run: ({ index }) => printResult(infoView(index.info())),
  }),
  vectorRoute({
    rule: "B",
    command: "reset",
    summary: "empties a namespace; with `?all` all namespaces",
    takesNamespace: true,
    access: "write",
    run: reset,
  }),
  vectorRoute({
    rule: "B",
    command: "list-namespaces",
    summary: "lists the names of the namespaces; the default namespace has the empty name",
    takesNamespace: false,
    access: "read",
    run: ({ index }) => printResult(index.namespaceNames()),
  }),
  vectorRoute({
    rule: "B",
    command: "delete-namespace",
    summary: "deletes a namespace and its records",
    takesNamespace: true,
    access: "write",
    run: ({ index, namespace }) => done(index.deleteNamespace(namespace)),
  }),
  vectorRoute({
    rule: "B",
    command: "rename-namespace",
    summary: "renames `namespace` to `newNamespace`; replaces an existing one only with `deleteExisting`",
    takesNamespace: false,
    access: "write",
    run: renameNamespace,
  }),
];

export type VectorCommand = (typeof vectorRoutes)[number]["command"];

function fetchRecords({ index, namespace, body, limits }: VectorCall): Eventually<JsonBody> {
  const { selection, include } = readFetch(body, limits);
  return printed(index.fetch(namespace, selection, include), printRecords);
}

function startQuery({ index, namespace, body, limits }: VectorCall): Eventually<JsonBody> {
  const { query, maxIdleSeconds } = readResumableQuery(body, limits);
  return printed(index.resumableQuery(namespace, query, maxIdleSeconds), printResumable);
}

function startDataQuery({ index, namespace, body, limits }: VectorCall): Eventually<JsonBody> {
  const { query, maxIdleSeconds } = readResumableDataQuery(body, limits);
  return printed(index.resumableQueryData(namespace, query, maxIdleSeconds), printResumable);
}

function continueQuery({ index, body, limits }: VectorCall): Eventually<JsonBody> {
  const { uuid, additionalK } = readResumableNext(body, limits);
  return printed(index.resumableQueryNext(uuid, additionalK), (scores) => printScores([scores]));
}

function reset({ index, namespace, query }: VectorCall): JsonBody {
  if (!asksForAll(query)) index.reset(namespace);
  else if (namespace === "") index.resetAll();
  else throw resetOfAllAndOne;
  return success;
}

/** `?all` has no value, or is empty, true or false. Other values are refused, because a reset cannot be undone. */
function asksForAll(query: string): boolean {
  const value = new URLSearchParams(query).get(resetAll.name) ?? "false";
  if (!resetAll.values.includes(value)) throw resetAllMalformed;
  return value !== "false";
}

function renameNamespace({ index, body, limits }: VectorCall): JsonBody {
  const { namespace, newNamespace, deletesExisting } = readRename(body, limits);
  const renamed = index.renameNamespace(namespace, { newName: newNamespace, deletesExisting });
  return printResult({ renamed });
}

function queriesOf<Query>({ queries }: QueryBatch<Query>): readonly Query[] {
  if (queries.length === 0) throw emptyQueryList;
  return queries;
}

/** Prints an answer as soon as it is there. */
function printed<Answer>(answer: Eventually<Answer>, print: (answer: Answer) => JsonBody): Eventually<JsonBody> {
  return answer instanceof Promise ? answer.then(print) : print(answer);
}

function done(answer: Eventually<void>): Eventually<JsonBody> {
  return answer instanceof Promise ? answer.then(() => success) : success;
}
