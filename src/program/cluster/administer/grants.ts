/**
 * The least rights of the user with which nodes connect: `larder cluster grants`
 * prints them, and each start and `larder check` compare them. Only the user who
 * ran `larder cluster init` owns the tables.
 *
 * (1) A node changes no table and no branch, removes no node and no shard, never
 *     changes a row of the log, and does not change the shard of a tenant.
 */
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";

interface TableGrant {
  readonly table: string;
  readonly privileges: readonly ("SELECT" | "INSERT" | "UPDATE" | "DELETE")[];
  /** Those that it may update, without UPDATE on the table. */
  readonly updates?: readonly string[];
}

/** keeps (1) */
const tableGrants: readonly TableGrant[] = [
  { table: "cluster", privileges: ["SELECT"], updates: ["tenants", "key_check"] },
  { table: "node", privileges: ["SELECT", "INSERT", "UPDATE"] },
  { table: "shard", privileges: ["SELECT", "UPDATE"] },
  { table: "log", privileges: ["SELECT", "INSERT", "DELETE"] },
  {
    table: "tenant",
    privileges: ["SELECT", "INSERT", "DELETE"],
    updates: ["definition", "sealed", "version", "is_removed", "left_on"],
  },
  { table: "snapshot_part", privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"] },
];

/** The statements that give them to a role, as lines of SQL. */
export function printGrants(role: string): readonly string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    "-- The rights of the nodes of a cluster. Run this as the user who ran larder cluster init.",
    `GRANT USAGE ON SCHEMA larder TO ${name};`,
    ...tableGrants.map(({ table, privileges, updates = [] }) => {
      const rights = [...privileges, ...(updates.length === 0 ? [] : [`UPDATE (${updates.join(", ")})`])];
      return `GRANT ${rights.join(", ")} ON larder.${table} TO ${name};`;
    }),
  ];
}

const MISSING: Statement = {
  name: "larder-missing-grants",
  text: `SELECT privilege, name FROM (VALUES ${tableGrants
    .flatMap(({ table, privileges }) => privileges.map((privilege) => `('larder.${table}', '${privilege}')`))
    .join(", ")}) AS wanted (name, privilege) WHERE NOT has_table_privilege(name, privilege)
    UNION ALL
    SELECT 'UPDATE (' || col || ')', name FROM (VALUES ${tableGrants
      .flatMap(({ table, updates = [] }) => updates.map((column) => `('larder.${table}', '${column}')`))
      .join(", ")}) AS columns (name, col) WHERE NOT has_column_privilege(name, col, 'UPDATE')`,
};

/** What the user of a session lacks: `INSERT on larder.log`. Throws the error of PostgreSQL if it may not use the schema. */
export async function readMissingGrants(session: SqlSession): Promise<readonly string[]> {
  const { rows } = await session.run<{ privilege: string; name: string }>(MISSING, []);
  return rows.map(({ privilege, name }) => `${privilege} on ${name}`);
}

/** The sentence about rights that the user of `place` lacks. */
export function missingGrantsText(missing: readonly string[], place: string): string {
  return `The user of ${place} lacks the rights ${missing.join(", ")}: run the statements of larder cluster grants as the owner of the tables`;
}
