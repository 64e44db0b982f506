/** The namespaces of an index as the admin port shows them: a namespace, a page of them, and the parameters of a query. */
import { countParameter, type QueryParameter, type QueryValues, textParameter } from "./query.ts";

export interface NamespaceFacts {
  /** Empty: the default namespace. */
  readonly name: string;
  readonly vectorCount: number;
  readonly pendingVectorCount: number;
  /** Its share of the memory of its index, as it counts for the memory limit. */
  readonly memoryBytes: number;
}

export interface NamespacesPage {
  /** In the order of their creation, the default namespace first. */
  readonly namespaces: readonly NamespaceFacts[];
  /** Where the next page begins; absent at the end of the list. */
  readonly cursor?: string;
}

export const NAMESPACES_PAGE_MAX = 1_000;
export const NAMESPACES_PAGE_DEFAULT = 100;

const NUMBER = /^(?:0|[1-9]\d{0,14})$/;

/** The number of the last namespace of a page, so that namespaces that are created or deleted meanwhile do not move the next one. */
const cursor: QueryParameter<number> = {
  meaning: "The cursor of the page before",
  schema: { type: "string" },
  expected: "the cursor of a page",
  read: (given) => (NUMBER.test(given) ? Number(given) : undefined),
};

export const namespaceParameters = {
  prefix: textParameter("Only namespaces whose name begins with this"),
  count: countParameter(`How many namespaces a page may have; ${NAMESPACES_PAGE_DEFAULT} if absent`, {
    max: NAMESPACES_PAGE_MAX,
  }),
  cursor,
};

export type NamespacesQuery = QueryValues<typeof namespaceParameters>;
