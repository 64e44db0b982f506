/**
 * The clients of the store as the admin port shows them: a client, a page of them,
 * and the parameters of a query. They are the connections over RESP that have
 * logged in to a database; requests and event streams over HTTP are not among them.
 */
import type { ClientFacts } from "../../store/mod.ts";
import { countParameter, type QueryParameter, type QueryValues, textParameter } from "./query.ts";

export interface ConnectedClient extends ClientFacts {
  readonly database: string;
  /** As text. */
  readonly user: string;
}

export interface ClientsPage {
  /** By id: the connections of longest standing first. */
  readonly clients: readonly ConnectedClient[];
  /** Where the next page begins; absent at the end of the list. */
  readonly cursor?: string;
  /** The node of a cluster whose clients these are; absent on a single server. */
  readonly node?: string;
}

export const CLIENTS_PAGE_MAX = 1_000;
export const CLIENTS_PAGE_DEFAULT = 100;

const ID = /^[1-9]\d{0,14}$/;

/** The id of a client in a path or a query; undefined if it is not valid. */
export function readClientId(given: string): number | undefined {
  return ID.test(given) ? Number(given) : undefined;
}

/** Completes "is not …" in a refusal. */
export const CLIENT_ID_EXPECTED = "the id of a client, a whole number from 1";

/** The id of the last client of a page, so that clients who come and go meanwhile do not move the next one. */
const cursor: QueryParameter<number> = {
  meaning: "The cursor of the page before",
  schema: { type: "string" },
  expected: "the cursor of a page",
  read: readClientId,
};

export const clientParameters = {
  database: textParameter("Only clients of the database of this name"),
  user: textParameter("Only clients that are logged in as this user"),
  name: textParameter("Only clients whose name, that of CLIENT SETNAME, begins with this"),
  count: countParameter(`How many clients a page may have; ${CLIENTS_PAGE_DEFAULT} if absent`, {
    max: CLIENTS_PAGE_MAX,
  }),
  cursor,
};

export type ClientsQuery = QueryValues<typeof clientParameters>;
