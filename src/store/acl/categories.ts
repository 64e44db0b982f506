/**
 * The ACL categories of a command, derived as Redis derives them: one from the
 * family (or what the row says in its place), the rest from the flags.
 */
import { type AclCategory, aclCategories, type CommandFacts, type Flag } from "../command-facts.ts";

/** Families that have no category of the same name. */
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
  // What a script reads, nobody knows: as in Redis, EVAL_RO does not come with all that reads.
  if (found.has("scripting")) found.delete("read");
  if (!found.has("fast")) found.add("slow");
  return aclCategories.filter((category) => found.has(category));
}

function familyCategory(family: string): string {
  // A family that is no category at all is filtered out with the order.
  return (categoryOfFamily.has(family) ? categoryOfFamily.get(family) : family) ?? "";
}
