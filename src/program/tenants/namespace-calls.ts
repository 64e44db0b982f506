/** The call of the admin port about the namespaces of an index. */
import { NAMESPACES_PAGE_DEFAULT } from "../../edge/admin/namespaces.ts";
import type { Administration } from "../../edge/admin/routes.ts";
import { tenantElsewhere, tenantMissing } from "../../edge/errors.ts";
import type { AreaData } from "../areas/area.ts";
import { tenantNouns } from "./administration.ts";

export interface NamespaceCallsOptions {
  /** Of the vector area; undefined on a node that serves no shard of it. Throws a `RequestFailure` while it does not serve. */
  data(): Pick<AreaData, "namespaces"> | undefined;
  /** The indexes that have tokens. */
  indexes(): readonly { readonly name: string }[];
}

export function namespaceCalls({ data, indexes }: NamespaceCallsOptions): Pick<Administration, "namespaces"> {
  return {
    async namespaces(index, query) {
      const page = await data()?.namespaces?.({ count: NAMESPACES_PAGE_DEFAULT, ...query, index });
      if (page !== undefined) return page;
      const isKnown = indexes().some(({ name }) => name === index);
      throw isKnown ? tenantElsewhere(tenantNouns.indexes, index) : tenantMissing(tenantNouns.indexes, index);
    },
  };
}
