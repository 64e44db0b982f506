/** The calls of the admin port about clients. */
import { CLIENTS_PAGE_DEFAULT } from "../../edge/admin/clients.ts";
import type { Administration } from "../../edge/admin/routes.ts";
import { tenantMissing } from "../../edge/errors.ts";
import type { AreaClients } from "./area.ts";

export interface ClientCallsOptions {
  /** Of the store. Throws a `RequestFailure` while it does not serve. */
  clients(): AreaClients;
  /** Those that there are, with or without clients. */
  databases(): Promise<readonly { readonly name: string }[]>;
  /** Undefined: a single server. */
  readonly node: string | undefined;
}

export function clientCalls({
  clients,
  databases,
  node,
}: ClientCallsOptions): Pick<Administration, "clients" | "killClient"> {
  return {
    async clients(query) {
      const { database } = query;
      if (database !== undefined && !(await databases()).some(({ name }) => name === database))
        throw tenantMissing("database", database);
      return {
        ...(await clients().list({ count: CLIENTS_PAGE_DEFAULT, ...query })),
        ...(node !== undefined && { node }),
      };
    },
    killClient: (id) => clients().kill(id),
  };
}
