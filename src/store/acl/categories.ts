/**
 * The ACL categories of a command, derived as in Redis: one from the family (or
 * those in the row instead), the rest from the flags.
 */
import { type AclCategory, aclCategories, type CommandFacts, type Flag } from "../command-facts.ts";

/** Families without a category of the same name. */
const categoryOfFamily: ReadonlyMap<string, AclCategory | undefined> = new Map([
  ["generic", "keyspace"],
  ["server", undefined],
  ["sorted-set", "sortedset"],
] as const);

const categoriesOfFlag: ReadonlyMap<Flag, readonly AclCategory[]> = new Map([
  ["readonly", ["read"]],
  ["write", ["write"]],
  ["admin", ["admin", "dangerous"]],
  ["pubsub", ["pubsub"]],
  ["fast", ["fast"]],
  ["blocking", ["blocking"]],
] as const);

/** The categories of a command, without `@`, in the order of `aclCategories`. */
export function categoriesOf(command: CommandFacts): readonly AclCategory[] {
  const found = new Set<string>(command.categories ?? [familyCategory(command.family)]);
  for (const flag of command.flags) for (const category of categoriesOfFlag.get(flag) ?? []) found.add(category);
  // The reads of a script are unknown: as in Redis, EVAL_RO is not in the category of reads.
  if (found.has("scripting")) found.delete("read");
  if (!found.has("fast")) found.add("slow");
  return aclCategories.filter((category) => found.has(category));
}

function familyCategory(family: string): string {
  // The order also removes a family that is not a category.
  return (categoryOfFamily.has(family) ? categoryOfFamily.get(family) : family) ?? "";
}
