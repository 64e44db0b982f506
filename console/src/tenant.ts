/** The database, the index and the user that the pages show. */
import { signal } from "@preact/signals";
import { session } from "./api/session.ts";
import type { TenantKind } from "./pages/pages.ts";

const chosen = { databases: signal(""), indexes: signal(""), users: signal("") } as const;

/** The chosen tenant, or the first one; undefined if the server has no tenant of the kind. */
export function chosenTenant(kind: TenantKind): string | undefined {
  const names = session.value?.tenants?.[kind] ?? [];
  return names.includes(chosen[kind].value) ? chosen[kind].value : names[0];
}

export function chooseTenant(kind: TenantKind, name: string): void {
  chosen[kind].value = name;
}
