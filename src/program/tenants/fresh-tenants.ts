/**
 * A database, an index and a user of messaging for one test: they are empty, and
 * nobody else has their tokens. They have one name.
 */
import { type TenantKind, tenantKinds } from "../../edge/admin/routes.ts";
import { RequestFailure } from "../../edge/errors.ts";
import { StartRefusal } from "../refusal.ts";
import type { TenantAdministration } from "./administration.ts";
import type { Tenants } from "./tokens.ts";

/**
 * Creates tenants named `name`, or none of them. `index` describes the index, and is not checked yet. Rejects with a
 * `StartRefusal` that names the field.
 */
export async function createFreshTenants(
  administration: TenantAdministration,
  name: string,
  index: Readonly<Record<string, unknown>>,
): Promise<Pick<Tenants, TenantKind>> {
  try {
    await administration.createTenant("databases", name);
    await administration.createTenant("indexes", name, index);
    await administration.createTenant("users", name);
  } catch (fault) {
    await deleteFreshTenants(administration, name);
    throw fault instanceof RequestFailure ? new StartRefusal(fault.text, 2) : fault;
  }
  return administration.tenantsNamed(name);
}

/** Deletes them with their data. */
export async function deleteFreshTenants(administration: TenantAdministration, name: string): Promise<void> {
  const existing = administration.tenantsNamed(name);
  for (const kind of tenantKinds) if (existing[kind].length > 0) await administration.deleteTenant(kind, name);
}
