/**
 * Every method of the official client of the vector index, by the family that
 * tests it. `methods.test.ts` compares this table with the client
 * itself, and each family's file with its row, so a new version of the client
 * cannot add an untested method.
 */
import { Index } from "@upstash/vector";

export const methodsOfFamilies = {
  Records: ["upsert", "update", "fetch", "delete"],
  Queries: ["query", "queryMany"],
  "Resumable queries": ["resumableQuery", "resumableQuery.fetchNext", "resumableQuery.stop"],
  Ranges: ["range"],
  "The index": ["info", "listNamespaces", "deleteNamespace", "reset", "namespace"],
  Namespaces: ["upsert", "update", "fetch", "query", "resumableQuery", "delete", "range", "reset"].map(
    (name) => `namespace.${name}`,
  ),
  Texts: ["upsert", "update", "query", "queryMany", "resumableQuery"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type FamilyName = keyof typeof methodsOfFamilies;

/** The names of all methods of the installed client; those of a namespace with its name as prefix. */
export function installedMethods(): readonly string[] {
  const index = new Index({ url: "http://unreachable.test", token: "none" });
  return [
    ...methodsOf(index),
    ...methodsOf(index.namespace("any")).map((name) => `namespace.${name}`),
    // The result of `resumableQuery`.
    ...["fetchNext", "stop"].map((name) => `resumableQuery.${name}`),
  ];
}

function methodsOf(part: object): readonly string[] {
  return Object.keys(part).filter((name) => typeof Reflect.get(part, name) === "function");
}
