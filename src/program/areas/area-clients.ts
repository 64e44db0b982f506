/**
 * The clients of an area, and those of several shards or threads as one list.
 *
 * (1) A list answers at most as many clients as a page has, by id. So the first
 *     ones of several pages are those of the whole list.
 * (2) The ids of the clients of a node are unique: one listener has all of them.
 */
import type { ClientsPage, ConnectedClient } from "../../edge/admin/clients.ts";
import type { AreaClients, WantedClients } from "./area.ts";

/** Of an area without connections. */
export const noClients: AreaClients = { list: async () => ({ clients: [] }), kill: async () => false };

/** A page of clients that are sorted by id; `hasMore`: there are some that are not among them. */
export function pageOf(sorted: readonly ConnectedClient[], { count }: WantedClients, hasMore = false): ClientsPage {
  const clients = sorted.slice(0, count);
  const last = clients.at(-1);
  const isLast = last === undefined || (sorted.length <= count && !hasMore);
  return isLast ? { clients } : { clients, cursor: String(last.id) };
}

/** Those of several shards or threads. */
export function clientsOfAll(parts: () => readonly AreaClients[]): AreaClients {
  return {
    async list(query) {
      const pages = await Promise.all(parts().map((part) => part.list(query)));
      const sorted = pages.flatMap(({ clients }) => clients).sort((one, other) => one.id - other.id);
      return pageOf(
        sorted,
        query,
        pages.some(({ cursor }) => cursor !== undefined),
      ); // keeps (1)
    },
    async kill(id) {
      const ended = await Promise.all(parts().map((part) => part.kill(id)));
      return ended.includes(true);
    },
  };
}
