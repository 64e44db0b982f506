/** The clients of the store, by `GET /v1/clients` of the admin port, and their order. */
import type { ClientFacts } from "../../../api/admin.ts";
import { request } from "../../../api/client.ts";

export interface Client extends ClientFacts {
  readonly database: string;
}

interface ClientsPage {
  readonly clients: readonly Client[];
  readonly cursor?: string;
  readonly node?: string;
}

export interface Clients {
  readonly rows: readonly Client[];
  /** There are more than `CLIENTS_MAX`. */
  readonly hasMore: boolean;
  /** In a cluster: the node whose clients these are. */
  readonly node: string | undefined;
}

const PAGE_ROWS = 1_000;
/** An order needs all clients, so the page asks for all of them up to this number. */
export const CLIENTS_MAX = 2_000;

export async function readClients(
  filters: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Clients> {
  const rows: Client[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { ...filters, count: PAGE_ROWS, cursor };
    const page = await request<ClientsPage>("admin/v1/clients", { query, signal });
    rows.push(...page.clients);
    ({ cursor } = page);
    const isFull = rows.length >= CLIENTS_MAX;
    if (cursor === undefined || isFull) return { rows, hasMore: cursor !== undefined, node: page.node };
  }
}

export async function killClient({ id }: Client): Promise<void> {
  await request(`admin/v1/clients/${id}`, { method: "DELETE" });
}

export type Order = "age" | "idle" | "memory";

const figures: Readonly<Record<Order, (client: Client) => number>> = {
  age: ({ ageSeconds }) => ageSeconds,
  idle: ({ idleSeconds }) => idleSeconds,
  memory: ({ memoryBytes }) => memoryBytes,
};

/** The largest first; equal ones by id. */
export function sortedBy(order: Order, rows: readonly Client[]): readonly Client[] {
  const figure = figures[order];
  return rows.toSorted((one, other) => figure(other) - figure(one) || one.id - other.id);
}
